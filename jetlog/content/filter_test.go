package content_test

import (
	"fmt"
	"strings"
	"testing"

	"runnel/headers"
	"runnel/jetlog/content"
)

func compile(t testing.TB, pattern string) *content.Filter {
	t.Helper()
	f, err := content.Compile(pattern)
	if err != nil {
		t.Fatalf("pattern %s: %v", pattern, err)
	}
	return f
}

// TestBody: a pattern, bodies that match it, bodies that do not.
func TestBody(t *testing.T) {
	tests := []struct {
		title, pattern string
		match, not     []string
	}{
		{"string", `{"a":["x","y"]}`, []string{`{"a":"x"}`, `{"b":1,"a":"y"}`, `{"a":"\u0078"}`}, []string{`{}`, `{"a":"X"}`, `{"a":"xy"}`, `{"a":{"x":1}}`, `{"b":"x"}`, `"x"`}},
		{"empty string", `{"a":[""]}`, []string{`{"a":""}`}, []string{`{"a":null}`, `{}`, `{"a":" "}`}},
		{"number", `{"a":[100]}`, []string{`{"a":100}`, `{"a":100.0}`, `{"a":1e2}`, `{"a":1.00E+2}`, `{"a":1000e-1}`}, []string{`{"a":"100"}`, `{"a":-100}`, `{"a":100.000000000000000000001}`}},
		{"literals", `{"a":[true,null]}`, []string{`{"a":true}`, `{"a":null}`}, []string{`{"a":false}`, `{"a":"true"}`, `{"a":0}`, `{}`}},
		{"several fields", `{"a":[1],"b":[2]}`, []string{`{"b":2,"a":1}`}, []string{`{"a":1}`, `{"a":1,"b":1}`}},
		{"nested", `{"a":{"b":{"c":[1]}}}`, []string{`{"a":{"x":[],"b":{"c":1}}}`}, []string{`{"a":{"b":1}}`, `{"a":{"c":1}}`, `{"a":null}`, `{"a":{"b":{}}}`}},
		{"a dot in a name", `{"a.b":[1]}`, []string{`{"a.b":1}`}, []string{`{"a":{"b":1}}`}},
		{"the first of a name", `{"a":[1]}`, []string{`{"a":1,"a":2}`}, []string{`{"a":2,"a":1}`}},
		{"escaped name", `{"é":[1]}`, []string{`{"\u00e9":1}`, `{"é":1}`}, []string{`{"e":1}`}},
		{"prefix", `{"a":[{"prefix":"eu-"}]}`, []string{`{"a":"eu-"}`, `{"a":"eu-west"}`}, []string{`{"a":"eu"}`, `{"a":"EU-west"}`, `{"a":1}`}},
		{"suffix", `{"a":[{"suffix":".png"}]}`, []string{`{"a":".png"}`, `{"a":"a.png"}`}, []string{`{"a":"png"}`, `{"a":"a.PNG"}`, `{"a":null}`}},
		{"ignore case", `{"a":[{"equals-ignore-case":"Straße Ωδός"}]}`, []string{`{"a":"STRAßE ωΔΌΣ"}`, `{"a":"STRAẞE ωδόσ"}`}, []string{`{"a":"strasse"}`, `{"a":"straße ωδό"}`, `{"a":"straße ωδόςx"}`}},
		{"prefix ignoring case", `{"a":[{"prefix":{"equals-ignore-case":"Év"}}]}`, []string{`{"a":"éVa"}`, `{"a":"ÉV"}`}, []string{`{"a":"É"}`, `{"a":"ev"}`}},
		{"suffix ignoring case", `{"a":[{"suffix":{"equals-ignore-case":"tBridgÉ"}}]}`, []string{`{"a":"EvenTBRIDGé"}`}, []string{`{"a":"bridgé"}`, `{"a":"tbridge"}`, `{"a":"é"}`}},
		{"wildcard", `{"a":[{"wildcard":"*/lib/*.so"}]}`, []string{`{"a":"/lib/.so"}`, `{"a":"/usr/lib/x/lib/a.so"}`}, []string{`{"a":"lib/a.so"}`, `{"a":"/lib/a.so.1"}`, `{"a":"/lib.so"}`}},
		{"wildcard overlap", `{"a":[{"wildcard":"aba*aba"}]}`, []string{`{"a":"abaaba"}`}, []string{`{"a":"aba"}`, `{"a":"ababa"}`}},
		{"wildcard escapes", `{"a":[{"wildcard":"\\**\\\\"}]}`, []string{`{"a":"*\\"}`, `{"a":"*x\\"}`}, []string{`{"a":"x\\"}`, `{"a":"*"}`}},
		{"only a star", `{"a":[{"wildcard":"*"}]}`, []string{`{"a":""}`, `{"a":"x"}`}, []string{`{"a":1}`, `{}`}},
		{"no star", `{"a":[{"wildcard":"x"}]}`, []string{`{"a":"x"}`}, []string{`{"a":"xx"}`}},
		{"cidr", `{"a":[{"cidr":"10.0.0.0/8"}]}`, []string{`{"a":"10.1.2.3"}`, `{"a":"::ffff:10.1.2.3"}`}, []string{`{"a":"11.0.0.1"}`, `{"a":"10.1"}`, `{"a":"x"}`, `{"a":10}`}},
		{"cidr of IPv6", `{"a":[{"cidr":"2001:db8::/32"}]}`, []string{`{"a":"2001:db8::1"}`}, []string{`{"a":"2001:db9::1"}`, `{"a":"10.1.2.3"}`, `{"a":"2001:db8::1%eth0"}`}},
		{"range", `{"a":[{"numeric":[">",0,"<=",5]}]}`, []string{`{"a":5}`, `{"a":1e-300}`, `{"a":0.5}`}, []string{`{"a":0}`, `{"a":-0.0}`, `{"a":5.0000001}`, `{"a":"3"}`, `{"a":-1}`}},
		{"range from above", `{"a":[{"numeric":["<",1,">=",-1]}]}`, []string{`{"a":-1}`, `{"a":0}`}, []string{`{"a":1}`, `{"a":-1.01}`}},
		{"comparisons", `{"a":[{"numeric":["=",3.018e2]},{"numeric":["<",-1]},{"numeric":[">",1e400]}]}`, []string{`{"a":301.80}`, `{"a":-2}`, `{"a":1.1e400}`}, []string{`{"a":302}`, `{"a":-1}`, `{"a":1e400}`}},
		{"exists", `{"a":[{"exists":true}]}`, []string{`{"a":1}`, `{"a":null}`, `{"a":{}}`, `{"a":[]}`, `{"a":[[]]}`}, []string{`{}`, `[]`, `1`}},
		{"exists not", `{"a":[{"exists":false}]}`, []string{`{}`, `[]`, `1`, `{"b":1}`}, []string{`{"a":1}`, `{"a":null}`, `{"a":[]}`, `{"a":{}}`}},
		{"not there or", `{"a":[{"exists":false},"x"]}`, []string{`{}`, `{"a":"x"}`}, []string{`{"a":"y"}`}},
		{"nested is not there", `{"a":{"b":[{"exists":false}]}}`, []string{`{}`, `{"a":1}`, `{"a":{}}`, `{"a":[]}`, `{"a":[{"b":1},{}]}`}, []string{`{"a":{"b":1}}`, `{"a":[{"b":1}]}`}},
		{"anything but", `{"a":[{"anything-but":"x"}]}`, []string{`{"a":"y"}`, `{"a":1}`, `{"a":null}`, `{"a":["x","y"]}`}, []string{`{"a":"x"}`, `{}`, `{"a":["x"]}`, `{"a":[]}`, `{"a":{}}`}},
		{"anything but numbers", `{"a":[{"anything-but":[1,2]}]}`, []string{`{"a":3}`, `{"a":"1"}`}, []string{`{"a":1.0}`, `{"a":2}`}},
		{"anything but literals", `{"a":[{"anything-but":[null,true]}]}`, []string{`{"a":false}`}, []string{`{"a":null}`, `{"a":true}`}},
		{"anything but prefix", `{"a":[{"anything-but":{"prefix":"t-"}}]}`, []string{`{"a":"x"}`, `{"a":7}`}, []string{`{"a":"t-1"}`, `{}`}},
		{"anything but prefixes", `{"a":[{"anything-but":{"prefix":["t-",{"equals-ignore-case":"s-"}]}}]}`, []string{`{"a":"x"}`}, []string{`{"a":"t-1"}`, `{"a":"S-1"}`}},
		{"anything but suffix", `{"a":[{"anything-but":{"suffix":[".a",".b"]}}]}`, []string{`{"a":"x"}`}, []string{`{"a":"x.a"}`, `{"a":"x.b"}`}},
		{"anything but wildcard", `{"a":[{"anything-but":{"wildcard":"*/lib/*"}}]}`, []string{`{"a":"x"}`}, []string{`{"a":"/lib/"}`}},
		{"anything but ignoring case", `{"a":[{"anything-but":{"equals-ignore-case":["Init","stop"]}}]}`, []string{`{"a":"x"}`}, []string{`{"a":"INIT"}`, `{"a":"Stop"}`}},
		{"array", `{"a":["x"]}`, []string{`{"a":["w","x"]}`, `{"a":[[["x"]]]}`}, []string{`{"a":[]}`, `{"a":["w"]}`}},
		{"one element", `{"a":{"b":[1],"c":[2]}}`, []string{`{"a":[{"b":1},{"b":1,"c":2}]}`, `{"a":[[{"c":2,"b":1}]]}`}, []string{`{"a":[{"b":1},{"c":2}]}`}},
		{"body is an array", `{"a":[1]}`, []string{`[{"a":2},{"a":1}]`}, []string{`[{"a":2}]`}},
		{"or", `{"t":[1],"$or":[{"a":[1]},{"b":[1],"c":[1]}]}`, []string{`{"t":1,"a":1}`, `{"t":1,"c":1,"b":1}`}, []string{`{"a":1}`, `{"t":1}`, `{"t":1,"b":1}`}},
		{"or of one field", `{"$or":[{"a":{"b":[1]}},{"a":{"c":[1]}},{"a":[5]}]}`, []string{`{"a":{"b":1}}`, `{"a":{"c":1}}`, `{"a":5}`}, []string{`{"a":{"d":1}}`, `{"a":6}`}},
		{"or within or", `{"$or":[{"a":[1],"$or":[{"b":[1]},{"c":[1]}]},{"d":[1]}]}`, []string{`{"a":1,"c":1}`, `{"d":1}`}, []string{`{"a":1}`, `{"b":1,"c":1}`}},
		{"or in an object", `{"a":{"$or":[{"b":[1]},{"c":[1]}]}}`, []string{`{"a":{"c":1}}`}, []string{`{"c":1}`, `{"a":{}}`}},
		{"names of operators as fields", `{"prefix":["x"],"exists":["y"],"numeric":["z"]}`, []string{`{"prefix":"x","exists":"y","numeric":"z"}`}, []string{`{}`}},
	}
	for _, tt := range tests {
		f := compile(t, tt.pattern)
		for _, body := range tt.match {
			if got := f.Match("", nil, []byte(body)); got != content.Match {
				t.Errorf("%s: %s with %s: %v, want match", tt.title, tt.pattern, body, got)
			}
		}
		for _, body := range tt.not {
			if got := f.Match("", nil, []byte(body)); got != content.NoMatch {
				t.Errorf("%s: %s with %s: %v, want no match", tt.title, tt.pattern, body, got)
			}
		}
	}
}

