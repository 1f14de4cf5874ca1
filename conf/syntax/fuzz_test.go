package syntax_test

import (
	"testing"

	"runnel/conf/syntax"
)

// FuzzParse asks that any text parses or fails without a panic, that errors lie
// inside the text, and that the JSON of the values parses to the same values.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"port: 4222\nhost = \"0.0.0.0\"\n",
		"a { b: [1, 2k, 3kib, -1.5] ; c: yes }, d: (\n text\n)\n",
		`{"a": {"b": "\u00e9\n", "c": [true, null]}}`,
		"x: $2a$10$abc\ny: $x\nz: 2006-01-02T15:04:05Z # c\n// c",
		"foo.*: bar.{{wildcard(1)}}",
		"include x", "a: '", "{{{{", "a [ [ [", "\\x", "a: \"\\x0", "a: (\n)\n", "\ufeff", "a\n:\n{}",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, errs := values("/nowhere/c.conf", text)
		lines := 1
		for _, c := range text {
			if c == '\n' {
				lines++
			}
		}
		for _, e := range errs {
			if e.Line < 0 || e.Line > lines || e.Column < 0 || e.Column > len(text)+1 || e.Text == "" {
				t.Fatalf("%q: an error outside of the text: %+v", text, e)
			}
		}
		if errs != nil {
			return
		}
		// Once more, since a float like 1e-9 turns into a string the first time.
		second, errs := values("/nowhere/c.conf", got)
		if errs != nil {
			t.Fatalf("%q: its JSON %s does not parse: %v", text, got, errs)
		}
		if third, errs := values("/nowhere/c.conf", second); errs != nil || third != second {
			t.Fatalf("%q: %s parses as %s, %v", text, second, third, errs)
		}
	})
}

// BenchmarkParse reads a config of a thousand users.
func BenchmarkParse(b *testing.B) {
	text := []byte("accounts { A { users [\n")
	for range 1000 {
		text = append(text, "{ user: somebody, password: $2a$10$abcdefghijklmnopqrstuv, permissions { publish: [\"a.>\", b] } }\n"...)
	}
	text = append(text, "] } }\n"...)
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r := &syntax.Report{}
		syntax.Parse(r, "c.conf", text)
		if r.Errors != nil {
			b.Fatal(r.Errors)
		}
	}
}
