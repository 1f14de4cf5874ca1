package headers_test

import (
	"bytes"
	"iter"
	"slices"
	"strings"
	"testing"

	"runnel/headers"
)

const sample = "NATS/1.0\r\n" +
	"Nats-Msg-Id: first\r\n" +
	"X-Nats-Msg-Id: suffix\r\n" +
	"Nats-Msg-Id-X: prefix\r\n" +
	"nats-msg-id: lower\r\n" +
	"Nats-Msg-Id:second\r\n" +
	"Blank: \t  text with: colon \r\n" +
	"Empty:\r\n" +
	"\r\n"

func TestGet(t *testing.T) {
	tests := []struct {
		title, block, name, want string
		ok                       bool
	}{
		{"first of two", sample, "Nats-Msg-Id", "first", true},
		{"other case", sample, "nats-msg-id", "lower", true},
		{"case that is not there", sample, "NATS-MSG-ID", "", false},
		{"longer name", sample, "X-Nats-Msg-Id", "suffix", true},
		{"suffix of a name", sample, "Msg-Id", "", false},
		{"prefix of a name", sample, "Nats-Msg", "", false},
		{"value is no name", sample, "first", "", false},
		{"blanks", sample, "Blank", "text with: colon ", true},
		{"empty value", sample, "Empty", "", true},
		{"no name", sample, "", "", false},
		{"name in a value", "NATS/1.0\r\nA: B: c\r\n\r\n", "B", "", false},
		{"after a line break of one byte", "NATS/1.0\r\nA: x\nB: c\r\n\r\n", "B", "", false},
		{"line break of one byte in a value", "NATS/1.0\r\nA: x\nB: c\r\n\r\n", "A", "x\nB: c", true},
		{"blank before the colon", "NATS/1.0\r\nA : x\r\n\r\n", "A", "", false},
		{"with a status", "NATS/1.0 503 No\r\nA: x\r\n\r\n", "A", "x", true},
		{"in the first line", "NATS/1.0 A: x\r\n\r\n", "NATS/1.0 A", "", false},
		{"after the end", "NATS/1.0\r\n\r\nA: x\r\n\r\n", "A", "", false},
		{"no empty line", "NATS/1.0\r\nA: x\r\n", "A", "x", true},
		{"unfinished line", "NATS/1.0\r\nA: x", "A", "", false},
		{"other version", "HTTP/1.1\r\nA: x\r\n\r\n", "A", "", false},
		{"nothing", "", "A", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.title, func(t *testing.T) {
			got, ok := headers.Get([]byte(tt.block), tt.name)
			if string(got) != tt.want || ok != tt.ok {
				t.Errorf("Get(%q, %q) = %q, %v, want %q, %v", tt.block, tt.name, got, ok, tt.want, tt.ok)
			}
		})
	}
}

