package keyed_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"runnel/headers"
	"runnel/jetlog/keyed"
)

func parse(t testing.TB, text string) keyed.Expression {
	t.Helper()
	e, err := keyed.Parse(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if e.String() != text {
		t.Errorf("%q is written as %q", text, e)
	}
	return e
}

func TestKey(t *testing.T) {
	block := string(headers.Build(headers.Field{Name: "Order-Id", Value: "17"}, headers.Field{Name: "Empty", Value: ""}, headers.Field{Name: "Order-Id", Value: "18"}))
	const none = "(none)"
	tests := []struct{ expression, subject, header, body, want string }{
		{"token:1", "orders", "", "", "orders"},
		{"token:1", "orders.17.new", "", "", "orders"},
		{"token:2", "orders.17.new", "", "", "17"},
		{"token:3", "orders.17.new", "", "", "new"},
		{"token:4", "orders.17.new", "", "", none},
		{"token:2", "orders", "", "", none},
		{"token:1", "", "", "", ""},
		{"tokens:1-1", "a.b.c", "", "", "a"},
		{"tokens:1-2", "a.b.c", "", "", "a.b"},
		{"tokens:2-3", "a.b.c", "", "", "b.c"},
		{"tokens:2-3", "a.b.c.d", "", "", "b.c"},
		{"tokens:2-3", "a.b", "", "", none},
		{"header:Order-Id", "a", block, "", "17"},
		{"header:order-id", "a", block, "", none},
		{"header:Empty", "a", block, "", ""},
		{"header:Order-Id", "a", "", "", none},
		{"json:id", "a", "", `{"id":"x"}`, "x"},
		{"json:id", "a", "", `{"id":"\u00e9\"","id":"y"}`, `é"`},
		{"json:id", "a", "", `{"id":1.0}`, "1.0"},
		{"json:id", "a", "", `{"id":true}`, "true"},
		{"json:id", "a", "", `{"id":false}`, "false"},
		{"json:id", "a", "", `{"id":""}`, ""},
		{"json:id", "a", "", `{"id":null}`, none},
		{"json:id", "a", "", `{"id":{}}`, none},
		{"json:id", "a", "", `{"id":["x"]}`, none},
		{"json:id", "a", "", `{"other":1}`, none},
		{"json:id", "a", "", `"id"`, none},
		{"json:id", "a", "", ``, none},
		{"json:id", "a", "", `{"id":"x`, none},
		{"json:id", "a", "", `{"id":-}`, none},
		{"json:id", "a", "", `{"id"}`, none},
		{"json:id", "a", "", `{"a":],"id":1}`, none},
		{"json:id", "a", "", `{"id":"x","what follows":`, "x"},
		{"json:order.id", "a", "", `{"id":1,"order":{"x":[{"id":2}],"id":3}}`, "3"},
		{"json:order.id", "a", "", `{"order":5}`, none},
		{`json:order\.id`, "a", "", `{"order":{"id":1},"order.id":2}`, "2"},
		{`json:a\\b`, "a", "", `{"a\\b":2}`, "2"},
		{"json:items.1.sku", "a", "", `{"items":[{"sku":"A"},{"sku":"B"}]}`, "B"},
		{"json:items.2", "a", "", `{"items":["A","B"]}`, none},
		{"json:items.x", "a", "", `{"items":["A","B"]}`, none},
		{"json:items.-1", "a", "", `{"items":["A","B"]}`, none},
		{"json:1", "a", "", `{"1":"A"}`, "A"},
		{"json:a", "a", "", strings.Repeat(`[`, 1_000_000), none},
		{"json:a", "a", "", strings.Repeat(`{"b":`, 1_000_000), none},
	}
	for _, tt := range tests {
		e := parse(t, tt.expression)
		got, ok := e.Key([]byte("before "), tt.subject, []byte(tt.header), []byte(tt.body))
		text, had := strings.CutPrefix(string(got), "before ")
		if !ok {
			text += none
		}
		if !had || text != tt.want {
			t.Errorf("%s of %q, %q, %.60q: %q, want %q", tt.expression, tt.subject, tt.header, tt.body, got, tt.want)
		}
		if e.NeedsBody() != strings.HasPrefix(tt.expression, "json:") {
			t.Errorf("%s needs the body: %v", tt.expression, e.NeedsBody())
		}
	}
	if got, ok := (keyed.Expression{}).Key(nil, "a", nil, nil); ok {
		t.Errorf("no expression: key %q, want none", got)
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", `""; write token:2, tokens:1-3, header:Order-Id or json:order.id`},
		{"subject", `"subject"; write token:2`},
		{"Token:2", `"Token:2"; write token:2`},
		{"token:", `counted from 1 to 128; got ""`},
		{"token:0", `counted from 1 to 128; got "0"`},
		{"token:-1", `got "-1"`},
		{"token:+1", `got "+1"`},
		{"token:01", `got "01"`},
		{"token:129", `got "129"`},
		{"token:2x", `got "2x"`},
		{"tokens:2", `needs the first and the last one, as in tokens:1-3; got "2"`},
		{"tokens:-2", `counted from 1 to 128; got ""`},
		{"tokens:1-", `counted from 1 to 128; got ""`},
		{"tokens:3-2", `the first token is behind the last one in "3-2"`},
		{"header:", `the name of a header has no blanks and no colon, and is not empty; got ""`},
		{"header:A B", `got "A B"`},
		{"header:A:B", `got "A:B"`},
		{"json:", `a name is empty in ""`},
		{"json:a..b", `a name is empty in "a..b"`},
		{"json:.a", `a name is empty in ".a"`},
		{"json:a.", `a name is empty in "a."`},
		{`json:a\b`, `a backslash in "a\\b" stands before something else`},
		{`json:a\`, `a backslash in "a\\" stands before something else`},
		{"json:" + strings.Repeat("a.", 16) + "a", "it goes 17 names deep, at most 16"},
		{"json:" + strings.Repeat("a", 300), "it has 305 bytes, at most 256"},
	}
	for _, tt := range tests {
		_, err := keyed.Parse(tt.text)
		if err == nil || !errors.Is(err, keyed.ErrExpression) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.40q: error %v, want one with %q", tt.text, err, tt.want)
		}
	}
}

func TestKeyNoAllocation(t *testing.T) {
	block := headers.Build(headers.Field{Name: "Order-Id", Value: "17"})
	body := []byte(`{"customer":{"name":"Ada"},"order":{"id":"A-\u0031"}}`)
	dst := make([]byte, 0, 64)
	for _, text := range []string{"token:2", "tokens:1-2", "header:Order-Id", "json:order.id"} {
		e := parse(t, text)
		n := testing.AllocsPerRun(100, func() {
			if _, ok := e.Key(dst, "orders.17.new", block, body); !ok {
				t.Errorf("%s: no key", text)
			}
		})
		if n != 0 {
			t.Errorf("%s: %v allocations", text, n)
		}
	}
}

func FuzzExpression(f *testing.F) {
	f.Add("token:2", "a.b", "NATS/1.0\r\nA: 1\r\n\r\n", `{"a":1}`)
	f.Add("tokens:1-3", "a..b", "", "")
	f.Add("header:A", "", "NATS/1.0\r\nA: 1\r\n\r\n", "")
	f.Add(`json:a.0.b\.c`, "", "", `{"a":[{"b.c":"x\u00e9"}]}`)
	f.Fuzz(func(t *testing.T, text, subject, header, body string) {
		e, err := keyed.Parse(text)
		if err != nil {
			if !errors.Is(err, keyed.ErrExpression) {
				t.Fatalf("error %v", err)
			}
			return
		}
		key, ok := e.Key([]byte("x"), subject, []byte(header), []byte(body))
		if string(key[:1]) != "x" || !ok && len(key) > 1 {
			t.Fatalf("%q: key %q, %v", text, key, ok)
		}
	})
}

func BenchmarkKey(b *testing.B) {
	block := headers.Build(headers.Field{Name: "Order-Id", Value: "17"})
	body := []byte(`{"type":"order.created","customer":{"name":"Ada Lovelace","tier":"gold"},"order":{"id":"A-17"},"total":289.48}`)
	for _, text := range []string{"token:2", "header:Order-Id", "json:order.id"} {
		b.Run(text, func(b *testing.B) {
			e := parse(b, text)
			dst := make([]byte, 0, 64)
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := e.Key(dst, "orders.17.new", block, body); !ok {
					b.Fatal("no key")
				}
			}
		})
	}
}

func ExampleExpression_Key() {
	for _, text := range []string{"token:2", "tokens:1-2", "json:order.id", "header:Order-Id"} {
		expression, err := keyed.Parse(text)
		if err != nil {
			fmt.Println(err)
			return
		}
		key, ok := expression.Key(nil, "orders.eu.new", nil, []byte(`{"order": {"id": "A-17"}}`))
		fmt.Printf("%-16s %q %v\n", expression, key, ok)
	}
	// Output:
	// token:2          "eu" true
	// tokens:1-2       "orders.eu" true
	// json:order.id    "A-17" true
	// header:Order-Id  "" false
}
