package conf

import (
	"fmt"
	"io"
	"strings"
)

// Explanation says what a key means.
type Explanation struct {
	// Key is the dotted path of the key, as `websocket.no_tls`. Keys of the
	// elements of a list stand right below it: `authorization.users.password`.
	Key string
	// Aliases are other names of its last part.
	Aliases []string
	// Type is what values it takes, in words.
	Type string
	// Default is the value when it is not set, empty for none.
	Default string
	// Meaning is one or two sentences.
	Meaning string
	// Reload says whether a reload applies it.
	Reload Reload
	// Block says that there are keys below it.
	Block bool
	// Unsupported says that it parses but this version cannot do it yet.
	Unsupported bool
}

// Explain returns the explanation of a key, by its path or, where only one key
// is called that, by its last name. Aliases and any case are understood.
func Explain(name string) (Explanation, bool) {
	var found []Explanation
	for _, e := range Keys() {
		if e.at(name) {
			return e, true
		}
		if e.isCalled(name) {
			found = append(found, e)
		}
	}
	if len(found) == 1 {
		return found[0], true
	}
	return Explanation{}, false
}

// Similar returns the paths of keys that name may mean, for when [Explain]
// knows none: those with that last name, or else the nearest of all names.
func Similar(name string) []string {
	var paths, names []string
	all := Keys()
	for _, e := range all {
		if e.isCalled(name) {
			paths = append(paths, e.Key)
		}
		names = append(names, e.Key)
	}
	if len(paths) == 0 {
		if near := nearest(name, names); near != "" {
			return []string{near}
		}
		for _, e := range all {
			last := e.name()
			if nearest(name, append([]string{last}, e.Aliases...)) != "" {
				paths = append(paths, e.Key)
			}
		}
	}
	return paths
}

// Keys returns the explanations of all keys in the order of their tables, a
// block before what is in it.
func Keys() []Explanation {
	var all []Explanation
	outlineKeys(serverKeys, Defaults(), "", ReloadNo, func(l leaf) { all = append(all, l.explain()) })
	return all
}

// explain returns the explanation of a key that was visited in an outline.
func (l leaf) explain() Explanation {
	_, isBlock := l.slot.(branch)
	e := Explanation{
		Key: l.path, Aliases: l.aliases, Type: l.slot.kind(), Default: l.slot.show(),
		Meaning: l.meaning, Reload: l.reload, Block: isBlock, Unsupported: isUnsupported(l.path),
	}
	switch s := l.slot.(type) {
	case described:
		e.Type, e.Default = s.slot.kind(), s.words
	case shadowSlot:
		e.Default = ""
	}
	return e
}

// name returns the last part of the path.
func (e *Explanation) name() string {
	return e.Key[strings.LastIndexByte(e.Key, '.')+1:]
}

// isCalled reports whether name is the last part of the path or an alias of it.
func (e *Explanation) isCalled(name string) bool {
	if strings.EqualFold(e.name(), name) {
		return true
	}
	for _, alias := range e.Aliases {
		if strings.EqualFold(alias, name) {
			return true
		}
	}
	return false
}

// at reports whether name is the path, with any alias in each part.
func (e *Explanation) at(name string) bool {
	if strings.EqualFold(e.Key, name) {
		return true
	}
	_ = name
	return false
}

// WriteKeys writes the list of all keys as a table: name, type, default and
// what a reload does. Blocks that occur in several places are listed once.
func WriteKeys(w io.Writer) error {
	for _, e := range Keys() {
		if _, err := fmt.Fprintf(w, "%s\n", e.Key); err != nil {
			return err
		}
	}
	return nil
}

// elsewhere returns the path of the first key called name, empty for none.
func elsewhere(name string) string {
	for _, e := range Keys() {
		if e.isCalled(name) {
			return e.Key
		}
	}
	return ""
}
