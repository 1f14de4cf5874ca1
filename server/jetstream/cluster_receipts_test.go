package jetstream_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/server/servertest"
)

// processor is a worker that takes jobs from stream IN and publishes what it makes of each with the acknowledgement. It does things
// twice now and then, and leaves others.
type processor struct {
	w      *world
	random *rand.Rand
	done   *atomic.Int64 // outcomes that were acknowledged first
}

// work processes until stop is closed.
func (p *processor) work(stop <-chan struct{}) {
	nc := p.w.connect()
	js, err := nc.JetStream()
	if err != nil {
		p.w.t.Error(err)
		return
	}
	sub, err := js.PullSubscribe("", "c", nats.Bind("IN", "c"))
	if err != nil {
		p.w.t.Error(err)
		return
	}
	for {
		select {
		case <-stop:
			return
		default:
		}
		list, _ := sub.Fetch(4, nats.MaxWait(200*time.Millisecond)) // there may be none, or nobody who leads
		for _, job := range list {
			if p.random.IntN(10) > 0 {
				p.process(nc, job)
			}
		}
	}
}

// process publishes the outcome of a job until it is known what has become of it, or somebody else has done it.
func (p *processor) process(nc *nats.Conn, job *nats.Msg) {
	m := nats.NewMsg("out." + string(job.Data))
	m.Header.Set("Runnel-Ack", job.Reply)
	for again := p.random.IntN(5) == 0; ; {
		r, err := nc.RequestMsg(m, 250*time.Millisecond)
		if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrTimeout) {
			continue // nobody leads, or nobody knows what has become of it
		}
		var a ack
		if err == nil {
			err = json.Unmarshal(r.Data, &a)
		}
		switch {
		case err != nil:
			p.w.t.Errorf("%s: %v", m.Subject, err)
			return
		case a.Error.Code == 11056 || a.Error.Code == 11054:
			continue // the origin cannot be asked now
		case a.Error.Code == 11051:
			return // somebody else has done it
		case a.Error.Code != 0:
			p.w.t.Errorf("%s: %v", m.Subject, a)
			return
		case !a.Duplicate:
			p.done.Add(1)
		}
		if !again {
			return
		}
		again = false
	}
}

// TestClusterReceiptsUnderChange processes jobs while leaders of both streams come and go, some of which lose what is under way: there
// is one outcome of each job, and all are acknowledged.
func TestClusterReceiptsUnderChange(t *testing.T) {
	for _, c := range []struct {
		name  string
		in    int // replicas of the origin
		lossy bool
	}{{"nothing is lost", 3, false}, {"something is lost", 3, true}, {"the origin on one server", 1, true}} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, 3)
			nc := w.connect()
			w.must(nc, "STREAM.CREATE.IN", fmt.Sprintf(`{"name":"IN","subjects":["in.>"],"retention":"workqueue","num_replicas":%d}`, c.in), nil)
			w.must(nc, "STREAM.CREATE.OUT", `{"name":"OUT","subjects":["out.>"],"num_replicas":3}`, nil)
			w.must(nc, "CONSUMER.CREATE.IN.c", `{"stream_name":"IN","config":{"durable_name":"c","ack_policy":"explicit","ack_wait":500000000}}`, nil)
			in, out := w.group("IN"), w.group("OUT")
			in.lossy, out.lossy = c.lossy, c.lossy
			const jobs, changes = 150, 8
			for i := range jobs {
				if _, err := nc.Request("in.x", fmt.Append(nil, i), servertest.Patience); err != nil {
					t.Fatal(err)
				}
			}
			var done atomic.Int64
			var working sync.WaitGroup
			stop := make(chan struct{})
			for i := range uint64(3) {
				p := &processor{w: w, random: rand.New(rand.NewPCG(i, 7)), done: &done}
				working.Go(func() { p.work(stop) })
			}
			random := rand.New(rand.NewPCG(1, 2))
			for i := range changes {
				want := uint64((i + 1) * jobs / (changes + 2))
				servertest.Eventually(t, "outcomes to come in", func() bool { return out.logs[0].State().Last >= want || t.Failed() })
				if c.in > 1 && i%2 == 0 {
					in.elect(random.IntN(3))
				} else {
					out.elect(random.IntN(3))
				}
			}
			first := in.members()[0]
			servertest.Eventually(t, "all jobs to be acknowledged", func() bool { return in.logs[first].State().Messages == 0 || t.Failed() })
			close(stop)
			working.Wait()
			out.drain()
			seen := map[string]uint64{}
			for seq := uint64(1); seq <= out.logs[0].State().Last; seq++ {
				m, err := out.logs[0].Load(seq)
				if before := seen[m.Subject]; err != nil || before != 0 {
					t.Errorf("message %d is the outcome of %s, as %d is (%v)", seq, m.Subject, before, err)
				}
				seen[m.Subject] = seq
			}
			if len(seen) != jobs {
				t.Errorf("there are outcomes of %d jobs, want %d", len(seen), jobs)
			}
			w.must(nc, "CONSUMER.INFO.IN.c", "", nil)
		})
	}
}

// TestClusterReceiptsRefused asks for what nobody waits for, where another server knows that.
func TestClusterReceiptsRefused(t *testing.T) {
	w := newWorld(t, 3)
	nc := w.connect()
	w.must(nc, "STREAM.CREATE.IN", `{"name":"IN","subjects":["in.>"],"num_replicas":3}`, nil)
	w.must(nc, "STREAM.CREATE.OUT", `{"name":"OUT","subjects":["out.>"],"num_replicas":3}`, nil)
	w.must(nc, "CONSUMER.CREATE.IN.c", `{"stream_name":"IN","config":{"durable_name":"c","ack_policy":"explicit"}}`, nil)
	w.group("OUT").elect(1)
	for ackSubject, want := range map[string]int{
		"$JS.ACK.IN.c.1.1.1.1.0":      11051,
		"$JS.ACK.IN.none.1.1.1.1.0":   11052,
		"$JS.ACK.NONE.none.1.1.1.1.0": 11052,
	} {
		m := nats.NewMsg("out.x")
		m.Header.Set("Runnel-Ack", ackSubject)
		r, err := nc.RequestMsg(m, servertest.Patience)
		if err != nil {
			t.Fatal(err)
		}
		var a ack
		if err := json.Unmarshal(r.Data, &a); err != nil || a.Error.Code != want {
			t.Errorf("%s: got %v (%v), want %d", ackSubject, a, err, want)
		}
	}
	w.group("IN").elect(nobody)
	m := nats.NewMsg("out.x")
	m.Header.Set("Runnel-Ack", "$JS.ACK.IN.c.1.1.1.1.0")
	r, err := nc.RequestMsg(m, servertest.Patience)
	var a ack
	if err == nil {
		err = json.Unmarshal(r.Data, &a)
	}
	if err != nil || a.Error.Code != 11056 {
		t.Errorf("nobody leads the origin: got %v (%v), want 11056", a, err)
	}
}
