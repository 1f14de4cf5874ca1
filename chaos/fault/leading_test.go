package fault_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/chaos/fault"
	"runnel/chaos/process"
	"runnel/server/servertest"
)

// TestLead asks for all streams of a cluster, and tells of those that were refused.
func TestLead(t *testing.T) {
	s := servertest.Start(t, "")
	nc := servertest.Connect(t, s)
	url := strings.TrimPrefix(nc.ConnectedUrl(), "nats://")
	named, err := process.New(t.TempDir(), process.Config{Name: "n2", Client: url}, process.Program{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const names, down = "$JS.API.STREAM.NAMES", "$JS.API.STREAM.LEADER.STEPDOWN."
	tests := []struct {
		name    string
		answers map[string]string // by subject; nobody else answers
		streams int
		asked   []string // subjects and what was asked for
		errs    []string // what the error has; none: nil
	}{
		{"no streams", map[string]string{names: `{"streams":[]}`}, 0, []string{names + " "}, nil},
		{
			"some",
			map[string]string{names: `{"streams":["A","B"]}`, down + "A": `{"success":true}`, down + "B": `{"error":{"description":"is already leader"}}`},
			2,
			[]string{names + " ", down + `A {"placement":{"preferred":"n2"}}`, down + `B {"placement":{"preferred":"n2"}}`},
			[]string{down + "B: is already leader"},
		},
		{"nobody answers", nil, 0, nil, []string{names, "no responders"}},
		{"no list", map[string]string{names: `{"error":{"description":"not now"}}`}, 0, []string{names + " "}, []string{"not now"}},
		{"nonsense", map[string]string{names: `{`}, 0, []string{names + " "}, []string{"unexpected end of JSON"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			asked := make(chan string, 10)
			for subject, answer := range test.answers {
				sub, err := nc.Subscribe(subject, func(m *nats.Msg) {
					asked <- m.Subject + " " + string(m.Data)
					_ = m.Respond([]byte(answer)) // who asks notices
				})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = sub.Unsubscribe() }() // the connection ends with the test
			}
			if err := nc.Flush(); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			streams, err := fault.Lead(ctx, named)
			if streams != test.streams || (err != nil) != (len(test.errs) > 0) {
				t.Errorf("got %d streams and error %v, want %d and %q", streams, err, test.streams, test.errs)
			}
			for _, part := range test.errs {
				if err != nil && !strings.Contains(err.Error(), part) {
					t.Errorf("got error %v, want one with %q", err, part)
				}
			}
			close(asked)
			var got []string
			for text := range asked {
				got = append(got, text)
			}
			if !slices.Equal(got, test.asked) {
				t.Errorf("asked %q, want %q", got, test.asked)
			}
		})
	}
}

// Where nobody listens, nobody leads.
func TestLeadNobody(t *testing.T) {
	named, err := process.New(t.TempDir(), process.Config{Name: "n2", Client: "127.0.0.1:1"}, process.Program{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := fault.Lead(t.Context(), named); n != 0 || err == nil {
		t.Errorf("got %d streams, %v, want an error", n, err)
	}
}
