package system_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"runnel/server/monitor"
	"runnel/server/system"
)

var update = flag.Bool("update", false, "write the golden files anew")

func client() monitor.Connection {
	return monitor.Connection{
		CID: 102, IP: "127.0.0.1", Port: 5000, Start: epoch.Add(-time.Second), User: "a", Account: "A", Name: "cli",
		Lang: "go", Version: "1.53.1", RTT: 326 * time.Microsecond,
		Traffic: monitor.ConnectionTraffic{InMsgs: 1, InBytes: 10, OutMsgs: 2, OutBytes: 20},
	}
}

// TestEventsGolden compares events with files, as the nats command decodes them.
func TestEventsGolden(t *testing.T) {
	closed := client()
	closed.Stop, closed.Reason = epoch, "Client Closed"
	stranger := monitor.Connection{CID: 103, IP: "127.0.0.1", Start: epoch, User: "eve", Type: "websocket"}
	refusedByService := stranger
	refusedByService.Account, refusedByService.Reason = "SYS", "refused by the service: go away"
	tests := []struct {
		name, subject string
		happen        func(*system.System)
	}{
		{"connect", "$SYS.ACCOUNT.A.CONNECT", func(s *system.System) { s.Connected(client()) }},
		{"conns", "$SYS.ACCOUNT.A.SERVER.CONNS", func(s *system.System) { s.Connected(client()) }},
		{"conns", "$SYS.SERVER.ACCOUNT.A.CONNS", func(s *system.System) { s.Connected(client()) }},
		{"disconnect", "$SYS.ACCOUNT.A.DISCONNECT", func(s *system.System) { s.Disconnected(closed) }},
		{"auth-error", "$SYS.SERVER.NABC.CLIENT.AUTH.ERR", func(s *system.System) { s.AuthError(stranger) }},
		{"auth-error-there", "$SYS.ACCOUNT.CLIENT.AUTH.ERR", func(s *system.System) { s.AuthErrorThere(refusedByService) }},
		{"lame-duck", "$SYS.SERVER.NABC.LAMEDUCK", (*system.System).LameDuck},
		{"shutdown", "$SYS.SERVER.NABC.SHUTDOWN", (*system.System).Goodbye},
	}
	for _, tt := range tests {
		inWorld(t, func(w *world) {
			tt.happen(w.system)
			synctest.Wait()
			got := w.published(tt.subject)
			if len(got) != 1 || got[0].account != "SYS" {
				t.Fatalf("%s: got %d messages on %s, want 1 in SYS", tt.name, len(got), tt.subject)
			}
			compareGolden(t, tt.name, got[0].payload)
		})
	}
}

func compareGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	got = regexp.MustCompile(`"id":"[0-9A-Za-z]{22}"`).ReplaceAll(got, []byte(`"id":"AN-IDENTIFIER"`))
	got = regexp.MustCompile(`"seq":\d+`).ReplaceAll(got, []byte(`"seq":0`))
	var b bytes.Buffer
	if err := json.Indent(&b, got, "", "  "); err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	b.WriteByte('\n')
	file := filepath.Join("testdata", name+".json")
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (run with -update to write it)", err)
	}
	if !bytes.Equal(b.Bytes(), want) {
		t.Errorf("%s differs from %s\ngot:\n%s\nwant:\n%s", name, file, b.Bytes(), want)
	}
}

// TestStatszInTime checks when a server that nothing happens to publishes its figures.
func TestStatszInTime(t *testing.T) {
	inWorld(t, func(w *world) {
		var at []time.Duration
		for range 48 {
			synctest.Wait()
			for range w.published(".STATSZ") {
				at = append(at, time.Since(epoch))
			}
			sleep(time.Second)
		}
		want := []time.Duration{1, 3, 7, 15, 25, 35, 45}
		if len(at) != len(want) {
			t.Fatalf("got %v, want seconds %v", at, want)
		}
		for i := range want {
			if at[i] != want[i]*time.Second {
				t.Errorf("got %v, want seconds %v", at, want)
			}
		}
	})
}

