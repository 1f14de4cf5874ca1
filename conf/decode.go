package conf

import (
	"slices"
	"strings"
	"sync"

	"runnel/conf/spelling"
	"runnel/conf/syntax"
)

// decoder turns parsed values into options. It goes on after errors, so that
// all of them are reported at once.
type decoder struct {
	*syntax.Report
	// positions is where each key was set, by dotted path.
	positions map[string]Position
	// all returns the keys of all blocks, to suggest those of others.
	all func() []Explanation
}

// newDecoder returns a decoder that reports to r and notes positions in o. The
// keys are listed only once one is unknown.
func newDecoder(r *syntax.Report, o *Options) *decoder {
	return &decoder{Report: r, positions: o.positions, all: sync.OnceValue(Keys)}
}

// wrong reports that the value of a key is not what it must be.
func (d *decoder) wrong(path string, v *syntax.Value, expected string) {
	d.Fail(v.Pos, "%s: expected %s, got %s", path, expected, v.String())
}

// readKeys decodes the map v into t by its schema. path is that of the block,
// empty for the top level.
func readKeys[T any](d *decoder, path string, v *syntax.Value, keys []key[T], t *T) {
	if v.Kind != syntax.Map {
		d.wrong(path, v, "a block { ... }")
		return
	}
	type choice struct {
		key   *key[T]
		field *syntax.Field
	}
	var chosen []choice
	for _, f := range v.Fields {
		if d.Full() {
			return
		}
		k := find(keys, f.Key)
		if k == nil {
			if !f.Used {
				d.unknown(path, f, namesOf(keys))
			}
			continue
		}
		same := func(c choice) bool { return c.key == k }
		if i := slices.IndexFunc(chosen, same); i >= 0 {
			d.repeated(path, f, chosen[i].field)
			chosen = slices.Delete(chosen, i, i+1)
		}
		chosen = append(chosen, choice{k, f})
	}
	for _, c := range chosen {
		at := join(path, c.key.name())
		d.positions[at] = c.field.Pos
		c.key.slot(t).read(d, at, c.field.Value)
	}
}

// readNames calls read for the last occurrence of each key of the map v, whose
// keys are free names, in the order of the file.
func (d *decoder) readNames(path string, v *syntax.Value, read func(path string, f *syntax.Field)) {
	if v.Kind != syntax.Map {
		d.wrong(path, v, "a block { ... }")
		return
	}
	last := make(map[string]*syntax.Field, len(v.Fields))
	for _, f := range v.Fields {
		if earlier := last[f.Key]; earlier != nil {
			d.repeated(path, f, earlier)
		}
		last[f.Key] = f
	}
	for _, f := range v.Fields {
		if last[f.Key] == f && !d.Full() {
			at := element(path, f.Key)
			d.positions[at] = f.Pos
			read(at, f)
		}
	}
}

// repeated warns that a key is there twice.
func (d *decoder) repeated(path string, f, earlier *syntax.Field) {
	d.Warn(f.Pos, "%q is set twice%s; this one replaces the one of line %d", syntax.Shorten(f.Key), inBlock(path), earlier.Pos.Line)
}

// unknown reports a key that its block does not have.
func (d *decoder) unknown(path string, f *syntax.Field, names []string) {
	text := ""
	if near := spelling.Nearest(f.Key, names); near != "" {
		text = "; did you mean \"" + near + "\"?"
	} else if other := d.elsewhere(f.Key); other != "" {
		text = "; did you mean \"" + other + "\"?"
	}
	d.Fail(f.Pos, "unknown key %q%s%s", syntax.Shorten(f.Key), inBlock(path), text)
}

// elsewhere returns the path of the first key called name in any block, empty
// for none.
func (d *decoder) elsewhere(name string) string {
	all := d.all()
	i := slices.IndexFunc(all, func(e Explanation) bool { return e.isCalled(name) })
	if i < 0 {
		return ""
	}
	return all[i].Key
}

// inBlock names the block in an error text, nothing for the top level.
func inBlock(path string) string {
	if path == "" {
		return ""
	}
	return " in " + path
}

// namesOf returns all names of a schema.
func namesOf[T any](keys []key[T]) []string {
	var names []string
	for i := range keys {
		names = append(names, strings.Fields(keys[i].names)...)
	}
	return names
}
