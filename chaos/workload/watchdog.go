package workload

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/chaos/history"
)

// progress is what a watchdog sees of a client.
type progress struct {
	mu    sync.Mutex    // guards what follows
	kind  string        // what the client does or did last
	busy  bool          // it is at it
	begun time.Duration // since when
	good  time.Duration // when something was answered last
	left  bool          // it does not work any more
}

func (p *progress) begin(kind string, now time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kind, p.busy, p.begun = kind, true, now
}

// end notes that an operation is over, and whether the server has answered it.
func (p *progress) end(now time.Duration, answered bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy = false
	if answered {
		p.good = now
	}
}

// idle notes that there is nothing to do, which the server has said.
func (p *progress) idle(now time.Duration) { p.end(now, true) }

// leave notes that the client does not work any more, and so cannot stall.
func (p *progress) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = true
}

// sight is what a watchdog sees at one time.
type sight struct {
	kind  string        // what the client does or did last
	good  time.Duration // when something was answered last
	hangs bool          // it has been at it for longer than any call may take
	works bool
}

func (p *progress) seen(now, limit time.Duration) sight {
	p.mu.Lock()
	defer p.mu.Unlock()
	return sight{kind: p.kind, good: p.good, hangs: p.busy && now-p.begun > limit, works: !p.left}
}

// A watchdog looks after a crew. With a connection of its own it finds out since when each server answers, by the same way as
// clients reach it. A client to which its server has not answered anything for the patience of the load, although the
// server was there all the time, is stalled. That may be nobody's fault (a cluster without a majority): the checks know
// the faults of the run, the watchdog does not.
type watchdog struct {
	load    *load
	clients []*client
	probes  []*probe
	stop    context.CancelFunc
	running sync.WaitGroup
	open    map[*client]history.Operation // stalls that have not ended; for the goroutine that looks
}

// A probe is a connection that does nothing but ping a server.
type probe struct {
	node string
	nc   *nats.Conn

	mu    sync.Mutex    // guards what follows
	since time.Duration // of the answers without a gap, if there is one now
	there bool
}

const (
	probeEvery   = 250 * time.Millisecond
	probeTimeout = time.Second
)

// watch starts a watchdog for a crew.
func (l *load) watch(clients []*client) (*watchdog, error) {
	d := &watchdog{load: l, clients: clients, open: make(map[*client]history.Operation)}
	for _, n := range l.cfg.Nodes {
		nc, err := n.Connect(connectOptions(l.name+" probe", l.cfg.CallTimeout)...)
		if err != nil {
			d.disconnect()
			return nil, fmt.Errorf("connect to %s: %w", n.Name, err)
		}
		d.probes = append(d.probes, &probe{node: n.Name, nc: nc})
	}
	for _, c := range clients {
		c.progress.idle(l.now())
	}
	ctx, cancel := context.WithCancel(context.Background())
	d.stop = cancel
	for _, p := range d.probes {
		d.running.Go(func() { p.run(ctx, l.now) })
	}
	d.running.Go(func() {
		for pause(ctx, probeEvery) {
			d.look()
		}
	})
	return d, nil
}

// run pings until ctx ends.
func (p *probe) run(ctx context.Context, now func() time.Duration) {
	for pause(ctx, probeEvery) {
		start := now()
		p.note(p.nc.IsConnected() && p.nc.FlushTimeout(probeTimeout) == nil, start)
	}
}

// note notes what came of a ping that was sent at a time.
func (p *probe) note(there bool, now time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if there && !p.there {
		p.since = now
	}
	p.there = there
}

// answers tells whether the server answers, and since when without a gap.
func (p *probe) answers() (since time.Duration, there bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.since, p.there
}

// look looks at each client once.
func (d *watchdog) look() {
	now := d.load.now()
	for _, p := range d.probes {
		since, there := p.answers()
		for _, c := range d.clients {
			if c.node.Name == p.node {
				d.judge(c, since, there, now)
			}
		}
	}
}

// judge opens, goes on with or ends the stall of a client whose server answers, or does not, since some time.
func (d *watchdog) judge(c *client, since time.Duration, there bool, now time.Duration) {
	cfg := &d.load.cfg
	seen := c.progress.seen(now, 2*cfg.CallTimeout)
	stall, stalled := d.open[c]
	from := max(seen.good, since)
	switch {
	case stalled && (!seen.works || !there || from > stall.Start):
		d.record(c, now)
	case !stalled && seen.works && there && now-from >= max(cfg.Patience, 3*c.pace.interval):
		stall = history.Operation{Process: c.process, Node: c.node.Name, Kind: history.Stall, Value: cmp.Or(seen.kind, "nothing yet"), Start: from}
		stall.Error = "no operation was answered"
		if seen.hangs {
			stall.Result, stall.Error = history.Failed, "a call does not come to an end"
		}
		d.open[c] = stall
	}
}

// record ends a stall.
func (d *watchdog) record(c *client, now time.Duration) {
	stall := d.open[c]
	delete(d.open, c)
	stall.End = now
	d.load.record(stall)
}

// close stops looking. Stalls that there are end here.
func (d *watchdog) close() {
	d.stop()
	d.running.Wait()
	for c := range d.open {
		d.record(c, d.load.now())
	}
	d.disconnect()
}

func (d *watchdog) disconnect() {
	for _, p := range d.probes {
		p.nc.Close()
	}
}
