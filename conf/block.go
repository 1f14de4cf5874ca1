package conf

import (
	"strconv"

	"runnel/conf/syntax"
)

// The slots of values with keys below them: one block, a list of blocks, or
// blocks by name. See [branch].

// shortForm reads a form of a block that is not a map. It returns the block,
// nil for none, made from the defaults t, and whether v is of that form.
type shortForm[T any] func(d *decoder, path string, v *syntax.Value, t *T) (*T, bool)

// blockSlot takes one block.
type blockSlot[T any] struct {
	// current is the present value, nil when the block is absent; set
	// replaces it.
	current *T
	set     func(*T)
	keys    []key[T]
	// fresh makes the block with its defaults.
	fresh func() *T
	// present tells whether the block is there, nil where it always is. That
	// is itself a value.
	present func(*T) bool
	// short reads another form than a block, described by shortKind. It may
	// be nil.
	short     shortForm[T]
	shortKind string
}

// block is a block that may be absent.
func block[T any](place **T, keys []key[T], fresh func() *T) blockSlot[T] {
	return blockSlot[T]{current: *place, set: func(t *T) { *place = t }, keys: keys, fresh: fresh, present: isThere[T]}
}

func isThere[T any](t *T) bool { return t != nil }

// part is a block that is always there, with its defaults when not written.
func part[T any](place *T, keys []key[T], fresh func() *T) blockSlot[T] {
	return blockSlot[T]{current: place, set: func(t *T) { *place = *t }, keys: keys, fresh: fresh}
}

// or adds a form other than a block.
func (s blockSlot[T]) or(kind string, read shortForm[T]) blockSlot[T] {
	s.short, s.shortKind = read, kind
	return s
}

func (s blockSlot[T]) kind() string {
	if s.shortKind != "" {
		return s.shortKind + " or block"
	}
	return "block"
}

func (s blockSlot[T]) show() string {
	if s.present != nil && s.present(s.current) {
		return "{...}"
	}
	return ""
}

func (s blockSlot[T]) read(d *decoder, path string, v *syntax.Value) {
	t := s.fresh()
	if v.Kind == syntax.Map {
		readKeys(d, path, v, s.keys, t)
		s.set(t)
		return
	}
	expected := "a block { ... }"
	if s.short != nil {
		if made, ok := s.short(d, path, v, t); ok {
			s.set(made)
			return
		}
		expected = s.shortKind + " or " + expected
	}
	d.wrong(path, v, expected)
}

func (s blockSlot[T]) walk(path string, r Reload, visit func(leaf)) {
	if s.current != nil {
		walkKeys(s.keys, s.current, path, r, visit)
	}
}

func (s blockSlot[T]) outline(path string, r Reload, visit func(leaf)) {
	outlineKeys(s.keys, s.fresh(), path, r, visit)
}

// blocksSlot takes a list of blocks.
type blocksSlot[T any] struct {
	place *[]T
	keys  []key[T]
	fresh func() *T
	// id names an element in paths. Elements without one go by their index.
	id func(*T) string
}

func blocks[T any](place *[]T, keys []key[T], fresh func() *T, id func(*T) string) blocksSlot[T] {
	return blocksSlot[T]{place, keys, fresh, id}
}

func (s blocksSlot[T]) kind() string { return "list of blocks" }
func (s blocksSlot[T]) show() string { return "" }

func (s blocksSlot[T]) read(d *decoder, path string, v *syntax.Value) {
	if v.Kind != syntax.Array {
		d.wrong(path, v, "a list [ {...}, ... ]")
		return
	}
	elements := make([]T, 0, len(v.Items))
	for _, item := range v.Items {
		if d.Full() {
			return
		}
		at := indexed(path, len(elements))
		if item.Kind != syntax.Map {
			d.wrong(at, item, "a block { ... }")
			continue
		}
		d.positions[at] = item.Pos
		t := s.fresh()
		readKeys(d, at, item, s.keys, t)
		elements = append(elements, *t)
	}
	*s.place = elements
}

// indexed is the path of the i-th element of a list.
func indexed(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

func (s blocksSlot[T]) walk(path string, r Reload, visit func(leaf)) {
	for i := range *s.place {
		t := &(*s.place)[i]
		at := indexed(path, i)
		if s.id != nil && s.id(t) != "" {
			at = element(path, s.id(t))
		}
		visit(leaf{path: at, reload: r, slot: presence{}})
		walkKeys(s.keys, t, at, r, visit)
	}
}

func (s blocksSlot[T]) outline(path string, r Reload, visit func(leaf)) {
	outlineKeys(s.keys, s.fresh(), path, r, visit)
}

// namedSlot takes a map from free names to blocks, or a list of names.
type namedSlot[T any] struct {
	place *[]T
	keys  []key[T]
	fresh func(name string) *T
	id    func(*T) string
}

func named[T any](place *[]T, keys []key[T], fresh func(string) *T, id func(*T) string) namedSlot[T] {
	return namedSlot[T]{place, keys, fresh, id}
}

func (s namedSlot[T]) kind() string { return "block of named blocks" }
func (s namedSlot[T]) show() string { return "" }

func (s namedSlot[T]) read(d *decoder, path string, v *syntax.Value) {
	elements := []T{}
	if v.Kind == syntax.Array {
		for _, item := range v.Items {
			if !item.IsScalar() {
				d.wrong(path, item, "a name")
				continue
			}
			d.positions[element(path, item.Text)] = item.Pos
			elements = append(elements, *s.fresh(item.Text))
		}
	} else {
		d.readNames(path, v, func(path string, f *syntax.Field) {
			t := s.fresh(f.Key)
			readKeys(d, path, f.Value, s.keys, t)
			elements = append(elements, *t)
		})
	}
	*s.place = elements
}

func (s namedSlot[T]) walk(path string, r Reload, visit func(leaf)) {
	list := blocksSlot[T]{place: s.place, keys: s.keys, id: s.id}
	list.walk(path, r, visit)
}

func (s namedSlot[T]) outline(path string, r Reload, visit func(leaf)) {
	outlineKeys(s.keys, s.fresh(""), path, r, visit)
}

// presence is the place of an element of a list: being there is all it says.
type presence struct{}

func (presence) kind() string                         { return "element" }
func (presence) show() string                         { return "present" }
func (presence) read(*decoder, string, *syntax.Value) {}

// special is a slot with a form of its own.
type special struct {
	words  string
	reader func(d *decoder, path string, v *syntax.Value)
	shower func() string
}

func (s special) kind() string                                  { return s.words }
func (s special) show() string                                  { return s.shower() }
func (s special) read(d *decoder, path string, v *syntax.Value) { s.reader(d, path, v) }
