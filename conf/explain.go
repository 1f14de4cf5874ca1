package conf

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"runnel/conf/spelling"
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

	// parts are the names that each part of the path may have.
	parts [][]string
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
		if near := spelling.Nearest(name, names); near != "" {
			return []string{near}
		}
		for _, e := range all {
			last := e.name()
			if spelling.Nearest(name, append([]string{last}, e.Aliases...)) != "" {
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
	parts := map[string][][]string{}
	outlineKeys(serverKeys, Defaults(), "", ReloadNo, func(l leaf) {
		e := l.explain()
		above := parts[strings.TrimSuffix(strings.TrimSuffix(e.Key, e.name()), ".")]
		e.parts = append(slices.Clip(above), append([]string{e.name()}, e.Aliases...))
		parts[e.Key] = e.parts
		all = append(all, e)
	})
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
		e.Default = s.words
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
	return slices.ContainsFunc(e.parts[len(e.parts)-1], func(n string) bool { return strings.EqualFold(n, name) })
}

// at reports whether name is the path, with any alias in each part.
func (e *Explanation) at(name string) bool {
	rest := strings.Split(name, ".")
	if len(rest) != len(e.parts) {
		return false
	}
	for i, names := range e.parts {
		if !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, rest[i]) }) {
			return false
		}
	}
	return true
}

// WriteKeys writes the list of all keys as a table: name, type, default and
// what a reload does. A block that was listed before is only referred to, as
// there are many of tls.
func WriteKeys(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "KEY\tTYPE\tDEFAULT\tRELOAD")
	all := Keys()
	listed := map[string]string{} // the first path of a block by what is in it
	for i := 0; i < len(all); i++ {
		e, below := &all[i], contents(all[i:])
		typ := e.Type
		if e.Block {
			first, again := listed[below.text]
			if again {
				typ = "as " + first
				i += below.count
			} else {
				listed[below.text] = e.Key
			}
		}
		// The error of a full disk comes again from Flush.
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", e.Key, typ, e.Default, e.Reload)
	}
	return table.Flush()
}

// content is what is below a block: how many keys, and a text that is equal
// for equal blocks.
type content struct {
	count int
	text  string
}

// contents returns what is below the first of all.
func contents(all []Explanation) content {
	var c content
	var b strings.Builder
	prefix := all[0].Key + "."
	for _, e := range all[1:] {
		if !strings.HasPrefix(e.Key, prefix) {
			break
		}
		c.count++
		fmt.Fprintln(&b, strings.TrimPrefix(e.Key, prefix), e.Meaning)
	}
	c.text = b.String()
	return c
}
