package events_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"runnel/jetlog"
	"runnel/server/accounts"
	"runnel/server/engine"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/events"
)

// outlet gives what is published to the test, until that ends.
type outlet struct {
	published chan string
	ended     <-chan struct{}
}

func (o *outlet) Publish(a *accounts.Account, subject, _ string, _, payload []byte) int {
	select {
	case o.published <- a.Name() + " " + subject + " " + string(payload):
	case <-o.ended:
	}
	return 1
}
func (*outlet) Flush() {}
func (*outlet) Close() {}

// world has an account A, a system account that may be missing, and events in domain D.
type world struct {
	a, system *accounts.Account
	events    *events.Events
	published chan string
}

func newWorld(t *testing.T, system bool) *world {
	t.Helper()
	registry := accounts.NewRegistry()
	policy, err := registry.Compile(accounts.Config{Accounts: []accounts.AccountConfig{{Name: "A"}, {Name: "SYS"}}, SystemAccount: "SYS"})
	if err != nil {
		t.Fatal(err)
	}
	registry.Activate(policy)
	w := &world{a: policy.Account("A"), published: make(chan string, 100)}
	if system {
		w.system = policy.System()
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.events = events.New(events.Config{
		Outlet: func() events.Outlet { return &outlet{w.published, ctx.Done()} }, System: func() *accounts.Account { return w.system },
		Server: "n1", Domain: "D", Clock: func() time.Time { return time.Unix(1, 0) },
	})
	var running sync.WaitGroup
	running.Go(func() { w.events.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return w
}

// listen subscribes to events.
func listen(a *accounts.Account, pattern string) {
	a.Interest().Insert(&accounts.NewSubscription(nil, pattern, "", "1").Entry)
}

// TestEvents publishes what somebody listens to, in order, and nothing else.
func TestEvents(t *testing.T) {
	w := newWorld(t, true)
	tell := func() {
		w.events.StreamAction(w.a, "S", api.ActionCreate)
		w.events.ConsumerAction(w.a, "S", "c", api.ActionDelete)
		w.events.ConsumerPause(w.a, "S", "c", &api.PauseAnswer{Paused: true, Until: time.Unix(9, 0).UTC()})
		w.events.BatchAbandoned(w.a, "S", "b", "timeout")
		w.events.Withdrawn(w.a, "S", &jetlog.Withdrawn{Consumer: "c", Sequence: 5})
		w.events.SnapshotCreated(w.a, "S", nil, &api.StreamState{Messages: 3})
		w.events.SnapshotComplete(w.a, "S", nil, time.Unix(0, 0), errors.New("no more"))
		w.events.RestoreCreated(w.a, "S", nil)
		w.events.RestoreComplete(w.a, "S", nil, time.Unix(0, 0), 77, nil)
		w.events.Audit(&engine.Message{Payload: []byte("{}")}, w.a, "$JS.API.INFO", []byte("answer"))
		w.events.System(&api.APILimitReached{Server: "n1", Dropped: 2, Domain: "D"})
	}
	tell() // to nobody
	listen(w.a, "$JS.EVENT.>")
	listen(w.system, ">")
	tell()
	for _, want := range []string{
		`A $JS.EVENT.ADVISORY.STREAM.CREATED.S "stream":"S" "action":"create" "domain":"D"`,
		`A $JS.EVENT.ADVISORY.CONSUMER.DELETED.S.c "action":"delete"`,
		`A $JS.EVENT.ADVISORY.CONSUMER.PAUSE.S.c "paused":true 1970-01-01T00:00:09Z`,
		`A $JS.EVENT.ADVISORY.STREAM.BATCH_ABANDONED. "batch":"b" "reason":"timeout"`,
		`A $JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.S.c "stream_seq":5`,
		`A $JS.EVENT.ADVISORY.STREAM.SNAPSHOT_CREATE.S "messages":3`,
		`A $JS.EVENT.ADVISORY.STREAM.SNAPSHOT_COMPLETE.S "no more"`,
		`A $JS.EVENT.ADVISORY.STREAM.RESTORE_CREATE.S "stream":"S"`,
		`A $JS.EVENT.ADVISORY.STREAM.RESTORE_COMPLETE.S "bytes":77`,
		`A $JS.EVENT.ADVISORY.API "server":"n1" "$JS.API.INFO" answer`,
		`SYS $JS.EVENT.ADVISORY.API.LIMIT_REACHED "dropped":2`,
	} {
		got := <-w.published
		words := strings.Fields(want)
		if !strings.HasPrefix(got, words[0]+" "+words[1]) {
			t.Errorf("got %s, want %s", got, want)
		}
		for _, word := range words[2:] {
			word = strings.Trim(word, `"`)
			if !strings.Contains(got, word) {
				t.Errorf("got %s, want %s in it", got, word)
			}
		}
	}
	if len(w.published) > 0 {
		t.Errorf("more is published: %s", <-w.published)
	}
}

// TestNoSystemAccount: nobody is told where there is no system account.
func TestNoSystemAccount(t *testing.T) {
	w := newWorld(t, false)
	w.events.System(&api.APILimitReached{})
	listen(w.a, ">")
	w.events.StreamAction(w.a, "S", api.ActionModify)
	if got := <-w.published; !strings.Contains(got, "STREAM.UPDATED.S") {
		t.Errorf("got %s", got)
	}
}

// TestTooMany: who tells does not wait, whatever becomes of what it tells.
func TestTooMany(t *testing.T) {
	w := newWorld(t, true)
	listen(w.a, ">")
	for range 10_000 { // of which some may be dropped
		w.events.StreamAction(w.a, "S", api.ActionCreate)
	}
	for range 100 {
		<-w.published
	}
}
