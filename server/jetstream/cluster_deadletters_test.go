package jetstream_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestClusterDeadLetterCircle refuses consumers whose dead letters would come back, wherever the streams on the way are led. With one of these
// without a leader nobody knows, and the consumer is made: its messages find out.
func TestClusterDeadLetterCircle(t *testing.T) {
	w := newWorld(t, 3)
	nc := w.connect()
	for _, name := range []string{"A", "B", "C"} {
		w.must(nc, "STREAM.CREATE."+name, fmt.Sprintf(`{"name":%q,"subjects":[%q],"num_replicas":3}`, name, name), nil)
	}
	add := func(stream, target string) reply {
		t.Helper()
		return w.ask(nc, "CONSUMER.CREATE."+stream+".c", fmt.Sprintf(
			`{"stream_name":%q,"config":{"durable_name":"c","ack_policy":"explicit","metadata":{"runnel.dead_letter":%q}}}`, stream, target))
	}
	for i, name := range []string{"A", "B", "C"} {
		w.group(name).elect(i)
	}
	for stream, target := range map[string]string{"A": "B", "B": "C"} {
		if r := add(stream, target); r.code != 0 {
			t.Fatalf("%s into %s: got %d %s", stream, target, r.code, r.text)
		}
	}
	for range 3 {
		r := add("C", "A")
		if r.code != 11010 || !strings.Contains(r.text, "A.c into B, B.c into C") {
			t.Errorf("C into A: got %d %s", r.code, r.text)
		}
		if r := add("A", "B"); r.code != 0 {
			t.Errorf("A into B once more: got %d %s", r.code, r.text)
		}
		for _, name := range []string{"A", "B", "C"} {
			g := w.group(name)
			g.elect((g.leads() + 1) % 3)
		}
	}
	w.group("B").elect(nobody)
	if r := add("C", "A"); r.code != 0 {
		t.Errorf("C into A, while nobody leads B: got %d %s", r.code, r.text)
	}
}
