package content_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"runnel/jetlog/content"
)

// TestCompileErrors: where, what is wrong, what may be there.
func TestCompileErrors(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 17) + `["x"]` + strings.Repeat("}", 17)
	deepOr := strings.Repeat(`{"$or":[{"b":[1]},`, 17) + `{"a":["x"]}` + strings.Repeat("]}", 17)
	var fields, values []string
	for i := range 1001 {
		fields = append(fields, fmt.Sprintf(`"f%d":[1]`, i))
		values = append(values, fmt.Sprint(i))
	}
	tests := []struct{ pattern, want string }{
		{``, `it is empty; a pattern is a JSON object`},
		{`{"a":["x"}`, `it is not JSON: '}' was not expected at line 1, column 10`},
		{"{\n  \"a\": [\"x\",]\n}", `it is not JSON: ']' was not expected at line 2, column 13`},
		{`{"a":["x"]`, `it is not JSON: it ends too early, at line 1, column 11`},
		{"{\"a\":[\"\xff\"]}", `it is not UTF-8`},
		{`{"a":["` + strings.Repeat("x", content.PatternMaxBytes) + `"]}`, `it has 16394 bytes, at most 16384 are allowed`},
		{`["a"]`, `it must be a JSON object`},
		{`{}`, `an object without fields says nothing`},
		{`{"a":{}}`, `a: an object without fields says nothing`},
		{`{"a":[]}`, `a: an array without alternatives matches nothing`},
		{`{"a":"x"}`, `a: needs an array of alternatives; got a string: write ["x"]`},
		{`{"a":{"b c":12}}`, `a["b c"]: needs an array of alternatives; got a number: write [12]`},
		{`{"a":true}`, `a: needs an array of alternatives; got true or false: write [true]`},
		{`{"a":[1],"a":[2]}`, `a: is there twice`},
		{`{"a":[["x"]]}`, `a[0]: alternatives are not nested`},
		{`{"a":["x",{}]}`, `a[1]: an operator is missing; there are prefix,`},
		{`{"a":[{"like":"x"}]}`, `a[0].like: there is no operator "like"; there are prefix, suffix,`},
		{`{"a":[{"prefix":"x","suffix":"y"}]}`, `a[0]: an object in an array of alternatives has one operator`},
		{`{"a":[{"prefix":1}]}`, `a[0].prefix: needs a string; got a number`},
		{`{"a":[{"prefix":["x"]}]}`, `a[0].prefix: needs a string; got an array`},
		{`{"a":[{"prefix":{}}]}`, `a[0].prefix: needs a string, or {"equals-ignore-case": "..."}`},
		{`{"a":[{"suffix":{"wildcard":"x"}}]}`, `a[0].suffix: needs a string, or {"equals-ignore-case": "..."}`},
		{`{"a":[{"suffix":{"equals-ignore-case":1}}]}`, `a[0].suffix: needs a string, or {"equals-ignore-case": "..."}`},
		{`{"a":[{"suffix":{"equals-ignore-case":"x","b":1}}]}`, `a[0].suffix: needs a string, or {"equals-ignore-case": "..."}`},
		{`{"a":[{"wildcard":"a**"}]}`, `a[0].wildcard: "a**" has two stars in a row`},
		{`{"a":[{"wildcard":"a\\b"}]}`, `has a backslash before something else than * or \`},
		{`{"a":[{"wildcard":"a\\"}]}`, `has a backslash before something else than * or \`},
		{`{"a":[{"cidr":"10.0.0.1"}]}`, `a[0].cidr: needs a network such as "10.0.0.0/8"`},
		{`{"a":[{"exists":"x"}]}`, `a[0].exists: needs true or false; got a string`},
		{`{"a":[{"numeric":5}]}`, `a[0].numeric: needs an operator and a number`},
		{`{"a":[{"numeric":[]}]}`, `the array is empty`},
		{`{"a":[{"numeric":[5]}]}`, `got a number where an operator belongs`},
		{`{"a":[{"numeric":[">"]}]}`, `after ">" there is no number`},
		{`{"a":[{"numeric":[">","5"]}]}`, `after ">" there is no number`},
		{`{"a":[{"numeric":["!=",5]}]}`, `"!=" is not possible here`},
		{`{"a":[{"numeric":[">",1,">=",2]}]}`, `">=" is not possible here`},
		{`{"a":[{"numeric":["<",1,"<",2]}]}`, `"<" is not possible here`},
		{`{"a":[{"numeric":[">",1,"=",2]}]}`, `"=" is not possible here`},
		{`{"a":[{"numeric":["=",1,"<",2]}]}`, `"<" is not possible here`},
		{`{"a":[{"numeric":[">",5,"<",1]}]}`, `a[0].numeric: no number is in this range`},
		{`{"a":[{"numeric":[">",5,"<=",5]}]}`, `a[0].numeric: no number is in this range`},
		{`{"a":[{"anything-but":[]}]}`, `a[0].anything-but: names nothing`},
		{`{"a":[{"anything-but":["x",["y"]]}]}`, `alternatives are not nested`},
		{`{"a":[{"anything-but":["x",{"prefix":"y"}]}]}`, `a value is needed here; got an object`},
		{`{"a":[{"anything-but":{}}]}`, `needs values, or one of prefix,`},
		{`{"a":[{"anything-but":{"numeric":["<",1]}}]}`, `is not possible in anything-but`},
		{`{"a":[{"anything-but":{"prefix":"x","suffix":"y"}}]}`, `has one operator inside`},
		{`{"a":[{"anything-but":{"prefix":["x",1]}}]}`, `.prefix[1]: needs a string; got a number`},
		{`{"a":{"anything-but":["x"]}}`, `"anything-but" is an operator, which stands in the array of alternatives of a field`},
		{`{"a":{"numeric":[">",5]}}`, `a.numeric: "numeric" is an operator`},
		{`{"a":{"prefix":"x"}}`, `a.prefix: needs an array of alternatives; got a string`},
		{`{"$or":{"a":[1]}}`, `$or: $or needs an array of two or more objects`},
		{`{"$or":[{"a":[1]}]}`, `$or: $or needs an array of two or more objects, such as [{"a": [1]}, {"b": [2]}]; got 1`},
		{`{"$or":[{"a":[1]},5]}`, `$or[1]: $or needs an array of two or more objects, such as [{"a": [1]}, {"b": [2]}]; this is a number`},
		{`{"$or":[{"a":[1]},{}]}`, `$or[1]: an object without fields says nothing`},
		{`{"$or":[{"a":[1]},{"b":1}]}`, `$or[1].b: needs an array of alternatives`},
		{`{"subject":["x"],"total":[1]}`, `total: is not a part of a message`},
		{`{"$or":[{"body":{"a":[1]}},{"total":[1]}]}`, `$or[1].total: is not a part of a message`},
		{`{"body":["x"]}`, `body: needs an object of fields`},
		{`{"headers":{"A":{"b":[1]}}}`, `headers.A: is a text and needs an array of alternatives`},
		{`{"headers":{"A":[true]}}`, `headers.A[0]: headers and the subject are texts, which are never true; write "true" for the word`},
		{`{"headers":{"A":[{"anything-but":null}]}}`, `headers.A[0].anything-but: headers and the subject are texts, which are never null`},
		{`{"subject":"x"}`, `subject: needs an array of alternatives; got a string: write ["x"]`},
		{`{"subject":{"a":[1]}}`, `subject: is a text and needs an array of alternatives`},
		{deep, `objects are nested more than 16 deep`},
		{deepOr, `objects are nested more than 16 deep`},
		{`{` + strings.Join(fields[:65], ",") + `}`, `more than 64 fields are asked for in one object`},
		{`{"a":[` + strings.Join(values, ",") + `]}`, `a[1000]: more than 1000 alternatives in all`},
		{`{"a":[{"anything-but":[` + strings.Join(values, ",") + `]}]}`, `more than 1000 alternatives in all`},
	}
	for _, tt := range tests {
		_, err := content.Compile(tt.pattern)
		if err == nil || !errors.Is(err, content.ErrPattern) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("pattern %.80s\n got error %v\nwant with %s", tt.pattern, err, tt.want)
		}
		if err != nil && len(err.Error()) > 700 {
			t.Errorf("pattern %.80s: error of %d bytes", tt.pattern, len(err.Error()))
		}
	}
}

// TestLimits: what is just within the limits is compiled.
func TestLimits(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 16) + `["x"]` + strings.Repeat("}", 16)
	var fields []string
	for i := range 64 {
		fields = append(fields, fmt.Sprintf(`"f%d":[%d]`, i, i))
	}
	wide := `{` + strings.Join(fields, ",") + `}`
	body := strings.Repeat(`{"a":`, 16) + `"x"` + strings.Repeat("}", 16)
	if got := compile(t, deep).Match("", nil, []byte(body)); got != content.Match {
		t.Errorf("deepest pattern: %v, want match", got)
	}
	f := compile(t, wide)
	if got := f.Match("", nil, []byte(strings.NewReplacer("[", "", "]", "").Replace(wide))); got != content.Match {
		t.Errorf("widest pattern: %v, want match", got)
	}
	if got := f.Match("", nil, []byte(strings.NewReplacer("[63]", "0", "[", "", "]", "").Replace(wide))); got == content.Match {
		t.Error("widest pattern matches without its last field")
	}
}

func FuzzCompile(f *testing.F) {
	for _, pattern := range patterns() {
		f.Add(pattern, event)
	}
	f.Add(`{"a":[{"wildcard":"*\\*x"},{"anything-but":{"prefix":["x"]}},{"cidr":"::/0"},{"numeric":["=",-1e5]}]}`, `{"a":["x",-1E+5,{}]}`)
	f.Add(`{"$or":[{"subject":["a"]},{"headers":{"A":[{"exists":false}]}}]}`, ``)
	f.Fuzz(func(t *testing.T, pattern, body string) {
		filter, err := content.Compile(pattern)
		if err != nil {
			if !errors.Is(err, content.ErrPattern) {
				t.Fatalf("error %v", err)
			}
			filter = compile(t, `{"a":[{"wildcard":"x*"},{"numeric":["<",1]}],"b":{"c":[{"exists":false}]}}`)
		}
		first := filter.Match("a.b", []byte(body), []byte(body))
		if again := filter.Match("a.b", []byte(body), []byte(body)); again != first {
			t.Fatalf("%q with %q: %v, then %v", pattern, body, first, again)
		}
	})
}
