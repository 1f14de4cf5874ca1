package conf

import (
	"encoding/json"

	"runnel/conf/syntax"
)

// Values parses text and returns its values as JSON, for tests of the language
// alone.
func Values(name, text string) (string, Errors) {
	r := &syntax.Report{}
	root := syntax.Parse(r, name, []byte(text))
	b, err := json.Marshal(root.Plain())
	if err != nil {
		r.Fail(Position{File: name}, "%v", err)
	}
	return string(b), r.Errors.Sorted()
}

// Decode parses and decodes text without the rules between keys.
func Decode(name, text string) (*Options, Errors) {
	r := &syntax.Report{}
	root := syntax.Parse(r, name, []byte(text))
	o := Defaults()
	d := &decoder{Report: r, positions: o.positions, elsewhere: elsewhere}
	readKeys(d, "", root, serverKeys, o)
	return o, r.Errors.Sorted()
}

// ErrorLimit is the number of errors kept.
const ErrorLimit = syntax.ErrorLimit