func TestMessage(t *testing.T) {
	block := headers.Build(headers.Field{Name: "Priority", Value: "high"}, headers.Field{Name: "Retries", Value: "3"},
		headers.Field{Name: "Tag", Value: "a"}, headers.Field{Name: "Tag", Value: "b"}, headers.Field{Name: "Odd", Value: "-"})
	tests := []struct {
		pattern, body string
		want          content.Result
	}{
		{`{"subject":["orders.eu.new"]}`, ``, content.Match},
		{`{"subject":[{"prefix":"orders.us."}]}`, ``, content.NoMatch},
		{`{"subject":[{"wildcard":"orders.*.new"},{"exists":false}]}`, ``, content.Match},
		{`{"headers":{"Priority":["high"],"Tag":["b"]}}`, ``, content.Match},
		{`{"headers":{"priority":["high"]}}`, ``, content.NoMatch},
		{`{"headers":{"None":[{"exists":false}]}}`, ``, content.Match},
		{`{"headers":{"Tag":[{"exists":false}]}}`, ``, content.NoMatch},
		{`{"headers":{"Tag":[{"anything-but":"a"}]}}`, ``, content.Match},
		{`{"headers":{"Retries":[3]}}`, ``, content.Match},
		{`{"headers":{"Retries":["3"]}}`, ``, content.Match},
		{`{"headers":{"Retries":[{"numeric":["<",3]}]}}`, ``, content.NoMatch},
		{`{"headers":{"Retries":[{"anything-but":3}]}}`, ``, content.NoMatch},
		{`{"headers":{"Priority":[{"numeric":[">=",0]}]}}`, ``, content.NoMatch},
		{`{"headers":{"Odd":[{"numeric":[">=",0]}]}}`, ``, content.NoMatch},
		{`{"headers":{"$or":[{"Priority":["low"]},{"Retries":[3]}]}}`, ``, content.Match},
		{`{"headers":{"Priority":["high"]},"body":{"a":[1]}}`, `{"a":1}`, content.Match},
		{`{"headers":{"Priority":["high"]},"body":{"a":[1]}}`, `{"a":2}`, content.NoMatch},
		{`{"headers":{"Priority":["high"]},"body":{"a":[1]}}`, `no`, content.NotJSON},
		{`{"headers":{"Priority":["low"]},"body":{"a":[1]}}`, `no`, content.NoMatch},
		{`{"$or":[{"headers":{"Priority":["high"]}},{"body":{"a":[1]}}]}`, `no`, content.Match},
		{`{"$or":[{"headers":{"Priority":["low"]}},{"body":{"a":[1]}}]}`, `no`, content.NotJSON},
		{`{"$or":[{"body":{"b":[1]}},{"body":{"a":[1]}}]}`, `{"a":1}`, content.Match},
		{`{"body":{"subject":["x"]}}`, `{"subject":"x"}`, content.Match},
	}
	for _, tt := range tests {
		if got := compile(t, tt.pattern).Match("orders.eu.new", block, []byte(tt.body)); got != tt.want {
			t.Errorf("%s with %q: %v, want %v", tt.pattern, tt.body, got, tt.want)
		}
	}
	if got := compile(t, `{"headers":{"A":[{"exists":false}]}}`).Match("a", nil, nil); got != content.Match {
		t.Errorf("no headers at all: %v, want match", got)
	}
}

