package system_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"runnel/server/monitor"
	"runnel/server/system"
)

// inCluster runs a test with a server that is connected with others.
func inCluster(t *testing.T, others int, test func(w *world)) {
	t.Helper()
	inWorld(t, func(w *world) {
		w.source.mu.Lock()
		w.source.remotes = others
		w.source.routes = []monitor.Route{
			{ID: 5, RemoteName: "srv2", Traffic: monitor.ConnectionTraffic{InMsgs: 1, InBytes: 2, OutMsgs: 3, OutBytes: 4}, PendingBytes: 6},
		}
		w.source.mu.Unlock()
		test(w)
	})
}

// TestFiguresOfCluster: what servers publish of themselves names the connections to the others.
func TestFiguresOfCluster(t *testing.T) {
	inCluster(t, 2, func(w *world) {
		var m struct {
			Server system.ServerInfo
			Statsz struct {
				Routes        json.RawMessage
				ActiveServers int `json:"active_servers"`
			}
		}
		reply := w.ask("SYS", "$SYS.REQ.SERVER.PING", "")
		if len(reply) != 1 {
			t.Fatalf("got %d replies", len(reply))
		}
		if err := json.Unmarshal(reply[0].payload, &m); err != nil {
			t.Fatal(err)
		}
		want := `[{"rid":5,"name":"srv2","sent":{"msgs":3,"bytes":4},"received":{"msgs":1,"bytes":2},"pending":6}]`
		if got := string(m.Statsz.Routes); got != want || m.Statsz.ActiveServers != 3 || m.Server.Cluster != "east" {
			t.Errorf("got routes %s, %d servers, cluster %s", got, m.Statsz.ActiveServers, m.Server.Cluster)
		}
	})
}

// TestRequestsFromElsewhere come without a requester: what is about an account or a server is answered, who somebody is only the
// server knows that has the connection.
func TestRequestsFromElsewhere(t *testing.T) {
	inCluster(t, 1, func(w *world) {
		for _, test := range []struct {
			account, subject string
			answered         bool
		}{
			{"A", "$SYS.REQ.USER.INFO", false},
			{"A", "$SYS.REQ.ACCOUNT.PING.CONNZ", true},
			{"A", "$SYS.REQ.ACCOUNT.PING.STATZ", true},
			{"A", "$SYS.REQ.SERVER.PING.CONNZ", true},
			{"SYS", "$SYS.REQ.SERVER.NABC.VARZ", true},
			{"SYS", "$SYS.REQ.SERVER.PING.IDZ", true},
			{"SYS", "$SYS.REQ.SERVER.NABC.RELOAD", true},
		} {
			w.bus.request(test.account, system.Request{Subject: test.subject, Reply: "_INBOX.1"})
			synctest.Wait()
			replies := w.bus.take()
			if got := len(replies) > 0; got != test.answered {
				t.Errorf("%s: answered: %v, want %v", test.subject, got, test.answered)
			}
			if strings.HasSuffix(test.subject, "CONNZ") && len(replies) > 0 {
				if body := string(replies[0].payload); !strings.Contains(body, `"num_connections":2`) {
					t.Errorf("%s shows more than the account's own connections: %s", test.subject, body)
				}
			}
		}
		if want := []string{"$SYS.REQ.USER.INFO", "$SYS.DEBUG.SUBSCRIBERS"}; !slices.Equal(w.bus.local, want) {
			t.Errorf("%q are only for clients of this server, want %q", w.bus.local, want)
		}
	})
}

// TestSubscribersElsewhere adds up what all servers count.
func TestSubscribersElsewhere(t *testing.T) {
	for _, test := range []struct {
		name   string
		others int
		says   []string // what the others say
		want   string
		took   time.Duration
	}{
		{"nobody else", 0, nil, "1", 0},
		{"two others", 2, []string{"3", "4"}, "8", 0},
		{"one that minds", 2, []string{"3", `{"error":{}}`}, "4", 0},
		{"one that is silent", 2, []string{"3"}, "4", 500 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			inCluster(t, test.others, func(w *world) {
				w.bus.elsewhere = func(subject, reply string) {
					if subject != "$SYS.REQ.ACCOUNT.NSUBS" {
						t.Errorf("asked %s", subject)
					}
					for _, n := range test.says {
						w.bus.request("SYS", system.Request{Subject: reply, Payload: []byte(n)})
					}
				}
				begin := time.Now()
				w.bus.request("SYS", system.Request{
					Subject: "$SYS.DEBUG.SUBSCRIBERS", Reply: "_INBOX.1", Payload: []byte("$SYS.x"),
					Requester: system.Requester{Account: "SYS"},
				})
				var got string
				for got == "" {
					<-time.After(time.Millisecond)
					for _, m := range w.bus.take() {
						if m.subject == "_INBOX.1" {
							got = string(m.payload)
						}
					}
				}
				if got != test.want {
					t.Errorf("got %s, want %s", got, test.want)
				}
				if took := time.Since(begin).Truncate(100 * time.Millisecond); took != test.took {
					t.Errorf("it took %v, want %v", took, test.took)
				}
			})
		})
	}
}
