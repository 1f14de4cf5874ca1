package syntax_test

import (
	"strings"
	"testing"
)

func TestValues(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"nothing", "", `{}`},
		{"comments only", "# a\n // b\n\n;", ``},
		{"colon", "a: 1", `{"a":1}`},
		{"equals sign", "a = 1", `{"a":1}`},
		{"blank", "a 1", `{"a":1}`},
		{"tab and carriage return", "a\t1\r\nb: 2\r\n", `{"a":1,"b":2}`},
		{"separator on the next line", "a\n : 1", `{"a":1}`},
		{"semicolons", "a: 1; b: 2;", `{"a":1,"b":2}`},
		{"commas", "a: 1, b: 2,", `{"a":1,"b":2}`},
		{"byte order mark", "\ufeffa: 1", `{"a":1}`},
		{"comments after values", "a: 1 # x\nb: 2 // y\n", `{"a":1,"b":2}`},
		{"no comment inside a word", "a: x#y\nb: nats://host:1\n", `{"a":"x#y","b":"nats://host:1"}`},
		{"map", "a { b: 1, c: 2 }", `{"a":{"b":1,"c":2}}`},
		{"map without a blank", "a{b:1}", `{"a":{"b":1}}`},
		{"map on the next line", "a\n{\n b: 1\n}\n", `{"a":{"b":1}}`},
		{"map after a colon on the next line", "a:\n{ b: 1 }", `{"a":{"b":1}}`},
		{"empty map", "a {}", `{"a":{}}`},
		{"array", "a: [1, x, \"y\"]", `{"a":[1,"x","y"]}`},
		{"array without a separator", "a [1]", `{"a":[1]}`},
		{"array by lines", "a: [\n 1\n 2 # two\n\n 3\n]", `{"a":[1,2,3]}`},
		{"array with trailing comma", "a: [1,2,]", `{"a":[1,2]}`},
		{"comma on the line after", "a: [1\n, 2]", `{"a":[1,2]}`},
		{"empty array", "a: []", `{"a":[]}`},
		{"nested arrays", "a: [[1], [], [[2]]]", `{"a":[[1],[],[[2]]]}`},
		{"maps in arrays", "a: [ {b: 1}\n {b: 2}, {b: 3} ]", `{"a":[{"b":1},{"b":2},{"b":3}]}`},
		{"quoted keys", `"a": 1, 'b': 2, "c d" 3`, `{"a":1,"b":2,"c d":3}`},
		{"keys of subjects", "foo.*: a\n>: b\n$SYS: c", `{"$SYS":"c","\u003e":"b","foo.*":"a"}`},
		{"keys keep their case", "Aa: 1", `{"Aa":1}`},
		{"of equal keys the last counts", "a: 1\na: 2", `{"a":2}`},
		{
			"booleans",
			"a: true, b: YES, c: on, d: False, e: no, f: OFF",
			`{"a":true,"b":true,"c":true,"d":false,"e":false,"f":false}`,
		},
		{"no boolean", "a: truely, b: \"true\", c: 'on'", `{"a":"truely","b":"true","c":"on"}`},
		{"integers", "a: 0, b: -1, c: 007", `{"a":0,"b":-1,"c":7}`},
		{
			"decimal suffixes",
			"a: 1k, b: 2M, c: 3g, d: 4t, e: 5P, f: 6e",
			`{"a":1000,"b":2000000,"c":3000000000,"d":4000000000000,"e":5000000000000000,"f":6000000000000000000}`,
		},
		{
			"binary suffixes",
			"a: 1kb, b: 1KiB, c: 1Ki, d: 64MB, e: 1eb",
			`{"a":1024,"b":1024,"c":1024,"d":67108864,"e":1152921504606846976}`,
		},
		{"floats", "a: 1.5, b: -0.25", `{"a":1.5,"b":-0.25}`},
		{
			"no numbers",
			"a: 1kx, b: 1e5, c: 0x10, d: +5, e: 1_000, f: 1., g: .5, h: -, i: 1.2.3",
			`{"a":"1kx","b":"1e5","c":"0x10","d":"+5","e":"1_000","f":"1.","g":".5","h":"-","i":"1.2.3"}`,
		},
		{
			"numbers beyond the range stay text",
			"a: 99999999999999999999, b: 9999999999g",
			`{"a":"99999999999999999999","b":"9999999999g"}`,
		},
		{
			"addresses",
			"a: 127.0.0.1:4222, b: localhost:1, c: :80",
			`{"a":"127.0.0.1:4222","b":"localhost:1","c":":80"}`,
		},
		{"date", "a: 2006-01-02T15:04:05Z", `{"a":"2006-01-02T15:04:05Z"}`},
		{"escapes", `a: "x\n\t\r\"\\\x41\u00e9\/\ud83d\ude00"`, `{"a":"x\n\t\r\"\\Aé/😀"}`},
		{
			"half a surrogate pair",
			`a: "\ud83dx", b: "\ud83d\u0041"`,
			`{"a":"` + "\ufffd" + `x","b":"` + "\ufffd" + `A"}`,
		},
		{"escapes in words", `a: x\ty`, `{"a":"x\ty"}`},
		{"single quotes are raw", `a: 'x\n"y'`, `{"a":"x\\n\"y"}`},
		{"strings over lines", "a: \"x\ny\"", `{"a":"x\ny"}`},
		{"empty strings", `a: "", b: ''`, `{"a":"","b":""}`},
		{"no comment in a string", `a: "x # y // z"`, `{"a":"x # y // z"}`},
		{"block", "a: (\nx\n y )\n)\nb: 1", `{"a":"\nx\n y )\n","b":1}`},
		{"block with text on its first line", "a (xx\ny\n  )\n", `{"a":"xx\ny\n"}`},
		{"block followed by a comma", "a: [(\nx\n), 1]", `{"a":["\nx\n",1]}`},
		{"block with an early parenthesis", "a: (x\n ) y\n)", `{"a":"x\n ) y\n"}`},
		{
			"function in a word",
			"a { foo.*: bar.{{wildcard(1)}}.x }",
			`{"a":{"foo.*":"bar.{{wildcard(1)}}.x"}}`,
		},
		{"brace in a word", "a: x{y", `{"a":"x{y"}`},
		{"quote in a word", `a: x"y`, `{"a":"x\"y"}`},
		{
			"password hash",
			"a: $2a$10$abc, b: $2b$x, c: $2y$x",
			`{"a":"$2a$10$abc","b":"$2b$x","c":"$2y$x"}`,
		},
		{
			"JSON",
			"{\n \"a\": {\"b\": [1, 2.5, true, \"c\"]},\n \"d\":\n  \"e\"\n}\n",
			`{"a":{"b":[1,2.5,true,"c"]},"d":"e"}`,
		},
		{"JSON with comments around", "# x\n{ a: 1\n b: 2 } # y\n", `{"a":1,"b":2}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, errs := values("c.conf", test.text)
			if test.want == "" {
				if errs == nil {
					t.Fatalf("got %s, want an error", got)
				}
				return
			}
			want := test.want
			if errs != nil || got != want {
				t.Errorf("got %s, %v\nwant %s", got, errs, want)
			}
		})
	}
}

func TestSyntaxErrors(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"unclosed map", "a {\n b: 1\n", `1:3: this "{" is never closed`},
		{"unclosed inner map", "a {\n b {\n c: 1 }\n", `1:3: this "{" is never closed`},
		{"unclosed array", "x: 1\na: [1,\n", `2:4: this "[" is never closed`},
		{
			"unclosed array in a map",
			"a { b: [1 }",
			`1:11: expected a comma or "]" in the list of line 1, got "}"`,
		},
		{"unclosed double quote", "x: 1\na: \"b\nc: 2\n", `2:4: this quote (") is never closed`},
		{"unclosed single quote", "a: 'b", `1:4: this quote (') is never closed`},
		{"unclosed key", "\"a: 1", `1:1: this quote (") is never closed`},
		{
			"unclosed block",
			"a: (\nb\n c)\n",
			`1:4: this block "(" is never closed by a ")" on a line of its own`,
		},
		{"unclosed JSON", "{\"a\": 1", `1:1: this "{" is never closed`},
		{
			"text after JSON",
			"{\"a\": 1} b: 2",
			`1:10: expected the end of the file after the closing "}", got "b"`,
		},
		{"brace too many", "a: 1\n}\n", `2:1: "}" closes nothing`},
		{"bracket too many", "a { ] }", `1:5: "]" closes nothing`},
		{"no value", "port", `1:1: the key "port" has no value`},
		{"no value at the line end", "port:\nhost: x", `1:1: the key "port" has no value`},
		{"no value on the next line", "port\nhost: x", `1:1: the key "port" has no value`},
		{"no value before a string", "port\n\"host\": x", `1:1: the key "port" has no value`},
		{"no value in a map", "a { b: }", `1:5: the key "b" has no value`},
		{"no value before a comma", "a: ,b: 1", `1:1: the key "a" has no value`},
		{"no key", ": 1", `1:1: expected a key, got ":"`},
		{"comma without a key", "a { b: 1,, c: 2 }", `1:10: expected a key, got ","`},
		{
			"two values",
			"a: 1 2",
			`1:6: expected a new line, a comma or a semicolon after the value, got "2"`,
		},
		{
			"two values in a map",
			"a { b: 1 c: 2 }",
			`1:10: expected a new line, a comma or a semicolon after the value, got "c"`,
		},
		{
			"value after a string",
			`a: "b"c`,
			`1:7: expected a new line, a comma or a semicolon after the value, got "c"`,
		},
		{"two items", "a: [1 2]", `1:7: expected a comma or "]" in the list of line 1, got "2"`},
		{"comma without an item", "a: [1,,2]", `1:7: expected a value or "]", got ","`},
		{"brace in an array", "a: [}]", `1:5: expected a value or "]", got "}"`},
		{
			"unknown escape",
			`a: "x\qy"`,
			`1:6: unknown escape \ before "q"; write \\ for a backslash, or use single quotes`,
		},
		{
			"escape at the line end",
			"a: x\\\nb: 1",
			`1:5: unknown escape \ before the end of the line; write \\ for a backslash, or use single quotes`,
		},
		{
			"escape at the end",
			`a: "x\`,
			`1:6: unknown escape \ before the end of the file; write \\ for a backslash, or use single quotes`,
		},
		{"short hex", `a: "\x4"`, `1:5: \x needs two hex digits`},
		{"signed hex", `a: "\x+4"`, `1:5: \x needs two hex digits`},
		{"short unicode", `a: "\u12"`, `1:5: \u needs four hex digits`},
		{"NUL", "a: 1\nb: \x00", `2:4: a NUL byte; is this a text file?`},
		{"bytes that are no text", "a: é\xff", `1:5: the byte 0xff is not UTF-8 text`},
		{
			"column counts characters",
			"ééé: 1 2",
			`1:8: expected a new line, a comma or a semicolon after the value, got "2"`,
		},
		{
			"include without a file",
			"include",
			`1:8: expected a file name after include, got the end of the file`,
		},
		{"too deep", strings.Repeat("a [", 3) + strings.Repeat("[", 200), ``},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, errs := values("c.conf", test.text)
			if len(errs) != 1 {
				t.Fatalf("got %s, %d errors %v, want one", got, len(errs), errs)
			}
			if want := "c.conf:" + test.want; test.want != "" && errs.Error() != want {
				t.Errorf("got  %v\nwant %s", errs, want)
			}
		})
	}
}

func TestNesting(t *testing.T) {
	for _, open := range []string{"[", "{a ", "[{a "} {
		deep := "a " + strings.Repeat(open, 100_000)
		_, errs := values("c.conf", deep)
		if len(errs) != 1 || !strings.Contains(errs.Error(), "nested deeper than 100 levels") {
			t.Errorf("%q: got %v, want an error about the depth", open, errs)
		}
	}
	if _, errs := values("c.conf", "a "+strings.Repeat("[", 100)+strings.Repeat("]", 100)); errs != nil {
		t.Errorf("100 levels: %v", errs)
	}
}

func TestLongLines(t *testing.T) {
	// Each would take hours if positions or look-ahead cost the whole line.
	for name, text := range map[string]string{
		"keys":      "{" + strings.Repeat("a: 1,", 400_000) + "}",
		"braces":    "a: " + strings.Repeat("{{", 1_000_000),
		"variables": "v: 1\n" + strings.Repeat("x: $v\n", 300_000),
	} {
		text := strings.Replace(text, "a: {{", "a: x{{", 1)
		if _, errs := values("c.conf", text); errs != nil {
			t.Errorf("%s: %v", name, errs[0])
		}
	}
}