func TestNotJSON(t *testing.T) {
	f := compile(t, `{"a":[{"exists":false},1,{"anything-but":7}]}`)
	for _, body := range []string{
		``, ` `, `a`, `{`, `{"a":1`, `{"a":1}x`, `{"a":-}`, `{"a":tru}`, `{"a":"x}`, `{"a":1,"b":}`, `{'a':1}`, `{"a":01}`, `{"a":[1,]}`,
		strings.Repeat("[", 1_000_000), strings.Repeat(`{"a":`, 100_000), "\x00", "{\"a\":\"\n\"}",
	} {
		if got := f.Match("", nil, []byte(body)); got != content.NotJSON {
			t.Errorf("body %.40q: %v, want not JSON", body, got)
		}
	}
	if got := f.Match("", nil, []byte("{\"a\":\"\xff\"}")); got != content.Match {
		t.Errorf("a body that is not UTF-8: %v, want match", got)
	}
}

// TestHostile: texts that are long, and patterns made to be slow on them, cost no more than reading them.
func TestHostile(t *testing.T) {
	text := strings.Repeat("a", 1<<20)
	tests := []struct{ pattern, body string }{
		{`{"a":[{"wildcard":"` + strings.Repeat("a*", 1000) + `b"}]}`, `{"a":"` + text + `"}`},
		{`{"a":[{"wildcard":"*` + strings.Repeat("a", 1000) + `b*"}]}`, `{"a":"` + text + `"}`},
		{`{"a":[1]}`, `{"a":` + strings.Repeat("9", 1<<20) + `}`},
		{`{"a":[1]}`, `{"a":1e` + strings.Repeat("9", 1<<20) + `}`},
		{`{"a":[1e-99999999999999999999]}`, `{"a":1e-99999999999999999}`},
		{`{"a":["b"]}`, `{"a":"` + strings.Repeat(`\u0061`, 1<<18) + `"}`},
	}
	for _, tt := range tests {
		want := content.NoMatch
		if strings.Contains(tt.pattern, "-999") {
			want = content.Match // exponents end somewhere
		}
		if got := compile(t, tt.pattern).Match("", nil, []byte(tt.body)); got != want {
			t.Errorf("%.60s: %v, want %v", tt.pattern, got, want)
		}
	}
}

