package workload_test

import (
	"strings"
	"testing"

	"runnel/chaos/workload"
)

func TestBodies(t *testing.T) {
	for _, c := range []struct {
		value string
		size  int
		bytes int
	}{
		{"1-1", 0, 4}, {"1-1", 4, 4}, {"1-1", 5, 5}, {"1-1", 64, 64}, {"12345-67890", 7, 12}, {"0-1", 100_000, 100_000},
	} {
		b := workload.Body(c.value, c.size)
		if len(b) != c.bytes {
			t.Errorf("body of %q for %d bytes: got %d bytes, want %d", c.value, c.size, len(b), c.bytes)
		}
		if got := workload.ParseBody(b); got != c.value {
			t.Errorf("body of %q for %d bytes: got %q back", c.value, c.size, got)
		}
	}
}

func TestDamagedBodies(t *testing.T) {
	whole := workload.Body("12-345", 60)
	damage := func(change func([]byte) []byte) []byte { return change(append([]byte(nil), whole...)) }
	for _, c := range []struct {
		name string
		data []byte
	}{
		{"nothing", nil},
		{"a value alone", []byte("12-345")},
		{"one bit in the padding", damage(func(b []byte) []byte { b[50] ^= 1; return b })},
		{"one bit in the value", damage(func(b []byte) []byte { b[0] ^= 1; return b })},
		{"zeros at the end", damage(func(b []byte) []byte { return append(b[:40], make([]byte, 20)...) })},
		{"another value behind", damage(func(b []byte) []byte { return append(b[:35], workload.Body("12-346", 25)...) })},
		{"leading zeros", []byte("012-3 ")},
		{"a sign", []byte("+1-2 ")},
		{"below zero", []byte("1--2 ")},
		{"text", []byte("hello world ")},
		{"long text", []byte(strings.Repeat("x", 1000))},
	} {
		got := workload.ParseBody(c.data)
		if workload.IsValue(got) {
			t.Errorf("%s: got the value %q", c.name, got)
		}
		if len(got) > 300 {
			t.Errorf("%s: got a text of %d bytes", c.name, len(got))
		}
	}
}

func FuzzParseBody(f *testing.F) {
	for _, text := range []string{"", "1-1 ", "1-1 1-1 1", "1-1 1-2 ", "12-3", "a-b ", "1-1  ", "99999999999999999999-1 "} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := workload.ParseBody(data)
		if workload.IsValue(got) && string(workload.Body(got, len(data))) != string(data) {
			t.Errorf("%q was taken for a body of %q", data, got)
		}
	})
}
