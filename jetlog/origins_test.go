package jetlog_test

import (
	"bytes"
	"testing"

	"runnel/headers"
	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/origin"
)

// from returns a message of a source, behind another one of it.
func from(previous uint64, source string) *command.Publish {
	return &command.Publish{
		Time: 5, Subject: "s", Internal: true, Sourced: true, Previous: previous,
		Header: headers.Build(headers.Field{Name: "Nats-Stream-Source", Value: source}),
	}
}

func TestOrigins(t *testing.T) {
	key := origin.Key("A", ">", ">")
	tests := []struct {
		name  string
		steps []*command.Publish
		want  []config.Code
		key   string
		at    origin.Position
	}{
		{
			"one follows the other",
			[]*command.Publish{from(0, "A 3 > > a id"), from(3, "A 7 > > a id")},
			[]config.Code{0, 0},
			key,
			origin.Position{Sequence: 7, Identity: "id"},
		},
		{
			"one is missing",
			[]*command.Publish{from(0, "A 3 > > a id"), from(4, "A 7 > > a id")},
			[]config.Code{0, config.BadRequest},
			key,
			origin.Position{Sequence: 3, Identity: "id"},
		},
		{
			"a stream that was made anew",
			[]*command.Publish{from(0, "A 3 > > a id"), from(0, "A 1 > > a other")},
			[]config.Code{0, 0},
			key,
			origin.Position{Sequence: 1, Identity: "other"},
		},
		{
			"the identity becomes known",
			[]*command.Publish{from(0, "A 3 > > a"), from(3, "A 4 > > a id")},
			[]config.Code{0, 0},
			key,
			origin.Position{Sequence: 4, Identity: "id"},
		},
		{
			"an old header",
			[]*command.Publish{from(0, "A 3"), from(3, "A 4")},
			[]config.Code{0, 0},
			key,
			origin.Position{Sequence: 4},
		},
		{
			"filters tell sources apart",
			[]*command.Publish{from(0, "A 3 x > x id"), from(0, "A 1 y z y id")},
			[]config.Code{0, 0},
			origin.Key("A", "y", "z"),
			origin.Position{Sequence: 1, Identity: "id"},
		},
		{
			"no number", []*command.Publish{from(0, "A x > > a id")}, []config.Code{config.BadRequest}, key, origin.Position{},
		},
		{
			"no header",
			[]*command.Publish{{Time: 5, Subject: "s", Internal: true, Sourced: true}},
			[]config.Code{config.BadRequest},
			key,
			origin.Position{},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, m := jetlog.New(1, unlimited(), 1), jetlog.NewMemory()
			for i, c := range tt.steps {
				r, err := s.Apply(c, m)
				if err != nil || r.Code != tt.want[i] {
					t.Fatalf("message %d: got %+v, %v, want code %d", i, r, err, tt.want[i])
				}
			}
			got := s.Origin(tt.key)
			if got.Sequence != tt.at.Sequence || got.Identity != tt.at.Identity {
				t.Errorf("got %+v, want %+v", got, tt.at)
			}
			form := s.AppendSnapshot(nil)
			again, err := jetlog.Restore(form)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(again.AppendSnapshot(nil), form) || again.Origin(tt.key) != got {
				t.Errorf("restored: got %+v, want %+v", again.Origin(tt.key), got)
			}
		})
	}
}

// TestOriginOfRefused sees that a message that is refused for ever does not stand in the way of the next, and one
// for which there is only no room does.
func TestOriginOfRefused(t *testing.T) {
	cfg := unlimited()
	cfg.MaxMessageBytes = 60
	s, m := jetlog.New(1, cfg, 1), jetlog.NewMemory()
	large := from(0, "A 1 > > a id")
	large.Payload = make([]byte, 100)
	if r, err := s.Apply(large, m); err != nil || r.Code != config.MessageTooLarge {
		t.Fatalf("got %+v, %v", r, err)
	}
	if r, err := s.Apply(from(1, "A 2 > > a id"), m); err != nil || r.Code != 0 {
		t.Fatalf("the next one: got %+v, %v", r, err)
	}
	cfg.MaxMessages, cfg.Discard = 1, config.DiscardNew
	mustApply(t, s, m, &command.Configure{Time: 6, Config: cfg})
	if r, err := s.Apply(from(2, "A 3 > > a id"), m); err != nil || r.Code != config.StoreFailed {
		t.Fatalf("a full stream: got %+v, %v", r, err)
	}
	if got := s.Origin(origin.Key("A", ">", ">")); got.Sequence != 2 {
		t.Errorf("got %+v, want sequence 2", got)
	}
}

// TestOriginsOfCopy sees that a mirror knows how far its origin was with its sources, and what a purge leaves.
func TestOriginsOfCopy(t *testing.T) {
	s, m := jetlog.New(1, unlimited(), 1), jetlog.NewMemory()
	header := func(value string) []byte {
		return headers.Build(headers.Field{Name: "Nats-Stream-Source", Value: value})
	}
	mustApply(t, s, m, &command.Copy{Time: 2, From: 1, Messages: []command.Copied{
		{Sequence: 4, Time: 2, Subject: "s", Header: header("A 3 > > a id")},
		{Sequence: 5, Time: 2, Subject: "s", Header: header("A 9 > > a id")},
	}})
	mustApply(t, s, m, &command.Purge{Time: 3})
	if got := s.Origin(origin.Key("A", ">", ">")); got.Sequence != 9 || got.Identity != "id" {
		t.Errorf("got %+v", got)
	}
}