const event = `{"id":"6a7e8feb-b491-4cf7-a9f1-bf3703467718","type":"order.created","time":"2026-11-30T18:43:48Z","region":"eu-west-1",` +
	`"customer":{"id":48213,"name":"Ada Lovelace","tier":"gold","address":{"city":"London","zip":"SW1A 1AA"}},` +
	`"items":[{"sku":"A-100","qty":2,"price":19.99},{"sku":"B-200","qty":1,"price":249.5}],"total":289.48,"currency":"EUR",` +
	`"paid":true,"coupon":null,"tags":["priority","gift"],"notes":"leave at the door, ring twice, and do not bend the \"fragile\" one, please"}`

// patterns of the kinds that occur; all match the event.
func patterns() map[string]string {
	return map[string]string{
		"exact":    `{"type":["order.created"],"region":["eu-west-1"],"paid":[true]}`,
		"mixed":    `{"type":[{"prefix":"order."}],"customer":{"tier":["silver","gold"]},"total":[{"numeric":[">=",100]}],"coupon":[null]}`,
		"items":    `{"items":{"sku":[{"wildcard":"B-*"}],"price":[{"numeric":[">",200,"<",300]}]}}`,
		"fold":     `{"customer":{"name":[{"equals-ignore-case":"ADA LOVELACE"}]},"tags":["gift"]}`,
		"or":       `{"$or":[{"total":[{"numeric":[">",1000]}]},{"customer":{"tier":["gold"]}}],"notes":[{"anything-but":{"prefix":"test"}}]}`,
		"headers":  `{"headers":{"Priority":["high"]},"body":{"type":["order.created"]}}`,
		"subject":  `{"subject":[{"prefix":"orders."}]}`,
		"no field": `{"cancelled":[{"exists":false}]}`,
	}
}