func TestGetDoesNotAllocate(t *testing.T) {
	block := []byte(sample)
	allocs := testing.AllocsPerRun(100, func() {
		headers.Get(block, "Empty")
		headers.Get(block, "missing")
		for range headers.Values(block, "Nats-Msg-Id") {
			continue
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations, want 0", allocs)
	}
}

func TestValues(t *testing.T) {
	if got, want := collect(headers.Values([]byte(sample), "Nats-Msg-Id")), []string{"first", "second"}; !slices.Equal(got, want) {
		t.Errorf("Values = %q, want %q", got, want)
	}
	for value := range headers.Values([]byte(sample), "Nats-Msg-Id") {
		if string(value) != "first" {
			t.Errorf("first value %q", value)
		}
		break
	}
	if got := collect(headers.Values([]byte(sample), "none")); got != nil {
		t.Errorf("Values of a name that is not there = %q", got)
	}
}

func TestAll(t *testing.T) {
	block := "NATS/1.0 100 x\r\nA: 1\r\nno field\r\n: no name\r\nA:2\r\nB: x: y\r\n\r\nC: 3\r\n"
	if got, want := pairs([]byte(block)), []string{"A=1", "A=2", "B=x: y"}; !slices.Equal(got, want) {
		t.Errorf("All = %q, want %q", got, want)
	}
	for name := range headers.All([]byte(block)) {
		if string(name) != "A" {
			t.Errorf("first name %q", name)
		}
		break
	}
}

func TestValid(t *testing.T) {
	tests := []struct {
		block string
		want  bool
	}{
		{sample, true},
		{"NATS/1.0\r\n\r\n", true},
		{"NATS/1.0 503\r\n\r\n", true},
		{"NATS/1.0 100 Idle Heartbeat\r\nA: b\r\n\r\n", true},
		{"NATS/1.0 \r\n\r\n", true},
		{"", false},
		{"NATS/1.0", false},
		{"NATS/1.0\r\n", false},
		{"NATS/1.0\r\nA: b\r\n", false},
		{"NATS/1.0\r\nA: b\r\n\r\nmore", false},
		{"NATS/1.0\r\nno field\r\n\r\n", false},
		{"NATS/1.0\r\n: x\r\n\r\n", false},
		{"NATS/1.0 50\r\n\r\n", false},
		{"NATS/1.0 what\r\n\r\n", false},
		{"NATS/1.0503\r\n\r\n", false},
		{"NATS/2.0\r\n\r\n", false},
		{"nats/1.0\r\n\r\n", false},
		{"NATS/1.0\n\n", false},
	}
	for _, tt := range tests {
		if got := headers.Valid([]byte(tt.block)); got != tt.want {
			t.Errorf("Valid(%q) = %v, want %v", tt.block, got, tt.want)
		}
	}
}

// FuzzHeaders changes arbitrary bytes and checks what must then hold.
func FuzzHeaders(f *testing.F) {
	f.Add([]byte(sample), "Nats-Msg-Id", "x")
	f.Add([]byte("NATS/1.0 503\r\nA: b\r\nA: c\r\n\r\n"), "A", "a\r\nB: c")
	f.Add([]byte("NATS/1.0\r\nA: b"), "A", "")
	f.Add([]byte("NATS/1.0\r\n\r\n\r\n"), "B", " ")
	f.Add([]byte("no block"), "B", "\r\r\n\n")
	f.Add([]byte("NATS/1.0\r\n\xff: \xfe\r\n\r\n"), "\xff", "\xff")
	f.Fuzz(func(t *testing.T, block []byte, name, value string) {
		if name == "" || strings.ContainsAny(name, ":\r\n") {
			return
		}
		before := bytes.Clone(block)
		others := except(pairs(block), name)
		number := len(collect(headers.Values(block, name)))
		code, description := headers.StatusOf(block)
		valid := headers.Valid(block)
		want := strings.TrimLeft(headersLine(value), " \t")

		set := headers.Set(block, name, value)
		if got := collect(headers.Values(set, name)); len(got) != 1 || got[0] != want {
			t.Errorf("after Set the values are %q, want only %q", got, want)
		}
		added := headers.Add(block, name, value)
		if got := collect(headers.Values(added, name)); len(got) != number+1 || got[number] != want {
			t.Errorf("after Add the values are %q, want %q as one more than %d", got, want, number)
		}
		deleted := headers.Delete(block, name)
		if _, ok := headers.Get(deleted, name); ok {
			t.Errorf("after Delete it is there: %q", deleted)
		}
		for _, out := range [][]byte{set, added, deleted} {
			if got := except(pairs(out), name); !slices.Equal(got, others) {
				t.Errorf("other fields are %q, want %q", got, others)
			}
			if c, d := headers.StatusOf(out); c != code || d != description {
				t.Errorf("status is %d %q, want %d %q", c, d, code, description)
			}
			if valid && out != nil && !headers.Valid(out) {
				t.Errorf("%q was valid and became %q", block, out)
			}
		}
		if !bytes.Equal(block, before) {
			t.Errorf("the input changed from %q to %q", before, block)
		}
	})
}

// headersLine is value as one line.
func headersLine(value string) string {
	for _, end := range []string{"\r\n", "\r", "\n"} {
		value = strings.ReplaceAll(value, end, " ")
	}
	return value
}

func collect(values iter.Seq[[]byte]) []string {
	var out []string
	for value := range values {
		out = append(out, string(value))
	}
	return out
}

func pairs(block []byte) []string {
	var out []string
	for name, value := range headers.All(block) {
		out = append(out, string(name)+"="+string(value))
	}
	return out
}

// except drops the pairs of a name.
func except(pairs []string, name string) []string {
	return slices.DeleteFunc(pairs, func(p string) bool { return strings.HasPrefix(p, name+"=") })
}

func BenchmarkGet(b *testing.B) {
	block := []byte("NATS/1.0\r\nTraceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n" +
		"Content-Type: application/json\r\nNats-Expected-Stream: ORDERS\r\nNats-Msg-Id: 4711\r\n\r\n")
	for _, name := range []string{"Nats-Msg-Id", "Nats-Rollup"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				headers.Get(block, name)
			}
		})
	}
}

func BenchmarkSet(b *testing.B) {
	block := []byte(sample)
	b.ReportAllocs()
	for b.Loop() {
		headers.Set(block, "Nats-Msg-Id", "third")
	}
}
