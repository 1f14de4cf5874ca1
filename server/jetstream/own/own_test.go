package own_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"runnel/server/jetstream/api"
	"runnel/server/jetstream/clustered"
	"runnel/server/jetstream/own"
)

// gatherer counts, and tells what it was given.
func gatherer(missing *[]string) *own.Gatherer {
	return &own.Gatherer{
		Part: func(c *own.Call) (any, error) {
			if c.Decode != nil {
				return nil, c.Decode(nil)
			}
			return len(c.Streams), nil
		},
		Join: func(c *own.Call, parts []json.RawMessage, absent []string) (api.Answer, error) {
			*missing = absent
			return &api.PlainAnswer{Success: fmt.Sprintf("%s", parts) == "[1 2]" && len(c.Names) == 3}, nil
		},
	}
}

// TestGather joins what servers have told, and says of which streams nobody has.
func TestGather(t *testing.T) {
	var missing []string
	g := gatherer(&missing)
	replies := []*clustered.Reply{
		{Part: json.RawMessage("1"), Names: []string{"B"}}, {}, {Part: json.RawMessage("2"), Names: []string{"A", "gone"}},
	}
	names := []string{"C", "A", "B"}
	a, err := g.Answer(&own.Call{}, replies, names)
	if plain, ok := a.(*api.PlainAnswer); err != nil || !ok || !plain.Success {
		t.Errorf("got %+v, %v", a, err)
	}
	if !slices.Equal(missing, []string{"C"}) || names[0] != "C" {
		t.Errorf("missing: got %v of %v", missing, names)
	}
	refusal := api.NewError(api.InvalidJSON, "no")
	if _, err := g.Answer(&own.Call{}, []*clustered.Reply{{Error: refusal}}, nil); !errors.Is(err, refusal) {
		t.Errorf("got %v, want the refusal of a server", err)
	}
}

// TestReply makes the part of a server.
func TestReply(t *testing.T) {
	g := gatherer(new([]string))
	if r, err := g.Reply(&own.Call{}); err != nil || string(r.Part) != "0" || r.Names != nil {
		t.Errorf("got %+v, %v", r, err)
	}
	wrong := errors.New("wrong")
	if r, err := g.Reply(&own.Call{Decode: func(any) error { return wrong }}); !errors.Is(err, wrong) {
		t.Errorf("got %+v, %v", r, err)
	}
	g.Part = func(*own.Call) (any, error) { return make(chan int), nil }
	if r, err := g.Reply(&own.Call{}); err == nil {
		t.Errorf("what is no JSON: got %+v", r)
	}
}
