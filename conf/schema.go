package conf

import (
	"strconv"
	"strings"

	"runnel/conf/syntax"
)

// A schema is the table of the keys of one block: what each is called, what it
// means, whether a reload applies it and where its value goes. Decoding,
// explaining, suggesting and comparing all walk these tables, so a key that is
// in its table is known everywhere.

// key is one row of a schema; T is what the block is decoded into.
type key[T any] struct {
	// names is the name, then its aliases, separated by blanks.
	names string
	// reload is reloadInherit where the block around decides.
	reload Reload
	// meaning is what `config explain` says.
	meaning string
	// slot returns the place in t that the value goes to.
	slot func(t *T) slot
}

// row returns a row of a schema.
func row[T any](names string, r Reload, meaning string, place func(t *T) slot) key[T] {
	return key[T]{names, r, meaning, place}
}

// slot is a place for a value in the options.
type slot interface {
	// kind is the type in words.
	kind() string
	// read decodes v into the place, and reports what is wrong with it. The
	// path is that of the key, for errors and positions.
	read(d *decoder, path string, v *syntax.Value)
	// show returns the value as text, for comparing and explaining. It is
	// empty for what is unset.
	show() string
}

// branch is a slot with keys of its own below it.
type branch interface {
	slot
	// walk visits what is below the present value, outline the keys that
	// there can be.
	walk(path string, r Reload, visit func(leaf))
	outline(path string, r Reload, visit func(leaf))
}

// leaf is what a walk visits: a key with its place, or an element of a list,
// which has no key of its own.
type leaf struct {
	path    string
	aliases []string
	meaning string
	reload  Reload
	slot    slot
}

// Reload says whether a config reload applies a changed key.
type Reload int

// What a reload does with a changed key. A key that it may not change stays as
// it was until the server is started again.
const (
	reloadInherit Reload = iota
	ReloadNo             // never applied
	ReloadYes            // applied at once
	ReloadRaise          // applied when the value grows
	ReloadRemove         // applied when the key is removed
)

// String returns the answer to "does a reload apply it?".
func (r Reload) String() string {
	return [...]string{"as its block", "no", "yes", "only a larger value", "only its removal"}[r]
}

// or returns r, or else what the block around says.
func (r Reload) or(around Reload) Reload {
	if r == reloadInherit {
		return around
	}
	return r
}

// walkKeys visits the keys of a schema with the places in t, and what is below.
func walkKeys[T any](keys []key[T], t *T, path string, around Reload, visit func(leaf)) {
	for i := range keys {
		l := keys[i].leaf(t, path, around)
		visit(l)
		if b, ok := l.slot.(branch); ok {
			b.walk(l.path, l.reload, visit)
		}
	}
}

// outlineKeys visits the keys of a schema, and those that can be below them. t
// holds the defaults.
func outlineKeys[T any](keys []key[T], t *T, path string, around Reload, visit func(leaf)) {
	for i := range keys {
		l := keys[i].leaf(t, path, around)
		visit(l)
		if b, ok := l.slot.(branch); ok {
			b.outline(l.path, l.reload, visit)
		}
	}
}

// leaf returns the key as a walk shows it.
func (k *key[T]) leaf(t *T, path string, around Reload) leaf {
	names := strings.Fields(k.names)
	return leaf{
		path:    join(path, names[0]),
		aliases: names[1:],
		meaning: k.meaning,
		reload:  k.reload.or(around),
		slot:    k.slot(t),
	}
}

// find returns the row that name refers to in any case, nil when there is none.
func find[T any](keys []key[T], name string) *key[T] {
	for i := range keys {
		for n := range strings.FieldsSeq(keys[i].names) {
			if strings.EqualFold(n, name) {
				return &keys[i]
			}
		}
	}
	return nil
}

// name returns the first of the key's names.
func (k *key[T]) name() string {
	name, _, _ := strings.Cut(k.names, " ")
	return name
}

// join appends a name to a dotted path.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// element appends the free name of an element to a path, in quotes unless it
// looks like a key. So no two elements share a path.
func element(path, name string) string {
	plain := func(r rune) bool {
		return r == '_' || r == '-' || r == '$' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}
	if name == "" || strings.TrimFunc(name, plain) != "" {
		name = strconv.Quote(name)
	}
	return join(path, name)
}
