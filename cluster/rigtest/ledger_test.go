package rigtest_test

import (
	"slices"
	"strings"
	"testing"

	"runnel/cluster/rigtest"
)

// told is a ledger in which two writers were told of three messages and wait for one more.
func told() *rigtest.Ledger {
	l := rigtest.NewLedger()
	for i, m := range []rigtest.Message{{"a", 1}, {"b", 1}, {"a", 2}} {
		l.Try(m)
		l.Ack(m, uint64(i+1))
	}
	l.Try(rigtest.Message{Writer: "a", N: 3})
	return l
}

func TestLedgerCheck(t *testing.T) {
	tests := []struct {
		name   string
		stream []string // bodies, from sequence 1 on; empty: nothing there
		want   []string // how findings begin, in order
	}{
		{"as told", []string{"a 1", "b 1", "a 2"}, nil},
		{"stored though nobody was told", []string{"a 1", "b 1", "a 2", "a 3"}, nil},
		{"lost at the end", []string{"a 1", "b 1"}, []string{`lost: "a 2" was acknowledged as 3`}},
		{"lost in the middle", []string{"a 1", "", "a 2"}, []string{"gap: sequence 3 comes after 1", `lost: "b 1"`}},
		{"moved", []string{"a 1", "a 2", "b 1"}, []string{`moved: "a 2" was acknowledged as 3 and is at 2`, `moved: "b 1"`}},
		{"twice", []string{"a 1", "b 1", "a 2", "b 1"}, []string{`twice: "b 1" is at 2 and at 4`}},
		{"out of order", []string{"a 2", "b 1", "a 1"}, []string{`moved: "a 1"`, `moved: "a 2"`, `order: "a 1" at 3 comes after 2`}},
		{"never published", []string{"a 1", "b 1", "a 2", "b 2"}, []string{`alien: "b 2" at 4 was not published`}},
		{"of somebody else", []string{"a 1", "b 1", "a 2", "hello"}, []string{`alien: at 4: "hello" is not a message of this load`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stream []rigtest.Stored
			for i, text := range tt.stream {
				if text != "" {
					stream = append(stream, rigtest.Stored{Sequence: uint64(i + 1), Text: text})
				}
			}
			wantFindings(t, told().Check(stream), tt.want)
		})
	}
}

// wantFindings compares findings, in the order of their texts, with their beginnings.
func wantFindings(t *testing.T, got, want []string) {
	t.Helper()
	slices.Sort(got)
	if len(got) != len(want) {
		t.Fatalf("got %q, want %d findings", got, len(want))
	}
	for i, begin := range want {
		if !strings.HasPrefix(got[i], begin) {
			t.Errorf("got %q, want %q", got[i], begin)
		}
	}
}

// Two acknowledgements of one message name the same sequence.
func TestLedgerContradiction(t *testing.T) {
	l := told()
	l.Ack(rigtest.Message{Writer: "b", N: 1}, 2)
	l.Ack(rigtest.Message{Writer: "b", N: 1}, 4)
	got := l.Check([]rigtest.Stored{{1, "a 1"}, {2, "b 1"}, {3, "a 2"}})
	wantFindings(t, got, []string{`"b 1" was acknowledged as 2 and as 4`, `moved: "b 1" was acknowledged as 4 and is at 2`})
}

// A broken stream does not make a test print all of it.
func TestLedgerTellsSome(t *testing.T) {
	l := rigtest.NewLedger()
	for n := 1; n <= 1000; n++ {
		m := rigtest.Message{Writer: "a", N: n}
		l.Try(m)
		l.Ack(m, uint64(n))
	}
	got := l.Check(nil)
	if len(got) != 11 || got[10] != "lost: 990 more" {
		t.Errorf("got %d findings, the last %q, want 11 with a count of the others", len(got), got[len(got)-1])
	}
}

func TestParseMessage(t *testing.T) {
	tests := []struct {
		text string
		want rigtest.Message
		ok   bool
	}{
		{"a 1", rigtest.Message{Writer: "a", N: 1}, true},
		{"n1-0 17", rigtest.Message{Writer: "n1-0", N: 17}, true},
		{"a 7    ", rigtest.Message{Writer: "a", N: 7}, true},
		{"", rigtest.Message{}, false},
		{"a", rigtest.Message{}, false},
		{" 1", rigtest.Message{}, false},
		{"a 0", rigtest.Message{}, false},
		{"a -1", rigtest.Message{}, false},
		{"a 1 2", rigtest.Message{}, false},
	}
	for _, tt := range tests {
		got, err := rigtest.ParseMessage(tt.text)
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("%q: got %v, %v, want %v", tt.text, got, err, tt.want)
		}
		if err == nil && got.String() != strings.TrimSpace(tt.text) {
			t.Errorf("%q: got %q back", tt.text, got)
		}
	}
}
