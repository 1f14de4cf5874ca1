package relay_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"runnel/server/accounts"
	"runnel/server/engine"
	"runnel/server/jetstream/clustered"
	"runnel/server/jetstream/relay"
)

// view is a cluster of a, which is this server, and b, which leads stream S.
type view struct{ clustered.View }

func (view) Self() clustered.Node { return clustered.Node{ID: "a"} }
func (view) Stream(_, name string) (*clustered.Assignment, bool) {
	return &clustered.Assignment{ID: 7}, name == "S"
}
func (view) StreamLeader(*clustered.Assignment) string { return "b" }
func (view) Online(string) bool                        { return true }

// published is what a Relay has published.
type published struct {
	mu   sync.Mutex
	list []string
}

func (p *published) publish(_ *accounts.Account, subject, reply string, header, payload []byte) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	status, _, _ := strings.Cut(string(header), "\r\n")
	p.list = append(p.list, strings.TrimSpace(fmt.Sprintf("%s %s %s%s", subject, reply, status, payload)))
	return 1
}

// TestLost: of what a server was sent that is gone, pulls end, once for each reply subject, direct gets of one message are put again, and those of
// several end. What others were sent, and what concerns no stream, stays.
func TestLost(t *testing.T) {
	const next, get = "$JS.API.CONSUMER.MSG.NEXT.", "$JS.API.DIRECT.GET."
	for _, tt := range []struct {
		name, subject, body, peer string
		got                       int
		want                      string
	}{
		{"pull", next + "S.c", `{"batch":1}`, "b", 1, "reply  NATS/1.0 409 Leadership Change"},
		{"pull that was led on", next + "S.c", ``, "d", 2, "reply  NATS/1.0 409 Leadership Change"},
		{"pull that has expired", next + "S.c", `{"expires":1}`, "b", 1, ""},
		{"pull of no stream", next + "T.c", ``, "b", 1, ""},
		{"read", get + "S", `{"seq":1}`, "b", 1, get + `S reply {"seq":1}`},
		{"read by subject", get + "S.x.y", ``, "b", 1, get + "S.x.y reply"},
		{"read of several", get + "S", `{"seq":1,"batch":2}`, "b", 1, "reply  NATS/1.0 503"},
		{"read here", get + "S", `{"seq":1}`, "", 1, ""},
		{"read elsewhere", get + "S", `{"seq":1}`, "c", 1, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var p published
			r := relay.New(relay.Config{View: view{}, Publish: p.publish})
			witness := r.Witness(new(accounts.Account), tt.subject)
			if witness == nil {
				t.Fatal("nobody is shown it")
			}
			for range 2 {
				witness(&engine.Message{Subject: []byte(tt.subject), Reply: []byte("reply"), Payload: []byte(tt.body), Got: tt.got, Peer: tt.peer})
			}
			r.Lost("b")
			r.Lost("b") // of which nothing more is known
			r.Close()
			if got := strings.Join(p.list, "|"); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestWitness: only requests for messages are shown, in the form without a domain and in that with the server's own.
func TestWitness(t *testing.T) {
	r := relay.New(relay.Config{View: view{}, Domain: "hub"})
	defer r.Close()
	var got []string
	for _, subject := range []string{
		"$JS.API.CONSUMER.MSG.NEXT.S.c", "$JS.hub.API.CONSUMER.MSG.NEXT.S.c", "$JS.leaf.API.CONSUMER.MSG.NEXT.S.c", "$JS.API.DIRECT.GET.S",
		"$JS.API.STREAM.INFO.S", "$JS.ACK.S.c.1.1.1.1.1", "orders",
	} {
		if r.Witness(new(accounts.Account), subject) != nil {
			got = append(got, subject)
		}
	}
	want := []string{"$JS.API.CONSUMER.MSG.NEXT.S.c", "$JS.hub.API.CONSUMER.MSG.NEXT.S.c", "$JS.API.DIRECT.GET.S"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
