package system_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"runnel/server/monitor"
	"runnel/server/system"
)

// world is a system with everything around it, inside a synctest bubble.
type world struct {
	t       testing.TB
	bus     *fakeBus
	source  *fakeSource
	actions *fakeActions
	system  *system.System
	log     *bytes.Buffer
	stop    func() // ends Run and waits for it
}

// inWorld runs a test with a system that is running.
func inWorld(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.stop()
		test(w)
	})
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, bus: &fakeBus{}, source: newSource(), actions: &fakeActions{}, log: &bytes.Buffer{}}
	w.system = system.New(system.Config{
		Bus: w.bus, Pages: monitor.New(w.source), Actions: w.actions, Logger: slog.New(slog.NewTextHandler(w.log, nil)),
	})
	if err := w.system.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		w.system.Run(ctx)
		close(done)
	}()
	w.stop = func() {
		cancel()
		<-done
	}
	return w
}

// ask sends a request of a user of the account and returns the replies.
func (w *world) ask(account, subject, body string) []message {
	w.t.Helper()
	return w.askWith(account, subject, body, nil)
}

func (w *world) askWith(account, subject, body string, header []byte) []message {
	w.t.Helper()
	w.bus.request(account, system.Request{
		Subject: subject, Reply: "_INBOX.1", Header: header, Payload: []byte(body),
		Requester: system.Requester{CID: 7, Account: account, User: "ann"},
	})
	synctest.Wait()
	var replies []message
	for _, m := range w.bus.take() {
		if m.subject != "_INBOX.1" {
			continue
		}
		if m.account != account {
			w.t.Errorf("%s: the reply went to account %s, want %s", subject, m.account, account)
		}
		replies = append(replies, m)
	}
	return replies
}

// answer is the envelope as clients decode it.
type answer struct {
	Server *system.ServerInfo `json:"server"`
	Data   json.RawMessage    `json:"data"`
	Statsz json.RawMessage    `json:"statsz"`
	Error  *struct {
		Code        int    `json:"code"`
		Description string `json:"description"`
	} `json:"error"`
}

// one asks and decodes the only reply.
func (w *world) one(account, subject, body string) (answer, string) {
	w.t.Helper()
	replies := w.ask(account, subject, body)
	if len(replies) != 1 {
		w.t.Fatalf("%s %s: got %d replies, want 1", subject, body, len(replies))
	}
	var a answer
	text := string(replies[0].payload)
	if err := json.Unmarshal(replies[0].payload, &a); err != nil && !strings.Contains(subject, "SUBS") {
		w.t.Fatalf("%s: reply %s: %v", subject, text, err)
	}
	return a, text
}

// published returns what was published on subjects that contain part, since the last look.
func (w *world) published(part string) []message {
	var list []message
	for _, m := range w.bus.take() {
		if strings.Contains(m.subject, part) {
			list = append(list, m)
		}
	}
	return list
}