// TestStatszOnChange checks that a change is seen soon, and many changes not more than once a second.
func TestStatszOnChange(t *testing.T) {
	inWorld(t, func(w *world) {
		sleep(20 * time.Second)
		synctest.Wait()
		w.published("")
		sleep(time.Second) // the last were at 15 s
		w.system.Connected(client())
		sleep(time.Millisecond)
		synctest.Wait()
		if got := len(w.published(".STATSZ")); got != 1 {
			t.Errorf("got %d messages at once after a change, want 1", got)
		}
		for range 100 {
			w.system.Connected(client())
			w.system.Disconnected(client())
			sleep(30 * time.Millisecond)
		}
		synctest.Wait()
		if got := len(w.published(".STATSZ")); got < 2 || got > 3 {
			t.Errorf("got %d messages in 3 s of changes, want one a second", got)
		}
	})
}

func TestStatszContent(t *testing.T) {
	inWorld(t, func(w *world) {
		sleep(time.Second)
		synctest.Wait()
		got := w.published("$SYS.SERVER.NABC.STATSZ")
		if len(got) != 1 {
			t.Fatalf("got %d messages, want 1", len(got))
		}
		var a answer
		if err := json.Unmarshal(got[0].payload, &a); err != nil || a.Server.Name != "srv1" || !strings.Contains(string(a.Statsz), `"connections":3`) {
			t.Errorf("got %s %v", got[0].payload, err)
		}
	})
}

// TestConnsCoalesce checks that a burst of connections is summed up, and that accounts in use are published
// every 30 seconds.
func TestConnsCoalesce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.stop()
		for range 50 {
			w.system.Connected(client())
		}
		synctest.Wait()
		sent := w.bus.take()
		connects, conns := 0, 0
		for _, m := range sent {
			switch m.subject {
			case "$SYS.ACCOUNT.A.CONNECT":
				connects++
			case "$SYS.ACCOUNT.A.SERVER.CONNS":
				conns++
			}
		}
		if connects != 50 || conns < 1 || conns > 50 {
			t.Errorf("got %d connects and %d counts, want 50 and fewer", connects, conns)
		}
		sleep(31 * time.Second)
		synctest.Wait()
		var subjects []string
		for _, m := range w.published(".SERVER.CONNS") {
			subjects = append(subjects, m.subject)
		}
		if got, want := strings.Join(subjects, " "), "$SYS.ACCOUNT.A.SERVER.CONNS $SYS.ACCOUNT.SYS.SERVER.CONNS"; got != want {
			t.Errorf("after 31 s: got %s, want %s", got, want)
		}
	})
}

func TestOddAccountNames(t *testing.T) {
	inWorld(t, func(w *world) {
		for _, name := range []string{"a b", "", "x\r\nPING", "a..b", "\t"} {
			c := client()
			c.Account = name
			w.system.Connected(c)
			w.system.Disconnected(c)
		}
		synctest.Wait()
		if got := w.published("$SYS.ACCOUNT"); len(got) != 0 {
			t.Errorf("got %d messages, the first on %q, want none", len(got), got[0].subject)
		}
	})
}

func TestWithoutSystemAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus, source := &fakeBus{}, newSource()
		source.identity.SystemAccount = ""
		s := system.New(system.Config{Bus: bus, Pages: monitor.New(source), Actions: &fakeActions{}})
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			s.Run(ctx)
			close(done)
		}()
		s.Connected(client())
		s.LameDuck()
		bus.request("A", system.Request{Subject: "$SYS.REQ.USER.INFO", Reply: "r", Requester: system.Requester{Account: "A", User: "u"}})
		sleep(time.Minute)
		synctest.Wait()
		if got := bus.take(); len(got) != 1 || got[0].account != "A" || bus.active() != 4 {
			t.Errorf("got %s and %d subscriptions, want the user's answer alone and 4", texts(got), bus.active())
		}
		cancel()
		<-done
	})
}

