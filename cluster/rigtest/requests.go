package rigtest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// echoSubject is where the responders of [Requests] listen.
const echoSubject = "rig.echo"

// Requests ask a service that all servers but the first have a responder of. The promise: each is answered within the
// attempts of a client, and with its own answer.
type Requests struct {
	*load

	mu       sync.Mutex // guards what follows
	answered int
	again    int // attempts that were not the first
	most     int // attempts that one request took
}

// StartRequests connects responders and has count requesters ask, one question after the other, over connections that move
// between all servers.
func (c *Cluster) StartRequests(count int, pause time.Duration) *Requests {
	c.t.Helper()
	for _, n := range c.Nodes[1:] {
		nc := n.Connect(nats.LameDuckModeHandler(nil)) // it works until it is closed
		_, err := nc.QueueSubscribe(echoSubject, "rig", func(m *nats.Msg) {
			_ = m.Respond(m.Data) // who asks asks again
		})
		if err != nil {
			c.t.Fatal(err)
		}
		if err := nc.Flush(); err != nil {
			c.t.Fatal(err)
		}
	}
	var askers []*nats.Conn
	for range count {
		askers = append(askers, c.Connect())
	}
	r := &Requests{load: newLoad(c.t)}
	for i, nc := range askers {
		r.all.Go(func() { r.ask(nc, fmt.Sprintf("r%d", i+1), pause) })
	}
	return r
}

// ask asks until the load is stopped.
func (r *Requests) ask(nc *nats.Conn, name string, pause time.Duration) {
	for n := 1; r.running(); n++ {
		question := Message{name, n}.String()
		attempts, err := Retry(func(ctx context.Context) error {
			m, err := nc.RequestWithContext(ctx, echoSubject, []byte(question))
			if err == nil && string(m.Data) != question {
				r.t.Errorf("request %q was answered with %q", question, m.Data)
			}
			return err
		})
		if err != nil {
			r.t.Errorf("request %q was not answered in %d attempts: %v", question, attempts, err)
			return
		}
		r.note(attempts)
		r.load.pause(pause)
	}
}

func (r *Requests) note(attempts int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answered++
	r.again += attempts - 1
	r.most = max(r.most, attempts)
}

// Answered counts the requests that were answered.
func (r *Requests) Answered() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.answered
}

// Progress waits until n more requests are answered.
func (r *Requests) Progress(n int) {
	r.t.Helper()
	goal := r.Answered() + n
	Eventually(r.t, fmt.Sprintf("%d more answers", n), func() error {
		if got := r.Answered(); got < goal {
			return fmt.Errorf("%d are missing", goal-got)
		}
		return nil
	})
}

// Stop waits for the answers that are due.
func (r *Requests) Stop() {
	r.t.Helper()
	r.end()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.t.Logf("%d requests answered, %d asked again, after %d attempts at most", r.answered, r.again, r.most)
}
