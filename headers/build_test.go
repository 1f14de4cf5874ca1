package headers_test

import (
	"fmt"
	"testing"

	"runnel/headers"
)

func TestBuild(t *testing.T) {
	tests := []struct {
		title string
		got   []byte
		want  string
	}{
		{"no field", headers.Build(), "NATS/1.0\r\n\r\n"},
		{
			"fields", headers.Build(headers.Field{Name: "a", Value: "1"}, headers.Field{Name: "B", Value: ""}),
			"NATS/1.0\r\na: 1\r\nB: \r\n\r\n",
		},
		{"line break in a value", headers.Build(headers.Field{Name: "A", Value: "1\r\nB: 2\n3"}), "NATS/1.0\r\nA: 1 B: 2 3\r\n\r\n"},
		{"line break in a name", headers.Build(headers.Field{Name: "A\r\nB", Value: "1"}), "NATS/1.0\r\nA B: 1\r\n\r\n"},
		{"status", headers.Status(100, "Idle Heartbeat"), "NATS/1.0 100 Idle Heartbeat\r\n\r\n"},
		{"status without description", headers.Status(204, ""), "NATS/1.0 204\r\n\r\n"},
		{
			"status with a field", headers.Status(503, "", headers.Field{Name: "Nats-Subject", Value: "a.b"}),
			"NATS/1.0 503\r\nNats-Subject: a.b\r\n\r\n",
		},
		{"line break in a description", headers.Status(500, "a\r\nb"), "NATS/1.0 500 a b\r\n\r\n"},
	}
	for _, tt := range tests {
		if string(tt.got) != tt.want {
			t.Errorf("%s: %q, want %q", tt.title, tt.got, tt.want)
		}
		if !headers.Valid(tt.got) {
			t.Errorf("%s: %q is not valid", tt.title, tt.got)
		}
	}
}

func TestStatusOf(t *testing.T) {
	tests := []struct {
		block       string
		code        int
		description string
	}{
		{"NATS/1.0 503\r\n\r\n", 503, ""},
		{"NATS/1.0 100 Idle Heartbeat\r\nA: b\r\n\r\n", 100, "Idle Heartbeat"},
		{"NATS/1.0  404   No Messages\r\n\r\n", 404, "No Messages"},
		{"NATS/1.0 503", 0, ""}, // not a block
		{"NATS/1.0\r\nA: b\r\n\r\n", 0, ""},
		{"NATS/1.0 50\r\n\r\n", 0, ""},
		{"NATS/1.0 5034\r\n\r\n", 0, ""},
		{"NATS/1.0 5x3 what\r\n\r\n", 0, ""},
		{"NATS/1.0503\r\n\r\n", 0, ""},
		{"HTTP/1.1 503\r\n\r\n", 0, ""},
		{"", 0, ""},
	}
	for _, tt := range tests {
		if code, description := headers.StatusOf([]byte(tt.block)); code != tt.code || description != tt.description {
			t.Errorf("StatusOf(%q) = %d, %q, want %d, %q", tt.block, code, description, tt.code, tt.description)
		}
	}
}

func TestChange(t *testing.T) {
	const (
		empty  = "NATS/1.0\r\n\r\n"
		three  = "NATS/1.0\r\nA: 1\r\nB: 2\r\nA: 3\r\n\r\n"
		status = "NATS/1.0 408 Gone\r\nA: 1\r\n\r\n"
	)
	set := func(b []byte) []byte { return headers.Set(b, "A", "x") }
	add := func(b []byte) []byte { return headers.Add(b, "A", "x") }
	del := func(b []byte) []byte { return headers.Delete(b, "A") }
	tests := []struct {
		title  string
		change func([]byte) []byte
		block  string
		want   string
	}{
		{"set in place of all", set, three, "NATS/1.0\r\nA: x\r\nB: 2\r\n\r\n"},
		{"set a new one", set, empty, "NATS/1.0\r\nA: x\r\n\r\n"},
		{"set keeps a status", set, status, "NATS/1.0 408 Gone\r\nA: x\r\n\r\n"},
		{"set without a block", set, "", "NATS/1.0\r\nA: x\r\n\r\n"},
		{"set in something else", set, "HTTP/1.1\r\nB: 1\r\n\r\n", "NATS/1.0\r\nA: x\r\n\r\n"},
		{"set leaves other names alone", set, "NATS/1.0\r\nAA: 1\r\na: 2\r\n\r\n", "NATS/1.0\r\nAA: 1\r\na: 2\r\nA: x\r\n\r\n"},
		{"set in an unfinished block", set, "NATS/1.0\r\nB: 1\r\nC: 2", "NATS/1.0\r\nB: 1\r\nA: x\r\n\r\n"},
		{"add another", add, three, "NATS/1.0\r\nA: 1\r\nB: 2\r\nA: 3\r\nA: x\r\n\r\n"},
		{"add the first", add, empty, "NATS/1.0\r\nA: x\r\n\r\n"},
		{"add without a block", add, "", "NATS/1.0\r\nA: x\r\n\r\n"},
		{"add to an unfinished block", add, "NATS/1.0\r\nB: 1", "NATS/1.0\r\nA: x\r\n\r\n"},
		{"add keeps odd spacing", add, "NATS/1.0 \r\nB:  1 \r\n\r\n", "NATS/1.0 \r\nB:  1 \r\nA: x\r\n\r\n"},
		{"add drops what follows the end", add, "NATS/1.0\r\nB: 1\r\n\r\nC: 2\r\n", "NATS/1.0\r\nB: 1\r\nA: x\r\n\r\n"},
		{"delete all of a name", del, three, "NATS/1.0\r\nB: 2\r\n\r\n"},
		{"delete the last field", del, "NATS/1.0\r\nA: 1\r\n\r\n", ""},
		{"delete keeps a status", del, status, "NATS/1.0 408 Gone\r\n\r\n"},
		{"delete from nothing", del, "", ""},
	}
	for _, tt := range tests {
		if got := tt.change([]byte(tt.block)); string(got) != tt.want {
			t.Errorf("%s: %q, want %q", tt.title, got, tt.want)
		}
	}
}

func ExampleGet() {
	block := []byte("NATS/1.0\r\nNats-Msg-Id: 4711\r\n\r\n")
	id, ok := headers.Get(block, "Nats-Msg-Id")
	fmt.Printf("%s %v\n", id, ok)
	_, ok = headers.Get(block, "nats-msg-id") // names are compared exactly
	fmt.Println(ok)
	// Output:
	// 4711 true
	// false
}

func ExampleStatus() {
	block := headers.Status(503, "", headers.Field{Name: "Nats-Subject", Value: "orders.new"})
	fmt.Printf("%q\n", block)
	// Output:
	// "NATS/1.0 503\r\nNats-Subject: orders.new\r\n\r\n"
}
