package workload

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/chaos/history"
)

// A Workload is what some clients do to a cluster. The methods are called in their order, once each, by one goroutine;
// Close may come at any time after the others have returned.
type Workload interface {
	// Name is "W1" to "W14". It stands at all operations of the workload.
	Name() string
	// Describe says in one sentence what is done.
	Describe() string
	// Setup creates the streams and consumers, before any fault. It tries until that has succeeded or ctx ends.
	Setup(ctx context.Context) error
	// Run has the clients work until ctx ends, and returns when all have brought to an end what they had begun. It returns an
	// error only if it could not begin.
	Run(ctx context.Context) error
	// Finish reads what is there, when all faults are healed: it lets consumers come to an end, waits until the replicas agree and
	// reads from each. An error says what it could not bring about until ctx ended, which, in a healed cluster, is a finding; a
	// [history.Stall] then says so too. What it could read is in the history all the same.
	Finish(ctx context.Context) error
	// Close ends whatever still runs. It may be called twice.
	Close()
}

// A Node is a server of the cluster as clients see it.
type Node struct {
	Name string // the server's name, as in what servers say of streams
	// Connect connects a client, by whatever way its bytes are to take. The options come before its own.
	Connect func(...nats.Option) (*nats.Conn, error)
}

// A Recorder takes the operations: a [history.Recorder]. It is used by many goroutines.
type Recorder interface {
	Now() time.Duration
	Record(history.Operation)
}

// Config is what workloads have in common. What is zero gets a default.
type Config struct {
	Nodes    []Node
	Recorder Recorder

	Replicas     int     // of each stream; 1
	Keys         int     // subjects, registers, groups or names, as the workload has them; 8
	PayloadBytes int     // of a message; 64. A body is never smaller than its value
	Processes    int     // clients that work; 8, and two at least
	Rate         float64 // operations a second of all processes together; 0 for as many as they can

	Seed uint64 // of what clients choose. How their operations interleave is chance
	// FirstProcess is the lowest number of a process. A workload uses less than [ProcessesMax] numbers, from it on.
	FirstProcess int

	CallTimeout time.Duration // of every request; 5 s
	AckWait     time.Duration // of consumers with workers; 5 s. Keep it above CallTimeout, or workers lose what they do
	Patience    time.Duration // how long a client may come to nothing at a server that answers; 20 s
}

// ProcessesMax is how many numbers of processes a workload may use.
const ProcessesMax = 10000

// withDefaults checks what cannot be, and sets what is not set.
func (c Config) withDefaults() (Config, error) {
	switch {
	case len(c.Nodes) == 0:
		return c, errors.New("a workload needs nodes to connect to")
	case c.Recorder == nil:
		return c, errors.New("a workload needs a recorder")
	case c.Rate < 0:
		return c, fmt.Errorf("rate %g is below 0", c.Rate)
	case math.IsNaN(c.Rate):
		return c, errors.New("the rate is no number")
	case c.Processes > ProcessesMax/2:
		return c, fmt.Errorf("%d processes are more than %d", c.Processes, ProcessesMax/2)
	}
	for _, d := range []struct {
		value    *int
		standard int
	}{{&c.Replicas, 1}, {&c.Keys, 8}, {&c.PayloadBytes, 64}, {&c.Processes, 8}} {
		if *d.value <= 0 {
			*d.value = d.standard
		}
	}
	c.Processes = max(c.Processes, 2)
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
	}{{&c.CallTimeout, 5 * time.Second}, {&c.AckWait, 5 * time.Second}, {&c.Patience, 20 * time.Second}} {
		if *d.value <= 0 {
			*d.value = d.standard
		}
	}
	return c, nil
}

// An entry of the catalog.
type entry struct {
	name, text string
	open       func(*load) part
}

// part is what one workload adds to what all have.
type part interface {
	setup(context.Context) error
	run(context.Context) error
	finish(context.Context) error
}

// catalog has the workloads in their order.
func catalog() []entry {
	return []entry{
		{"W1", "writers publish unique values to several subjects of a log", openLog},
		{"W2", "writers publish to a log that ordered consumers follow at every server", openOrdered},
		{"W3", "workers share a work queue: they acknowledge, give back, forget, and crash with what they have", openQueue},
		{"W4", "each value is sent one to five times with the same id, at several servers", openDedup},
		{"W5", "registers are changed by compare-and-set, and read at the leader and elsewhere", openRegisters},
		{"W6", "keys of a bucket are put and deleted, and watchers that come and go follow them", openBucket},
		{"W7", "workers process a group key by key, in order: with runnel.key, or where the server does not know that with one consumer for each key", openKeyed},
		{"W8", "atomic batches of 2 to 20 messages, some of which are never committed", openBatches},
		{"W9", "streams that forget: by number, by age, by interest, by purges and deletes", openRetention},
		{"W10", "streams and consumers are created, changed and deleted, always with the same few names", openMeta},
		{"W11", "what handlers fail at becomes a dead letter, by runnel.dead_letter or, where the server does not know that, by advisories, and comes back from there", openDeadLetters},
		{"W13", "workers publish what they make of each message of a queue together with its acknowledgement", openProcessed},
		{"W14", "writers publish what is to be stored some seconds later, and cancel some of it", openDelayed},
	}
}

// Names are the names of all workloads, in their order.
func Names() []string {
	var names []string
	for _, e := range catalog() {
		names = append(names, e.name)
	}
	return names
}

// Describe says in one sentence what the workload of this name does; "" if there is none.
func Describe(name string) string {
	for _, e := range catalog() {
		if e.name == name {
			return e.text
		}
	}
	return ""
}

// New makes the workload of this name. It connects to nothing yet.
func New(name string, cfg Config) (Workload, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("workload %s: %w", name, err)
	}
	for _, e := range catalog() {
		if e.name == name {
			l := newLoad(name, cfg)
			return &workload{entry: e, load: l, part: e.open(l)}, nil
		}
	}
	return nil, fmt.Errorf("there is no workload %q; there are %v", name, Names())
}

// workload is an entry of the catalog at work.
type workload struct {
	entry entry
	load  *load
	part  part
}

func (w *workload) Name() string     { return w.entry.name }
func (w *workload) Describe() string { return w.entry.text }
func (w *workload) Close()           { w.load.close() }

func (w *workload) Setup(ctx context.Context) error {
	if err := w.part.setup(ctx); err != nil {
		return fmt.Errorf("set up %s: %w", w.entry.name, err)
	}
	return nil
}

func (w *workload) Run(ctx context.Context) error {
	if err := w.part.run(ctx); err != nil {
		return fmt.Errorf("run %s: %w", w.entry.name, err)
	}
	return nil
}

func (w *workload) Finish(ctx context.Context) error {
	if err := w.part.finish(ctx); err != nil {
		return fmt.Errorf("finish %s: %w", w.entry.name, err)
	}
	return nil
}
