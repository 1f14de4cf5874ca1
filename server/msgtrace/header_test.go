package msgtrace_test

import (
	"bytes"
	"strings"
	"testing"

	"runnel/headers"
	"runnel/server/msgtrace"
)

// block makes a header block of lines.
func block(lines ...string) []byte {
	return []byte("NATS/1.0\r\n" + strings.Join(append(lines, ""), "\r\n") + "\r\n")
}

func TestDestination(t *testing.T) {
	tests := []struct {
		name    string
		header  []byte
		subject string
		only    bool
	}{
		{"none", nil, "", false},
		{"other", block("A: b"), "", false},
		{"asked", block("A: b", "Nats-Trace-Dest: t.d"), "t.d", false},
		{"blanks", block("Nats-Trace-Dest:   t.d  "), "t.d", false},
		{"empty", block("Nats-Trace-Dest:"), "", false},
		{"disabled", block("Nats-Trace-Dest: trace disabled"), "", false},
		{"first counts", block("Nats-Trace-Dest: a", "Nats-Trace-Dest: b"), "a", false},
		{"names are exact", block("nats-trace-dest: a"), "", false},
		{"in a value", block("A: Nats-Trace-Dest: a"), "", false},
		{"only true", block("Nats-Trace-Dest: a", "Nats-Trace-Only: true"), "a", true},
		{"only 1", block("Nats-Trace-Only: 1", "Nats-Trace-Dest: a"), "a", true},
		{"only On", block("Nats-Trace-Only: On", "Nats-Trace-Dest: a"), "a", true},
		{"only false", block("Nats-Trace-Dest: a", "Nats-Trace-Only: false"), "a", false},
		{"only yes", block("Nats-Trace-Dest: a", "Nats-Trace-Only: yes"), "a", false},
		{"only alone", block("Nats-Trace-Only: true"), "", false},
	}
	for _, tt := range tests {
		subject, only := msgtrace.Destination(tt.header)
		if subject != tt.subject || only != tt.only {
			t.Errorf("%s: got %q, %v; want %q, %v", tt.name, subject, only, tt.subject, tt.only)
		}
		if subject != "" && !msgtrace.Mentioned(tt.header) {
			t.Errorf("%s: not mentioned", tt.name)
		}
	}
}

func TestSampled(t *testing.T) {
	const id = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-"
	for value, want := range map[string]bool{
		id + "01": true, id + "03": true, id + "0f": true, id + "FF": true, id + "00": false, id + "02": false, id + "0e": false,
		id + "1": false, id + "": false, id + "0g": false, id + "01-x": false, "xx-01": false, "": false,
		"00-0af7651916cd43dd8448eb211c80319c-01": false, strings.ReplaceAll(id, "a", "z") + "01": false, " " + id + "01 ": true,
	} {
		for _, name := range []string{"traceparent", "TraceParent"} {
			if got := msgtrace.Sampled(block("A: b", name+": "+value)); got != want {
				t.Errorf("%s: %q: got %v, want %v", name, value, got, want)
			}
		}
	}
	if msgtrace.Sampled(block("tracestate: " + id + "01")) {
		t.Error("another header counts")
	}
}

func TestDisable(t *testing.T) {
	header := block("A: b", "Nats-Trace-Dest: x", "C: d", "Nats-Trace-Dest: y")
	got := msgtrace.Disable(header)
	if want := block("A: b", "Nats-Trace-Dest: trace disabled", "C: d"); !bytes.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := msgtrace.Disable(block("A: b")); !bytes.Equal(got, block("A: b")) {
		t.Errorf("got %q", got)
	}
}

// FuzzHeader checks that whatever a header says, who asks is found, and nobody is asked any more once that is disabled.
func FuzzHeader(f *testing.F) {
	for _, header := range [][]byte{
		nil, block(), block("Nats-Trace-Dest: a", "Nats-Trace-Only: 1"), block("traceparent: 00-a-b-01"), []byte("Nats-Trace-Dest:"),
		[]byte("NATS/1.0\r\nNats-Trace-Dest: x"), []byte("NATS/1.0 503\r\nNats-Trace-Dest: x\r\n\r\n"),
	} {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header []byte) {
		before := bytes.Clone(header)
		subject, only := msgtrace.Destination(header)
		if subject == "" && only || subject != "" && !msgtrace.Mentioned(header) {
			t.Fatalf("%q: %q, %v", header, subject, only)
		}
		msgtrace.Sampled(header)
		disabled := msgtrace.Disable(header)
		if left, _ := msgtrace.Destination(disabled); left != "" {
			t.Fatalf("%q: still asks for %q", disabled, left)
		}
		if headers.Valid(header) && !headers.Valid(disabled) {
			t.Fatalf("%q became %q", header, disabled)
		}
		if !bytes.Equal(header, before) {
			t.Fatal("the header was changed")
		}
		trace := msgtrace.New(header, len(header), only, func(*msgtrace.Trace) {})
		trace.Release()
		kept := 0
		for name, values := range trace.Report().Request.Header {
			for _, v := range values {
				kept += len(name) + len(v)
			}
		}
		if kept > len(header) {
			t.Fatalf("%d bytes of %d are shown", kept, len(header))
		}
	})
}

func BenchmarkMentioned(b *testing.B) {
	header := block("Nats-Msg-Id: 0123456789", "Content-Type: application/json", "X-Request-Id: 7c0e5c1e-3f5b-4f3a-9d53-1d7d8b1d3a11")
	b.ReportAllocs()
	for b.Loop() {
		if msgtrace.Mentioned(header) {
			b.Fatal("mentioned")
		}
	}
}
