package document_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"runnel/jetlog/document"
)

// skip reports whether all of data is one value.
func skip(data string) bool {
	r := document.Read([]byte(data))
	r.Skip()
	return r.Done()
}

func TestGrammar(t *testing.T) {
	good := []string{
		`{}`, `[]`, `""`, `0`, `-0`, `10.25e-3`, `1E+9`, `true`, `false`, `null`, " \t\r\n{ } ",
		`{"a":1,"b":[1,2,{"c":null}],"":{}}`, `[[],[[]],{}]`, ` [ 1 , 2 ] `, `{ "a" : "b" }`,
		`"é\u00e9\n\"\\\/\b\f\r\t"`, "\"\x80\xff\"", `"\ud800"`, `"0123456789abcdef"`, "\"\x7f\"",
		strings.Repeat("[", document.DepthMax) + strings.Repeat("]", document.DepthMax),
	}
	for _, data := range good {
		if !skip(data) {
			t.Errorf("%.40q is not a document, want that it is", data)
		}
	}
	bad := []string{
		``, ` `, `{`, `}`, `[`, `]`, `{]`, `[}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{1:2}`, `{"a" 1}`, `{"a":1 "b":2}`, `{"a":1]`,
		`[1,]`, `[,1]`, `[1 2]`, `[1}`, `1 2`, `{} {}`, `01`, `-`, `-a`, `+1`, `.5`, `1.`, `1.e5`, `1e`, `1e+`, `1a`, `0x1`, `--1`, `NaN`,
		`tru`, `True`, `nul`, `nulll`, `falsey`, `"`, `"a`, `"a\"`, `"\x"`, `"\u12"`, `"\u12g4"`, `"\`, `"\u`, "\"a\nb\"", "\"\x00\"", "\"12345678\x1f\"",
		"\xef\xbb\xbf{}", "{}\x00", "'a'", "[1\v]",
		strings.Repeat("[", document.DepthMax+1) + strings.Repeat("]", document.DepthMax+1),
		strings.Repeat("[", 10_000_000), strings.Repeat(`{"a":`, 1_000_000),
	}
	for _, data := range bad {
		if skip(data) {
			t.Errorf("%.40q is a document, want that it is none", data)
		}
	}
}

func TestText(t *testing.T) {
	tests := []struct{ data, want string }{
		{`""`, ""},
		{`"plain"`, "plain"},
		{`"a\"b\\c\/d"`, `a"b\c/d`},
		{`"\b\f\n\r\t"`, "\b\f\n\r\t"},
		{`"\u00e9\u20AC"`, "é€"},
		{`"\ud83d\ude00!"`, "😀!"},
		{`"\ud83d"`, "\ufffd"},
		{`"\ud83d\u0041"`, "\ufffdA"},
		{`"\ude00\ud83d"`, "\ufffd\ufffd"},
		{`"\ud83dx"`, "\ufffdx"},
		{"\"\xff\\n\"", "\xff\n"},
	}
	for _, tt := range tests {
		r := document.Read([]byte(tt.data))
		text := r.Text()
		if got := string(text.Bytes(nil)); got != tt.want || !r.Done() {
			t.Errorf("text %s is %q, want %q", tt.data, got, tt.want)
		}
		if got := string(text.Append([]byte("x"))); got != "x"+tt.want {
			t.Errorf("text %s appended to x is %q", tt.data, got)
		}
		if !text.Is(tt.want) || text.Is(tt.want+"x") || text.Is("other") {
			t.Errorf("text %s is not %q alone", tt.data, tt.want)
		}
	}
}

func TestKind(t *testing.T) {
	tests := map[string]document.Kind{
		`{}`: document.Object, `[]`: document.Array, `"a"`: document.String, `-1`: document.Number, ` 7`: document.Number,
		`true`: document.True, `false`: document.False, `null`: document.Null, `x`: document.None, ``: document.None, `]`: document.None,
	}
	for data, want := range tests {
		r := document.Read([]byte(data))
		if got := r.Kind(); got != want {
			t.Errorf("kind of %q: %d, want %d", data, got, want)
		}
	}
}

