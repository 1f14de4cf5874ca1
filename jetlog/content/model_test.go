package content_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"runnel/jetlog/content"
)

// TestModel compares with the plainest way to do it: trees of both, walked for each alternative.
func TestModel(t *testing.T) {
	for seed := range uint64(1000) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		pattern := randomPattern(rnd, 0)
		text, _ := json.Marshal(pattern)
		f := compile(t, string(text))
		for range 5 {
			body := randomValue(rnd, 0)
			data, _ := json.Marshal(body)
			want := content.NoMatch
			if naiveObject(decode(t, text).(map[string]any), decode(t, data)) {
				want = content.Match
			}
			if got := f.Match("", nil, data); got != want {
				t.Fatalf("seed %d: %s with %s: %v, want %v", seed, text, data, got, want)
			}
		}
	}
}

func decode(t *testing.T, data []byte) any {
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func pick[T any](rnd *rand.Rand, of ...T) T { return of[rnd.IntN(len(of))] }

func randomScalar(rnd *rand.Rand) any {
	return pick[any](rnd, "x", "xy", "yx", "X", "", 1, 2, json.Number("1.0"), json.Number("-2e0"), json.Number("0.1e1"), true, false, nil)
}

func randomValue(rnd *rand.Rand, depth int) any {
	switch n := rnd.IntN(10); {
	case depth < 4 && (n < 5 || depth == 0):
		object := map[string]any{}
		for range rnd.IntN(4) {
			object[pick(rnd, "a", "b", "c")] = randomValue(rnd, depth+1)
		}
		return object
	case depth < 4 && n < 7:
		array := []any{}
		for range rnd.IntN(3) {
			array = append(array, randomValue(rnd, depth+1))
		}
		return array
	}
	return randomScalar(rnd)
}

func randomPattern(rnd *rand.Rand, depth int) map[string]any {
	object := map[string]any{}
	for range 1 + rnd.IntN(2) {
		name := pick(rnd, "a", "b", "c", "$or")
		switch {
		case name == "$or" && depth < 3:
			object[name] = []any{randomPattern(rnd, depth+1), randomPattern(rnd, depth+1)}
		case name != "$or" && depth < 3 && rnd.IntN(2) == 0:
			object[name] = randomPattern(rnd, depth+1)
		default:
			object["a"] = randomChoices(rnd)
		}
	}
	return object
}

func randomChoices(rnd *rand.Rand) []any {
	var list []any
	for range 1 + rnd.IntN(2) {
		text := func() any { return pick[any](rnd, "x", "y", "xy", "X") }
		list = append(list, pick[any](
			rnd, randomScalar(rnd), map[string]any{"prefix": text()}, map[string]any{"suffix": text()},
			map[string]any{"equals-ignore-case": text()}, map[string]any{"wildcard": pick[any](rnd, "*", "x*", "*x", "x*y", "*y*")},
			map[string]any{"exists": rnd.IntN(2) == 0}, map[string]any{"numeric": []any{pick[any](rnd, "=", "<", "<=", ">", ">="), pick[any](rnd, 1, 2, -2)}},
			map[string]any{"numeric": []any{">=", -2, "<", 2}},
			map[string]any{"anything-but": []any{randomScalar(rnd), randomScalar(rnd)}},
			map[string]any{"anything-but": map[string]any{"prefix": []any{text(), text()}}},
			map[string]any{"anything-but": map[string]any{"wildcard": "*y"}},
		))
	}
	return list
}

// elements is a value, or the elements of an array and of arrays in it.
func elements(v any) []any {
	array, ok := v.([]any)
	if !ok {
		return []any{v}
	}
	var all []any
	for _, e := range array {
		all = append(all, elements(e)...)
	}
	return all
}

// naiveObject reports whether one of what v consists of has all fields of a pattern; nothing at all has none.
func naiveObject(pattern map[string]any, v any) bool {
	among := elements(v)
	if len(among) == 0 {
		among = []any{nil}
	}
	for _, e := range among {
		object, _ := e.(map[string]any)
		if naiveFields(pattern, object) {
			return true
		}
	}
	return false
}

func naiveFields(pattern, object map[string]any) bool {
	for name, want := range pattern {
		v, there := object[name]
		ok := false
		switch want := want.(type) {
		case map[string]any:
			ok = naiveObject(want, v)
		case []any:
			for _, one := range want {
				if name == "$or" {
					ok = ok || naiveFields(one.(map[string]any), object)
				} else {
					ok = ok || naiveChoice(one, v, there)
				}
			}
		}
		if !ok {
			return false
		}
	}
	return true
}

func naiveChoice(want, v any, there bool) bool {
	if op, ok := want.(map[string]any); ok && op["exists"] != nil {
		return op["exists"] == there
	}
	if !there {
		return false
	}
	for _, e := range elements(v) {
		if _, object := e.(map[string]any); !object && naiveScalar(want, e) {
			return true
		}
	}
	return false
}

func naiveScalar(want, v any) bool {
	op, ok := want.(map[string]any)
	if !ok {
		return equalScalars(want, v)
	}
	text, isText := v.(string)
	for name, operand := range op {
		switch name {
		case "prefix":
			return isText && strings.HasPrefix(text, operand.(string))
		case "suffix":
			return isText && strings.HasSuffix(text, operand.(string))
		case "equals-ignore-case":
			return isText && strings.EqualFold(text, operand.(string))
		case "wildcard":
			ok, _ := path.Match(operand.(string), text)
			return isText && ok
		case "numeric":
			return naiveNumeric(operand.([]any), v)
		case "anything-but":
			return !naiveAny(operand, v)
		}
	}
	panic(fmt.Sprint("no such operator: ", op))
}

// naiveAny reports whether v is one of what anything-but names.
func naiveAny(operand, v any) bool {
	name := ""
	if op, ok := operand.(map[string]any); ok {
		for n, inside := range op {
			name, operand = n, inside
		}
	}
	list, ok := operand.([]any)
	if !ok {
		list = []any{operand}
	}
	for _, one := range list {
		if name != "" {
			one = map[string]any{name: one}
		}
		if naiveScalar(one, v) {
			return true
		}
	}
	return false
}

func rational(v any) *big.Rat {
	n, ok := v.(json.Number)
	if !ok {
		return nil
	}
	r, _ := new(big.Rat).SetString(n.String())
	return r
}

func equalScalars(a, b any) bool {
	x, y := rational(a), rational(b)
	if x != nil && y != nil {
		return x.Cmp(y) == 0
	}
	return a == b
}

func naiveNumeric(pairs []any, v any) bool {
	n := rational(v)
	if n == nil {
		return false
	}
	for ; len(pairs) > 0; pairs = pairs[2:] {
		order := n.Cmp(rational(pairs[1]))
		ok := map[any]bool{"=": order == 0, "<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[pairs[0]]
		if !ok {
			return false
		}
	}
	return true
}

// TestNumbers compares the order of random numbers with that of big ones.
func TestNumbers(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	random := func() string {
		text := pick(rnd, "", "-") + pick(rnd, "0", "1", "10", "100", "12", "99", "123456789012345678901234567890")
		text += pick(rnd, "", "", ".0", ".5", ".10", ".001", ".000", ".99999999999999999999")
		return text + pick(rnd, "", "", "e0", "E1", "e+2", "e-2", "e-30", "e20")
	}
	for range 1000 {
		a, b := random(), random()
		want := content.NoMatch
		if rational(json.Number(b)).Cmp(rational(json.Number(a))) < 0 {
			want = content.Match
		}
		f := compile(t, `{"a":[{"numeric":["<",`+a+`]}]}`)
		if got := f.Match("", nil, []byte(`{"a":`+b+`}`)); got != want {
			t.Fatalf("%s < %s: %v, want %v", b, a, got, want)
		}
	}
}
