package store_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/store"
)

// together are commands of which each needs the one before.
func together() []command.Command {
	return []command.Command{
		&command.ConsumerCreate{Time: 100, Config: config.Consumer{Name: "c", Durable: "c", Ack: config.AckExplicit}},
		&command.Deliver{Time: 101, Consumer: "c", Incarnation: 1, From: 7},
		&command.ConsumerDelete{Time: 102, Consumer: "c"},
		&command.ConsumerDelete{Time: 103, Consumer: "c"},
	}
}

// outcomes notes what it hears.
type outcomes struct {
	codes []config.Code
	errs  []error
}

func (o *outcomes) done(r jetlog.Result, err error) {
	o.codes, o.errs = append(o.codes, r.Code), append(o.errs, err)
}

// TestStartTogether: commands that are started together are carried out one after the other, in one entry.
func TestStartTogether(t *testing.T) {
	g := newGroup(t, unlimited("S"), 3)
	defer g.close()
	before := g.index
	var o outcomes
	if err := g.members[0].stream.StartTogether(context.Background(), together(), o.done); err != nil {
		t.Fatal(err)
	}
	if got := g.index - before; got != 1 {
		t.Errorf("%d entries, want 1", got)
	}
	want := []config.Code{0, config.BadRequest, 0, config.ConsumerNotFound}
	if !slices.Equal(o.codes, want) || !slices.Equal(o.errs, make([]error, 4)) {
		t.Errorf("codes %v, errors %v, want codes %v", o.codes, o.errs, want)
	}
	g.agree("in the end")
}

// TestStartTogetherUnknown: who started commands together hears of each that it is not known what became of it, though
// they are carried out.
func TestStartTogetherUnknown(t *testing.T) {
	g := newGroup(t, unlimited("S"), 3)
	defer g.close()
	g.pack = 2
	var o outcomes
	stream := g.members[0].stream
	if err := stream.StartTogether(context.Background(), together()[:1], o.done); err != nil {
		t.Fatal(err)
	}
	g.packed[0].Fail(store.ErrLeadershipLost)
	g.commit()
	if len(o.errs) != 1 || !errors.Is(o.errs[0], store.ErrLeadershipLost) {
		t.Errorf("errors %v, want one: %v", o.errs, store.ErrLeadershipLost)
	}
	err := stream.View(func(s *jetlog.Stream, _ jetlog.Messages) error {
		if s.Consumer("c") == nil {
			t.Error("what was committed is not carried out")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	g.agree("in the end")
}

// TestStartTogetherRefused: where nobody takes them, none is started.
func TestStartTogetherRefused(t *testing.T) {
	g := newGroup(t, unlimited("S"), 2)
	defer g.close()
	alone, err := g.members[0].store.Create("A", unlimited("T"))
	if err != nil {
		t.Fatal(err)
	}
	var o outcomes
	if err := g.members[1].stream.StartTogether(context.Background(), together(), o.done); !errors.Is(err, store.ErrNotLeader) {
		t.Errorf("got %v, want %v", err, store.ErrNotLeader)
	}
	if err := alone.StartTogether(context.Background(), together(), o.done); err == nil {
		t.Error("a stream without a group takes them")
	}
	if len(o.errs) != 0 {
		t.Errorf("%d answers", len(o.errs))
	}
}
