package workload

import (
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"runnel/chaos/history"
)

// For tests of what is pure.
var (
	ResultOf  = resultOf
	TextOf    = textOf
	Body      = body
	ParseBody = parseBody
	IsValue   = isValue
)

// Members is what a configuration makes of a stream's information.
func Members(cfg Config, info *jetstream.StreamInfo) ([]string, error) {
	return newLoad("W0", cfg).members(info)
}

// Defaults are a configuration's.
func Defaults(cfg Config) (Config, error) { return cfg.withDefaults() }

// Pace is the times after begin at which a client works that is ready for the next operation some time after each.
func Pace(begin time.Time, interval, takes time.Duration, count int) (at []time.Duration) {
	p, chance, now := pace{interval: interval}, rand.New(rand.NewPCG(1, 2)), begin
	for range count {
		now = now.Add(p.wait(now, chance))
		at = append(at, now.Sub(begin))
		now = now.Add(takes)
	}
	return at
}

// A Dog is a watchdog with one client and no server.
type Dog struct {
	d *watchdog
	c *client
}

// NewDog makes one. Its configuration counts for patience and time limits.
func NewDog(cfg Config) *Dog {
	l := newLoad("W0", cfg)
	c := &client{load: l, process: 7, node: Node{Name: "n1"}}
	return &Dog{&watchdog{load: l, clients: []*client{c}, open: make(map[*client]history.Operation)}, c}
}

// Begin and Answer are what the client does.
func (d *Dog) Begin(at time.Duration)  { d.c.progress.begin(history.Publish, at) }
func (d *Dog) Answer(at time.Duration) { d.c.progress.end(at, true) }
func (d *Dog) Fail(at time.Duration)   { d.c.progress.end(at, false) }
func (d *Dog) Leave()                  { d.c.progress.leave() }

// Look has the dog look, at a time at which the server answers since another.
func (d *Dog) Look(at, since time.Duration, there bool) { d.d.judge(d.c, since, there, at) }
