package workload

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"runnel/chaos/history"
)

// load is what all workloads have in common: their configuration, and the clients that are at work.
type load struct {
	name string
	cfg  Config

	mu      sync.Mutex // guards what follows
	clients int        // how many there were
	crews   []*crew
}

// newLoad makes a load without clients.
func newLoad(name string, cfg Config) *load { return &load{name: name, cfg: cfg} }

// now is the time of the history.
func (l *load) now() time.Duration { return l.cfg.Recorder.Now() }

// record adds what the harness has found by itself.
func (l *load) record(o history.Operation) {
	o.Workload = l.name
	l.cfg.Recorder.Record(o)
}

// client makes a client of the i-th server. Its connection may still have to come.
func (l *load) client(i int) (*client, error) {
	l.mu.Lock()
	process := l.cfg.FirstProcess + l.clients
	l.clients++
	l.mu.Unlock()
	c := &client{
		load: l, process: process, node: l.cfg.Nodes[i%len(l.cfg.Nodes)],
		chance: rand.New(rand.NewPCG(l.cfg.Seed, uint64(process))),
	}
	return c, c.connect()
}

// alone has one client at the i-th server do something and leave.
func (l *load) alone(i int, work func(*client) error) error {
	c, err := l.client(i)
	if err != nil {
		return err
	}
	defer c.nc.Close()
	return work(c)
}

// A crew is some clients that do the same, until they are told to stop or are done. Its goroutines own the clients; the crew's own
// methods may be called by several others at the same time, so that a load can be closed while somebody waits for it.
type crew struct {
	stop    context.CancelFunc
	working sync.WaitGroup
	watch   *watchdog // looks until the last client has finished
	once    sync.Once
}

// rated says that a crew keeps to the rate of the load.
const rated = true

// start makes a crew of count clients, one after the other at all servers. A crew that is rated shares the rate of the
// load with others, according to its size. All are connected, or about to be, when start returns.
func (l *load) start(ctx context.Context, count int, paced bool, work func(context.Context, *client)) (*crew, error) {
	k := &crew{}
	var all []*client
	for i := range count {
		c, err := l.client(i)
		if err != nil {
			for _, c := range all {
				c.nc.Close()
			}
			return nil, err
		}
		if paced && l.cfg.Rate > 0 {
			c.pace.interval = time.Duration(float64(l.cfg.Processes) / l.cfg.Rate * float64(time.Second))
		}
		all = append(all, c)
	}
	watch, err := l.watch(all)
	if err != nil {
		for _, c := range all {
			c.nc.Close()
		}
		return nil, err
	}
	k.watch = watch
	ctx, k.stop = context.WithCancel(ctx)
	for _, c := range all {
		k.working.Go(func() {
			defer func() { c.nc.Close() }() // not the one that it has now
			defer c.progress.leave()
			work(ctx, c)
		})
	}
	l.mu.Lock()
	l.crews = append(l.crews, k)
	l.mu.Unlock()
	return k, nil
}

// wait returns when all of the crew have finished.
func (k *crew) wait() {
	k.working.Wait()
	k.once.Do(func() {
		k.stop()
		k.watch.close()
	})
}

// end tells the crew to stop and waits for it. It may be called twice.
func (k *crew) end() {
	k.stop()
	k.wait()
}

// farewell waits for a crew that comes to an end by itself. It takes half of the time that there is at most.
func (l *load) farewell(ctx context.Context, k *crew, what string) error {
	limited, cancel := half(ctx)
	defer cancel()
	start := l.now()
	stop := context.AfterFunc(limited, k.stop)
	k.wait()
	if stop() {
		return nil
	}
	err := fmt.Errorf("%s: it takes too long: %w", what, limited.Err())
	l.stalled(what, start, err)
	return err
}

// work has a crew of count clients work until ctx ends.
func (l *load) work(ctx context.Context, count int, work func(context.Context, *client)) error {
	k, err := l.start(ctx, count, rated, work)
	if err != nil {
		return err
	}
	k.wait()
	return nil
}

// close ends all crews.
func (l *load) close() {
	l.mu.Lock()
	crews := l.crews
	l.crews = nil
	l.mu.Unlock()
	for _, k := range crews {
		k.end()
	}
}

// halves splits the processes into two kinds, at least one of each.
func (l *load) halves() (one, other int) {
	return l.cfg.Processes - l.cfg.Processes/2, l.cfg.Processes / 2
}
