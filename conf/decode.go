package conf

import (
	"slices"
	"strings"
)

// decoder turns parsed values into options. It goes on after errors, so that
// all of them are reported at once.
type decoder struct {
	*report
	// positions is where each key was set, by dotted path.
	positions map[string]Position
	// elsewhere finds keys of other blocks by name, to suggest them.
	elsewhere func(name string) string
}

// wrong reports that the value of a key is not what it must be.
func (d *decoder) wrong(path string, v *value, expected string) {
	d.fail(v.pos, "%s: expected %s, got %s", path, expected, v.show())
}

// readKeys decodes the map v into t by its schema. path is that of the block,
// empty for the top level.
func readKeys[T any](d *decoder, path string, v *value, keys []key[T], t *T) {
	if v.kind != kindMap {
		d.wrong(path, v, "a block { ... }")
		return
	}
	type choice struct {
		key   *key[T]
		field *field
	}
	var chosen []choice
	for _, f := range v.fields {
		if d.full() {
			return
		}
		k := find(keys, f.key)
		if k == nil {
			if !f.used {
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
		d.positions[at] = c.field.pos
		c.key.slot(t).read(d, at, c.field.value)
	}
}

// readNames calls read for the last occurrence of each key of the map v, whose
// keys are free names, in the order of the file.
func (d *decoder) readNames(path string, v *value, read func(path string, f *field)) {
	if v.kind != kindMap {
		d.wrong(path, v, "a block { ... }")
		return
	}
	last := make(map[string]*field, len(v.fields))
	for _, f := range v.fields {
		if earlier := last[f.key]; earlier != nil {
			d.repeated(path, f, earlier)
		}
		last[f.key] = f
	}
	for _, f := range v.fields {
		if last[f.key] == f && !d.full() {
			at := element(path, f.key)
			d.positions[at] = f.pos
			read(at, f)
		}
	}
}

// repeated warns that a key is there twice.
func (d *decoder) repeated(path string, f, earlier *field) {
	d.warn(f.pos, "%q is set twice%s; this one replaces the one of line %d", shorten(f.key), inBlock(path), earlier.pos.Line)
}

// unknown reports a key that its block does not have.
func (d *decoder) unknown(path string, f *field, names []string) {
	text := ""
	if near := nearest(f.key, names); near != "" {
		text = "; did you mean \"" + near + "\"?"
	} else if other := d.elsewhere(f.key); other != "" {
		text = "; did you mean \"" + other + "\"?"
	}
	d.fail(f.pos, "unknown key %q%s%s", shorten(f.key), inBlock(path), text)
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
