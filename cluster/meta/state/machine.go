package state

import (
	"fmt"
	"sync/atomic"

	"runnel/subjects"
)

// Machine applies commands. One goroutine applies and restores; any may call View.
type Machine struct {
	view   atomic.Pointer[View]
	next   *View                                 // what the command at work makes of the view
	claims map[string]*subjects.Patterns[string] // by account: which streams have which subjects
}

// NewMachine returns a machine that has applied nothing.
func NewMachine() *Machine {
	m := &Machine{claims: make(map[string]*subjects.Patterns[string])}
	m.view.Store(&View{nextID: FirstID})
	return m
}

// View returns the state after the last command.
func (m *Machine) View() *View { return m.view.Load() }

// Apply carries out the command at a place in the log. An error matches [ErrUnknown]: the machine is as it was, and must not apply
// anything any more. What was applied already is not applied again.
func (m *Machine) Apply(index uint64, encoded []byte) (Result, error) {
	v := m.View()
	if index <= v.index {
		return Result{Index: index}, nil
	}
	c, err := Decode(encoded)
	if err != nil {
		return Result{}, fmt.Errorf("entry %d of the meta group: %w", index, err)
	}
	next := *v
	next.index = index
	m.next = &next
	r := c.apply(m)
	r.Index = index
	m.view.Store(m.next)
	m.next = nil
	return r, nil
}

// put replaces an assignment by another; either may be nil.
func (m *Machine) put(old, next *Assignment) {
	if old != nil {
		for _, pattern := range old.Config.Subjects {
			m.claim(old.Account).Remove(pattern, old.Config.Name)
		}
	}
	if next != nil {
		for _, pattern := range next.Config.Subjects {
			m.claim(next.Account).Add(pattern, next.Config.Name)
		}
	} else if m.claim(old.Account).Len() == 0 {
		delete(m.claims, old.Account)
	}
	m.next = m.next.put(old, next)
}

// claim returns the claims of an account.
func (m *Machine) claim(account string) *subjects.Patterns[string] {
	p := m.claims[account]
	if p == nil {
		p = &subjects.Patterns[string]{}
		m.claims[account] = p
	}
	return p
}

// overlaps tells whether another stream of the account has a subject in common with those.
func (m *Machine) overlaps(account, name string, patterns []string) bool {
	p := m.claims[account]
	if p == nil {
		return false
	}
	for _, pattern := range patterns {
		for owner := range p.Overlapping(pattern) {
			if owner != name {
				return true
			}
		}
	}
	return false
}