// TestError: the first error stays, whatever is asked afterwards, and its place is known.
func TestError(t *testing.T) {
	tests := []struct {
		title string
		data  string
		read  func(r *document.Reader)
		at    int
	}{
		{"not an object", `[1]`, func(r *document.Reader) { r.Enter(document.Object) }, 0},
		{"not an array", `{}`, func(r *document.Reader) { r.Enter(document.Array) }, 0},
		{"not a text", ` 1`, func(r *document.Reader) { r.Text() }, 1},
		{"not a scalar", ` []`, func(r *document.Reader) { r.Scalar() }, 1},
		{"no colon", `{"a" 1}`, func(r *document.Reader) { r.Enter(document.Object); r.Key() }, 5},
		{"no comma", `[1 2]`, func(r *document.Reader) { r.Enter(document.Array); r.Skip(); r.Next(document.Array) }, 3},
		{"in the depth", `{"a":[1,tru]}`, func(r *document.Reader) { r.Skip() }, 8},
	}
	for _, tt := range tests {
		r := document.Read([]byte(tt.data))
		tt.read(&r)
		if !r.Failed() || r.Offset() != tt.at {
			t.Errorf("%s: failed %v at %d, want at %d", tt.title, r.Failed(), r.Offset(), tt.at)
		}
		r.Skip()
		r.Enter(document.Array)
		if r.Next(document.Array) || r.Kind() != document.None || len(r.Key().Bytes(nil)) > 0 || r.Scalar() != nil || r.Done() || r.Offset() != tt.at {
			t.Errorf("%s: something is read after the error", tt.title)
		}
	}
}

// TestCopy: a copy of a Reader moves by itself.
func TestCopy(t *testing.T) {
	r := document.Read([]byte(`[[1,2],3]`))
	r.Enter(document.Array)
	again := r
	r.Skip()
	again.Enter(document.Array)
	if got := string(again.Scalar()); got != "1" {
		t.Errorf("the copy reads %s, want 1", got)
	}
	if !r.Next(document.Array) || string(r.Scalar()) != "3" {
		t.Error("the original has been moved")
	}
}

func TestNoAllocation(t *testing.T) {
	data := []byte(event)
	n := testing.AllocsPerRun(100, func() {
		r := document.Read(data)
		for more := r.Enter(document.Object); more; more = r.Next(document.Object) {
			r.Key().Is("customer")
			r.Skip()
		}
		if !r.Done() {
			t.Error("not a document")
		}
	})
	if n != 0 {
		t.Errorf("reading allocates %v times", n)
	}
}

// tree builds what encoding/json would build, with numbers as they are written.
func tree(r *document.Reader) any {
	switch r.Kind() {
	case document.Object:
		object := map[string]any{}
		for more := r.Enter(document.Object); more; more = r.Next(document.Object) {
			key := string(r.Key().Bytes(nil))
			object[key] = tree(r)
		}
		return object
	case document.Array:
		array := []any{}
		for more := r.Enter(document.Array); more; more = r.Next(document.Array) {
			array = append(array, tree(r))
		}
		return array
	case document.String:
		return string(r.Text().Bytes(nil))
	case document.Number:
		return json.Number(r.Scalar())
	case document.Null:
		r.Scalar()
		return nil
	}
	return string(r.Scalar()) == "true"
}

// FuzzReader compares with encoding/json, which reads the same grammar.
func FuzzReader(f *testing.F) {
	f.Add([]byte(event))
	for _, seed := range []string{`{"a":[1,-2.5e+3,true,false,null,"x\u00e9\ud83d\ude00\n"],"a":{}}`, `[[[[`, `"\ud800\u0041"`, `{"a":1,}`, `01`, "\"\xff\""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) > document.DepthMax {
			t.Skip()
		}
		valid := skip(string(data))
		if want := json.Valid(data); valid != want {
			t.Fatalf("%q: valid %v, want %v", data, valid, want)
		}
		if !valid || !utf8.Valid(data) {
			return // encoding/json replaces what is not UTF-8
		}
		r := document.Read(data)
		got := tree(&r)
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.UseNumber()
		var want any
		if err := decoder.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if !r.Done() || fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
			t.Fatalf("%q: read %#v, want %#v", data, got, want)
		}
	})
}

const event = `{"id":"6a7e8feb-b491-4cf7-a9f1-bf3703467718","type":"order.created","time":"2026-11-30T18:43:48Z","region":"eu-west-1",` +
	`"customer":{"id":48213,"name":"Ada Lovelace","tier":"gold","address":{"city":"London","zip":"SW1A 1AA"}},` +
	`"items":[{"sku":"A-100","qty":2,"price":19.99},{"sku":"B-200","qty":1,"price":249.5}],"total":289.48,"currency":"EUR",` +
	`"paid":true,"coupon":null,"tags":["priority","gift"],"notes":"leave at the door, ring twice, and do not bend the \"fragile\" one"}`

func BenchmarkSkip(b *testing.B) {
	data := []byte(event)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		r := document.Read(data)
		r.Skip()
		if !r.Done() {
			b.Fatal("not a document")
		}
	}
}

func ExampleRead() {
	r := document.Read([]byte(`{"order": {"id": "A-17"}, "total": 12.50}`))
	for more := r.Enter(document.Object); more; more = r.Next(document.Object) {
		if key := r.Key(); key.Is("total") {
			fmt.Printf("total is %s\n", r.Scalar())
		} else {
			r.Skip()
		}
	}
	fmt.Println(r.Done())
	// Output:
	// total is 12.50
	// true
}
