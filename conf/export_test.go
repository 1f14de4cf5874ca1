package conf

import "runnel/conf/syntax"

// Decode parses and decodes text without the rules between keys.
func Decode(name, text string) (*Options, Errors) {
	r := &syntax.Report{}
	root := syntax.Parse(r, name, []byte(text))
	o := Defaults()
	readKeys(newDecoder(r, o), "", root, serverKeys, o)
	return o, r.Errors.Sorted()
}