// TestLife checks that services leave the bus with Run, and that a failed start leaves nothing on it.
func TestLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		if w.bus.active() < 40 {
			t.Errorf("got %d subscriptions", w.bus.active())
		}
		w.stop()
		if got := w.bus.active(); got != 0 {
			t.Errorf("after Run: got %d subscriptions, want 0", got)
		}
		w.system.Connected(client()) // must not block or panic
	})
	bus := &fakeBus{fail: "$SYS.REQ.SERVER.NABC.KICK"}
	s := system.New(system.Config{Bus: bus, Pages: monitor.New(newSource()), Actions: &fakeActions{}})
	if err := s.Start(); err == nil || !strings.Contains(err.Error(), bus.fail) || bus.active() != 0 {
		t.Errorf("got error %v and %d subscriptions, want one that names the subject and 0", err, bus.active())
	}
}

// TestSlowRequests checks that an action that takes long holds up neither pages nor users, and that what
// waits for it is bounded.
func TestSlowRequests(t *testing.T) {
	inWorld(t, func(w *world) {
		w.actions.gate = make(chan struct{})
		reload := system.Request{Subject: "$SYS.REQ.SERVER.NABC.RELOAD", Reply: "_INBOX.r", Requester: system.Requester{Account: "SYS"}}
		w.bus.request("SYS", reload)
		synctest.Wait() // one is under way
		for range system.MaxSlowRequests + 5 {
			w.bus.request("SYS", reload)
		}
		w.one("SYS", "$SYS.REQ.SERVER.PING.VARZ", "")
		w.one("A", "$SYS.REQ.USER.INFO", "")
		if got := w.system.Queues()["slow system requests"]; got != (monitor.Queue{Pending: system.MaxSlowRequests, InProgress: 1}) {
			t.Errorf("got queue %+v, want %d waiting and 1 in progress", got, system.MaxSlowRequests)
		}
		close(w.actions.gate)
		synctest.Wait()
		if got := len(w.published("_INBOX.r")); got != system.MaxSlowRequests+1 {
			t.Errorf("got %d answers, want %d", got, system.MaxSlowRequests+1)
		}
		if !strings.Contains(w.log.String(), "dropped=5") {
			t.Errorf("the log says %q, want that 5 were dropped", w.log)
		}
		if got := w.system.Queues()["slow system requests"]; got != (monitor.Queue{}) {
			t.Errorf("got queue %+v, want it empty", got)
		}
	})
}

// TestOwnQueueForAccounts checks that ordinary accounts, however much they ask, take no place from the system
// account.
func TestOwnQueueForAccounts(t *testing.T) {
	bus := &fakeBus{}
	s := system.New(system.Config{Bus: bus, Pages: monitor.New(newSource()), Actions: &fakeActions{}})
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	for i := range system.MaxAccountRequests + 5 {
		from := []string{"A", "SYS"}[i%2] // SYS: by an import
		bus.request(from, system.Request{Subject: "$SYS.REQ.SERVER.PING.CONNZ", Reply: "r", Requester: system.Requester{Account: "A"}})
	}
	bus.request("SYS", system.Request{Subject: "$SYS.REQ.SERVER.PING.CONNZ", Reply: "r", Requester: system.Requester{Account: "SYS"}})
	q := s.Queues()
	if q["account requests"].Pending != system.MaxAccountRequests || q["system requests"].Pending != 1 {
		t.Errorf("got %v, want %d account requests and 1 system request", q, system.MaxAccountRequests)
	}
	s.AnswerAll(t.Context())
	if got := len(bus.take()); got != system.MaxAccountRequests+1 {
		t.Errorf("got %d answers, want %d", got, system.MaxAccountRequests+1)
	}
}

func TestIdentifiers(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		id := system.NewIdentifier()
		if len(id) != 22 || seen[id] || strings.Trim(id, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") != "" {
			t.Fatalf("got %q, want 22 new letters and digits", id)
		}
		seen[id] = true
	}
}

// sleep passes time inside a bubble.
func sleep(d time.Duration) {
	<-time.After(d)
}
