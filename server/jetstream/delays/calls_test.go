package delays_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/delays"
	"runnel/server/jetstream/delivery"
	"runnel/server/jetstream/own"
)

// kept returns a call about a companion that has so many messages that wait, of three subjects, and one that is due.
func kept(t *testing.T, n int) *own.Call {
	t.Helper()
	s, _, err := store.Open(store.Config{FS: vfs.NewMemory(), Dir: "/data", ScrubBytes: -1, ReserveBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	cfg, err := delays.ConfigOf(&config.Stream{Name: "S", Replicas: 1}).Normalized(config.Limits{}, false)
	if err != nil {
		t.Fatal(err)
	}
	log, err := s.Create("A", cfg)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	c := &own.Call{Context: t.Context(), Stream: own.Stream{Log: log, Deliver: new(delivery.Stream)}, Now: now}
	for i := range n {
		at := now.Add(time.Duration(i+1) * time.Hour)
		subject, header := delays.Wrap("S", fmt.Sprint("id", i), fmt.Sprint("s.", i%3), block("Nats-Msg-Id", fmt.Sprint("m", i)), at)
		publish(t, c, &command.Publish{Time: now.UnixNano(), Subject: subject, Header: header, Payload: []byte("body"), Fire: at.UnixNano()})
	}
	publish(t, c, &command.Publish{Time: now.UnixNano(), Subject: "$RUNNEL.DELAYED.S.due.s.0", Header: block("Nats-Msg-Id", "due"), Payload: []byte("body")})
	return c
}

func publish(t *testing.T, c *own.Call, p *command.Publish) {
	t.Helper()
	if r, err := c.Stream.Log.Propose(t.Context(), p); err != nil || r.Code != 0 {
		t.Fatalf("publish: %+v, %v", r, err)
	}
}

// asks makes a call with a body.
func asks(c *own.Call, handler own.Handler, body string) (api.Answer, int) {
	c.Decode = func(into any) error { return json.Unmarshal([]byte(body), into) }
	a, err := handler(c)
	var refusal *api.Error
	if errors.As(err, &refusal) {
		return nil, refusal.ErrCode
	}
	if err != nil {
		return nil, -1
	}
	return a, 0
}

// TestCalls looks at a companion, and takes out of it what is asked for, and nothing else.
func TestCalls(t *testing.T) {
	c := kept(t, 9)
	list := func(body string) *api.DelayListAnswer {
		t.Helper()
		a, code := asks(c, delays.List, body)
		if code != 0 {
			t.Fatalf("list %s: error %d", body, code)
		}
		return a.(*api.DelayListAnswer)
	}
	l := list(`{}`)
	if len(l.Delayed) != 10 || l.Messages != 10 || l.First == nil || !l.First.Equal(c.Now.Add(time.Hour)) {
		t.Fatalf("got %+v", l)
	}
	want := api.Delayed{
		Sequence: 2, Subject: "s.1", ID: "m1", State: "waiting", At: c.Now.Add(2 * time.Hour).UTC(), Time: time.Unix(0, c.Now.UnixNano()).UTC(),
		Size: len(block("Nats-Msg-Id", "m1")) + 4,
	}
	if got := l.Delayed[1]; !got.At.Equal(want.At) || got.Size != want.Size || got.Time != want.Time || got.Subject != want.Subject || got.State != want.State || got.ID != want.ID {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := l.Delayed[9]; got.State != "due" || got.Subject != "s.0" || got.ID != "due" || got.Sequence != 10 {
		t.Errorf("due: got %+v", got)
	}
	for body, want := range map[string]int{
		`{"limit":4}`: 4, `{"seq":8}`: 3, `{"filter":{"subject":"s.0"}}`: 4, `{"filter":{"subject":">","id":"m3"}}`: 1, `{"filter":{"subject":"s"}}`: 0,
	} {
		if got := len(list(body).Delayed); got != want {
			t.Errorf("list %s: got %d, want %d", body, got, want)
		}
	}
	for _, step := range []struct {
		body       string
		code, want int
	}{
		{`{"seq":10}`, 11062, 0},
		{`{"seq":11}`, 11062, 0},
		{`{}`, 11062, 0},
		{`{"filter":{"subject":"a..b"}}`, 11062, 0},
		{`{"filter":{"subject":"s.0"},"dry_run":true,"due":true}`, 0, 4},
		{`{"filter":{"subject":"s.0"},"from":4}`, 0, 2},
		{`{"seq":1}`, 0, 1},
		{`{"seq":1}`, 11062, 0},
		{`{"all":true}`, 0, 6},
		{`{"all":true,"due":true}`, 0, 1},
	} {
		a, code := asks(c, delays.Cancel, step.body)
		if code != step.code || code == 0 && a.(*api.DelayCancelAnswer).Cancelled != step.want {
			t.Errorf("cancel %s: got error %d, %+v, want %d, %d", step.body, code, a, step.code, step.want)
		}
	}
	if got := list(`{}`); got.Messages != 0 || got.First != nil {
		t.Errorf("in the end: got %+v", got)
	}
}

// TestCallsLarge goes on where an answer has ended, since one call looks at so many only.
func TestCallsLarge(t *testing.T) {
	c := kept(t, 300)
	seen, next := 0, uint64(1)
	for next != 0 {
		a, code := asks(c, delays.List, fmt.Sprintf(`{"seq":%d}`, next))
		if code != 0 {
			t.Fatal(code)
		}
		seen, next = seen+len(a.(*api.DelayListAnswer).Delayed), a.(*api.DelayListAnswer).Next
	}
	if seen != 301 {
		t.Errorf("%d were listed, want 301", seen)
	}
}

// TestCallsOfNothing: nothing was delayed for the stream yet.
func TestCallsOfNothing(t *testing.T) {
	c := &own.Call{Context: t.Context()}
	if a, code := asks(c, delays.List, `{}`); code != 0 || a.(*api.DelayListAnswer).Messages != 0 {
		t.Errorf("got %+v, %d", a, code)
	}
	if a, code := asks(c, delays.Cancel, `{"all":true}`); code != 0 || a.(*api.DelayCancelAnswer).Cancelled != 0 {
		t.Errorf("got %+v, %d", a, code)
	}
	if _, code := asks(c, delays.Cancel, `{"seq":1}`); code != 11062 {
		t.Errorf("got %d", code)
	}
}

// TestFollow has a companion be as its target is, and stay as it is otherwise.
func TestFollow(t *testing.T) {
	target := &config.Stream{Name: "S", Replicas: 3, DuplicateWindow: time.Minute, Placement: &config.Placement{Tags: []string{"ssd"}}}
	companion := delays.ConfigOf(target)
	for _, c := range []struct {
		name   string
		change func(target, companion *config.Stream)
		want   bool
	}{
		{"nothing", func(*config.Stream, *config.Stream) {}, false},
		{"what does not matter", func(t, _ *config.Stream) { t.MaxMessages = 5 }, false},
		{"what somebody wants of the companion", func(_, c *config.Stream) { c.Description = "mine" }, false},
		{"replicas", func(t, _ *config.Stream) { t.Replicas = 5 }, true},
		{"placement", func(t, _ *config.Stream) { t.Placement = &config.Placement{Tags: []string{"ssd", "eu"}} }, true},
		{"no placement", func(t, _ *config.Stream) { t.Placement = nil }, true},
		{"ids", func(t, _ *config.Stream) { t.DuplicateWindow = time.Hour }, true},
		{"a stream that only has the name", func(t, c *config.Stream) { t.Replicas, c.Metadata = 5, nil }, false},
	} {
		changed, kept := *target, companion
		c.change(&changed, &kept)
		follows, differs := delays.Follow(&kept, &changed)
		if differs != c.want || differs && (follows.Replicas != changed.Replicas || follows.DuplicateWindow != changed.DuplicateWindow || follows.Placement != changed.Placement ||
			follows.Name != kept.Name || follows.Storage != kept.Storage) {
			t.Errorf("%s: got %v, %+v", c.name, differs, follows)
		}
	}
	if _, differs := delays.Follow(nil, target); differs {
		t.Error("there is none")
	}
}

// TestTarget is the reverse of Companion.
func TestTarget(t *testing.T) {
	if got := delays.Target(delays.Companion("S")); got != "S" {
		t.Errorf("got %q", got)
	}
}