func TestNoAllocation(t *testing.T) {
	block := headers.Build(headers.Field{Name: "Priority", Value: "high"})
	for title, pattern := range patterns() {
		f := compile(t, pattern)
		n := testing.AllocsPerRun(10, func() {
			if got := f.Match("orders.eu.new", block, []byte(event)); got != content.Match {
				t.Errorf("%s: %v, want match", title, got)
			}
		})
		if n > 1 { // the conversion of event
			t.Errorf("%s: %v allocations", title, n-1)
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	block := headers.Build(headers.Field{Name: "Priority", Value: "high"})
	body := []byte(event)
	for title, pattern := range patterns() {
		b.Run(title, func(b *testing.B) {
			f := compile(b, pattern)
			b.ReportAllocs()
			for b.Loop() {
				if f.Match("orders.eu.new", block, body) != content.Match {
					b.Fatal("no match")
				}
			}
		})
	}
}

func ExampleCompile() {
	filter, err := content.Compile(`{"type": ["order.created"], "customer": {"tier": ["gold"]}, "total": [{"numeric": [">=", 100]}]}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, body := range []string{
		`{"type": "order.created", "customer": {"tier": "gold"}, "total": 250}`,
		`{"type": "order.created", "customer": {"tier": "gold"}, "total": 99.99}`,
		`hello`,
	} {
		fmt.Println(filter.Match("orders.new", nil, []byte(body)))
	}
	// Output:
	// match
	// no match
	// not JSON
}

func ExampleCompile_errors() {
	for _, pattern := range []string{`{"status": "paid"}`, `{"total": [{"numeric": [">"]}]}`, `{"name": [{"prefx": "A"}]}`} {
		_, err := content.Compile(pattern)
		fmt.Println(err)
	}
	// Output:
	// not a content filter: status: needs an array of alternatives; got a string: write ["paid"]
	// not a content filter: total[0].numeric: needs an operator and a number, or two such pairs for a range, as in [">", 0, "<=", 5]; after ">" there is no number
	// not a content filter: name[0].prefx: there is no operator "prefx"; there are prefix, suffix, equals-ignore-case, wildcard, anything-but, numeric, exists, cidr
}
