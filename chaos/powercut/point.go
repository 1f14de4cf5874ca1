package powercut

import (
	"path/filepath"
	"strings"
	"sync"
)

// Action is something that is done to a disk.
type Action string

// The actions at which a power cut makes a difference. Opening and reading are none.
const (
	Create  Action = "create"
	Write   Action = "write"
	Sync    Action = "sync" // of a file, with or without its times
	Rename  Action = "rename"
	Remove  Action = "remove"
	SyncDir Action = "sync-dir"
	Decide  Action = "decide" // an entry of the meta group's log
)

// Point is a place in the work of a server: a time that a certain action is done.
type Point struct {
	Do Action
	// Where is part of the path of the file, or of its new name; "" is any. The path has slashes, and one at its end.
	Where string
	// After has the power go when the action is done, before the server learns of it; else when it is about to be done.
	After bool
	// Skip is how many times it is let pass before.
	Skip int
}

// String names the point.
func (p Point) String() string {
	when := "before "
	if p.After {
		when = "after "
	}
	return when + string(p.Do) + " " + strings.Trim(p.Where, "/")
}

// alarm waits for a point.
type alarm struct {
	point Point
	fire  func()

	mu   sync.Mutex // guards left
	left int        // times to pass; below 0: it has fired
}

// Arm has fire called, on a goroutine of its own, when the server comes to a point. Whoever came there stands still from then on until
// the power is off, so fire must see to that. There is one point at a time.
func (s *Supply) Arm(p Point, fire func()) {
	s.alarm.Store(&alarm{point: p, fire: fire, left: p.Skip})
}

// reached tells whether this is the point that is waited for.
func (a *alarm) reached(do Action, path string, after bool) bool {
	if a == nil || do != a.point.Do || after != a.point.After || !strings.Contains(filepath.ToSlash(path)+"/", a.point.Where) {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left--
	return a.left == -1
}

// at does an action of a point.
func (s *Supply) at(do Action, path string, f func() error) error {
	a := s.alarm.Load()
	if a.reached(do, path, false) {
		return s.stand(a)
	}
	err := s.do(f)
	if err == nil && a.reached(do, path, true) {
		return s.stand(a)
	}
	return err
}

// stand has the alarm go off, and waits until the power is.
func (s *Supply) stand(a *alarm) error {
	go a.fire()
	<-s.dark
	return ErrNoPower
}
