package conf

import (
	"strconv"
	"strings"
)

// Change is one difference between two options.
type Change struct {
	// Key is the dotted path: `port`, `authorization.users.bob.password`,
	// `mappings."orders.*"`. Elements of lists without a name go by their
	// index. What was added or removed with a whole block or element is not
	// listed by itself.
	Key string
	// Old and New are the values as text, empty when unset. A block that is
	// there shows as `{...}`, an element of a list as `present`, and a secret
	// as `[REDACTED]`.
	Old string
	New string
	// Reloadable says that a reload may apply the change.
	Reloadable bool
}

// String returns the change as one line of a log.
func (c Change) String() string {
	return c.Key + ": old=" + strconv.Quote(c.Old) + ", new=" + strconv.Quote(c.New)
}

// Diff returns what changed from old to new in the order of the keys' tables,
// what was removed last. The files that options name are not looked into.
func Diff(old, new *Options) []Change {
	before, after := valuesOf(old), valuesOf(new)
	was := make(map[string]setting, len(before))
	for _, s := range before {
		was[s.path] = s
	}
	var changes []Change
	whole := map[string]bool{} // blocks and elements that came or went
	add := func(s, old, new setting) {
		if old.text == new.text || within(s.path, whole) {
			return
		}
		whole[s.path] = s.whole
		reloadable := s.reload.applies(old.text, new.text)
		changes = append(changes, Change{Key: s.path, Old: old.shown, New: new.shown, Reloadable: reloadable})
	}
	is := make(map[string]bool, len(after))
	for _, s := range after {
		is[s.path] = true
		add(s, was[s.path], s)
	}
	for _, s := range before {
		if !is[s.path] {
			add(s, s, setting{})
		}
	}
	return changes
}

// within reports whether a path is below one of blocks.
func within(path string, blocks map[string]bool) bool {
	for i := strings.LastIndexByte(path, '.'); i > 0; i = strings.LastIndexByte(path[:i], '.') {
		if blocks[path[:i]] {
			return true
		}
	}
	return false
}

// setting is a key with its value, as far as comparing goes.
type setting struct {
	path   string
	text   string // the value, "" when unset
	shown  string // the value without secrets
	reload Reload
	// whole says that a change of this value speaks for all below it.
	whole bool
}

// valuesOf lists all keys that o has a value for.
func valuesOf(o *Options) []setting {
	var all []setting
	walkKeys(serverKeys, o, "", ReloadNo, func(l leaf) {
		if s, ok := l.setting(); ok {
			all = append(all, s)
		}
	})
	return all
}

// setting returns the value of a visited key; ok is false for keys that are
// only another way to write others.
func (l leaf) setting() (s setting, ok bool) {
	place := l.slot
	if d, isDescribed := place.(described); isDescribed {
		place = d.slot
	}
	if _, isShadow := place.(shadowSlot); isShadow {
		return setting{}, false
	}
	s = setting{path: l.path, text: place.show(), reload: l.reload}
	s.shown = s.text
	if r, isSecret := place.(redacter); isSecret {
		s.shown = r.redacted()
	}
	switch place.(type) {
	case branch, presence:
		s.whole = true
	}
	return s, true
}

// applies reports whether a reload applies the step from old to new.
func (r Reload) applies(old, new string) bool {
	switch r {
	case ReloadYes:
		return true
	case ReloadRemove:
		return new == ""
	case ReloadRaise:
		return grows(old, new)
	}
	return false
}

// grows reports whether a limit is raised; a negative one is none.
func grows(old, new string) bool {
	a, errA := strconv.ParseInt(old, 10, 64)
	b, errB := strconv.ParseInt(new, 10, 64)
	return errA == nil && errB == nil && a >= 0 && (b < 0 || b > a)
}
