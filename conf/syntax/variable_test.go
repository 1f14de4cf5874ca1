package syntax_test

import (
	"fmt"
	"strings"
	"testing"

	"runnel/conf/syntax"
)

func TestVariables(t *testing.T) {
	for _, test := range []struct {
		name, text, want string
		env              []string // name=value
	}{
		{"from above", "a: 1\nb: $a", `{"a":1,"b":1}`, nil},
		{"of the same map", "a { x: 1, y: $x }", `{"a":{"x":1,"y":1}}`, nil},
		{"of an outer map", "x: 1\na { b { c: $x } }", `{"a":{"b":{"c":1}},"x":1}`, nil},
		{"the nearest wins", "x: 1\na { x: 2, b { c: $x } }", `{"a":{"b":{"c":2},"x":2},"x":1}`, nil},
		{"the last above wins", "x: 1\nx: 2\na: $x\nx: 3", `{"a":2,"x":3}`, nil},
		{"in a list", "x: 1\na: [$x, [$x]]", `{"a":[1,[1]],"x":1}`, nil},
		{"a whole map", "x { y: 1 }\na: $x", `{"a":{"y":1},"x":{"y":1}}`, nil},
		{"case matters", "x: 1\na: $X", "", nil},
		{"not from a closed map", "a { x: 1 }\nb: $x", "", nil},
		{"not from below", "a: $x\nx: 1", "", nil},
		{"quoted is text", `a: "$x", b: '$x'`, `{"a":"$x","b":"$x"}`, nil},
		{"key before environment", "X: 1\na: $X", `{"X":1,"a":1}`, []string{"X=2"}},
		{"environment", "a: $X", `{"a":2}`, []string{"X=2"}},
		{"environment is a value", "a: $X", `{"a":{"b":[1,true]}}`, []string{"X={b: [1, yes]}"}},
		{"environment string", "a: $X", `{"a":"2 3"}`, []string{`X="2 3"`}},
		{"environment with blanks around", "a: $X", `{"a":2}`, []string{"X= 2 \n"}},
		{"empty environment", "a: $X", `{"a":""}`, []string{"X="}},
		{"environment of environment", "a: $X", `{"a":2}`, []string{"X=$Y", "Y=2"}},
		{"environment refers to a key", "y: 3\na: $X", `{"a":3,"y":3}`, []string{"X=$y"}},
		{"environment used twice", "a: $X, b: $X", `{"a":2,"b":2}`, []string{"X=2"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, e := range test.env {
				name, value, _ := strings.Cut(e, "=")
				t.Setenv(name, value)
			}
			got, errs := values("c.conf", test.text)
			if test.want == "" {
				if errs == nil {
					t.Errorf("got %s, want an error", got)
				}
				return
			}
			if errs != nil || got != test.want {
				t.Errorf("got %s, %v\nwant %s", got, errs, test.want)
			}
		})
	}
}

func TestVariableErrors(t *testing.T) {
	const notSet = `the variable $%s is set neither above nor in the environment; quote the value if it is meant as text`
	for _, test := range []struct {
		name, text, want string
		env              []string
	}{
		{"missing", "x: 1\nport: $NOPE", "c.conf:2:7: " + fmt.Sprintf(notSet, "NOPE"), nil},
		{"no name", "port: $", "c.conf:1:7: " + fmt.Sprintf(notSet, ""), nil},
		{"key that refers to itself", "A: $A", "c.conf:1:4: " + fmt.Sprintf(notSet, "A"), nil},
		{
			"environment that refers to itself", "A: $A\nport: $A",
			"c.conf:1:4: in the environment variable $A: variable cycle: $A refers to $A",
			[]string{"A=$A"},
		},
		{
			"ring", "x: 1\nport: $A",
			"c.conf:2:7: in the environment variable $A: in the environment variable $B: variable cycle: $A refers to $B refers to $A",
			[]string{"A=$B", "B=$A"},
		},
		{
			"ring inside values", "port: $A",
			"c.conf:1:7: in the environment variable $A: in the environment variable $B: variable cycle: $A refers to $B refers to $A",
			[]string{"A=[1, {x: $B}]", "B={y: [$A]}"},
		},
		{
			"two values", "port: $A",
			"c.conf:1:7: in the environment variable $A: expected one value, got \"b\" after it; quote text with blanks",
			[]string{"A=a b"},
		},
		{
			"unclosed", "port: $A",
			"c.conf:1:7: in the environment variable $A: this \"{\" is never closed",
			[]string{"A={ a: 1"},
		},
		{
			"no text", "port: $A",
			"c.conf:1:7: in the environment variable $A: the byte 0xff is not UTF-8 text",
			[]string{"A=\xff"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, e := range test.env {
				name, value, _ := strings.Cut(e, "=")
				t.Setenv(name, value)
			}
			got, errs := values("c.conf", test.text)
			if len(errs) != 1 || errs.Error() != test.want {
				t.Errorf("got  %s, %v\nwant %s", got, errs, test.want)
			}
		})
	}
}

// TestMultiplyingVariables doubles a value with each line, which must end in an
// error long before it fills the memory.
func TestMultiplyingVariables(t *testing.T) {
	var text strings.Builder
	text.WriteString("v0: [x, x]\n")
	for i := 1; i < 60; i++ {
		fmt.Fprintf(&text, "v%d: [$v%d, $v%d]\n", i, i-1, i-1)
	}
	_, errs := values("c.conf", text.String())
	if len(errs) != 1 || !strings.Contains(errs.Error(), "more than 2 million values") {
		t.Errorf("got %v, want an error about the number of values", errs)
	}
}

// TestManyValues nests lists that are large each, and larger together.
func TestManyValues(t *testing.T) {
	text := "a: [" + strings.Repeat("1,", 1_500_000) + "[" + strings.Repeat("1,", 1_500_000)
	_, errs := values("c.conf", text)
	if len(errs) != 1 || !strings.Contains(errs.Error(), "more than 2 million values") {
		t.Errorf("got %v, want an error about the number of values", errs)
	}
}

func TestUsedKeys(t *testing.T) {
	r := &syntax.Report{}
	root := syntax.Parse(r, "c.conf", []byte("a: 1\nb: 2\nc: $b"))
	for _, f := range root.Fields {
		if want := f.Key == "b"; f.Used != want {
			t.Errorf("%s: used is %v, want %v", f.Key, f.Used, want)
		}
	}
	if v := root.Fields[2].Value; v.Variable != "b" || v.Pos.Line != 3 || v.Pos.Column != 4 {
		t.Errorf("the value of c comes from %q at %v, want b at 3:4", v.Variable, v.Pos)
	}
}
