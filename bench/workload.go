package bench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Params says how large a run is. In an override, zero means "as the scenario
// has it"; in a Case every value that the scenario uses is set.
type Params struct {
	// Messages is how many messages all publishers together send in the
	// measured phase (requests in request, what each subscriber awaits in sub).
	// Zero with a Duration: as many as fit into it.
	Messages int64 `json:"messages"`
	// SizeBytes is the payload size.
	SizeBytes int `json:"size_bytes"`
	// Publishers counts publishing connections (requesters in request).
	Publishers int `json:"publishers"`
	// Subscribers counts subscribing connections (responders in request).
	Subscribers int `json:"subscribers"`
	// Subjects counts the distinct subjects of subjects, the keys of a bucket, and the consumers of
	// filters.
	Subjects int `json:"subjects"`
	// Inflight is how many requests or publishes each client has outstanding at most.
	Inflight int `json:"inflight"`
	// Batch is how many messages a reader of a stream asks for at a time.
	Batch int `json:"batch,omitempty"`
	// Replicas is how many servers keep the stream; 0 means one.
	Replicas int `json:"replicas,omitempty"`
	// Memory keeps the stream in memory instead of on disk.
	Memory bool `json:"memory,omitempty"`
	// Connections counts the idle connections of connections.
	Connections int `json:"connections"`
	// Rate is messages a second over all publishers; 0 means as fast as possible.
	Rate float64 `json:"rate"`
	// Duration ends publishing after that time.
	Duration time.Duration `json:"duration_ns"`
}

// Scenario is one kind of load.
type Scenario struct {
	// Name is what the command line calls it.
	Name string
	// Explanation says in a sentence or two what it does and what it shows.
	Explanation string
	// Variants are the parameters it runs with unless they are overridden, one
	// case each. Messages left zero follow from load and size.
	Variants []Params

	// load is the number of deliveries that a run of small messages makes.
	load int64
	// fan is how many deliveries the server makes of one message.
	fan func(Params) int
	// label is the distinguishing part of a case's name.
	label func(Params) string
	// run carries the case out in an open session.
	run func(context.Context, *session) error
	// advise adds what to do about an error to it; nil where there is nothing to add.
	advise func(error) error
	// alone says that it needs no second party and no configuration, and may be part of "all".
	alone bool
	// chunked says that a payload may be larger than a message.
	chunked bool
	// counted says that it cannot run for a time, since what it reads is stored before.
	counted bool
}

// Suite is a set of scenarios: what one kind of server can do.
type Suite struct {
	command   string // that lists it
	scenarios []Scenario
}

// Core returns the scenarios of plain messages, which every server can run.
func Core() Suite {
	return Suite{"runnel bench list", slices.Concat(flowScenarios(), wideScenarios(), tenantScenarios(), otherScenarios())}
}

// Streams returns the scenarios of streams, key-value and object stores, for servers with JetStream.
func Streams() Suite {
	return Suite{"runnel bench js list", slices.Concat(publishScenarios(), readScenarios(), storeScenarios())}
}

// Scenarios lists all scenarios in the order in which they run and are explained.
func (u Suite) Scenarios() []Scenario { return u.scenarios }

// Case is a scenario with all its parameters: one row of a report.
type Case struct {
	Name     string
	Scenario Scenario
	Params   Params
}

const (
	// loadBytes bounds the payload bytes that the server delivers in a run with
	// default message counts.
	loadBytes = 1 << 30
	// pacedSeconds is how long a paced run lasts by default.
	pacedSeconds = 3
)

// flowScenarios are those with one subject per flow of messages.
func flowScenarios() []Scenario {
	return []Scenario{
		{
			Name: "pub", Explanation: "One publisher, nobody listens: the cost of taking messages in. Also the publisher for a sub that runs elsewhere.",
			Variants: []Params{{SizeBytes: 128, Publishers: 1}},
			load:     2e6, fan: noDelivery, label: bySize, run: runPub, alone: true,
		},
		{
			Name: "sub", Explanation: "Receives what `runnel bench pub` sends from another terminal or machine, and verifies it. Start it first.",
			Variants: []Params{{Messages: 2e6, Subscribers: 1}},
			load:     2e6, fan: toSubscribers, label: unlabelled, run: runSub,
		},
		{
			Name: "pubsub", Explanation: "One publisher, one subscriber, one subject, small to large payloads: the basic cost of a message.",
			Variants: sizes(Params{Publishers: 1, Subscribers: 1}, 16, 128, 1<<10, 8<<10, 32<<10),
			load:     1e6, fan: toSubscribers, label: bySize, run: runPubSub, alone: true,
		},
		{
			Name: "paced", Explanation: "Messages at a fixed rate, each a write of its own: delivery latency without queueing, counted from the moment each message was due.",
			Variants: []Params{
				{SizeBytes: 128, Publishers: 1, Subscribers: 1, Rate: 20_000},
				{SizeBytes: 128, Publishers: 1, Subscribers: 10, Rate: 4_000},
			},
			load: 1e6, fan: toSubscribers, label: bySubscribers, run: runPubSub, alone: true,
		},
		{
			Name: "fanout", Explanation: "One publisher, every message goes to N subscribers: the cost of multiplying.",
			Variants: []Params{
				{SizeBytes: 128, Publishers: 1, Subscribers: 10},
				{SizeBytes: 1 << 10, Publishers: 1, Subscribers: 10},
				{SizeBytes: 128, Publishers: 1, Subscribers: 100},
			},
			load: 2e6, fan: toSubscribers, label: bySubscribers, run: runPubSub, alone: true,
		},
		{
			Name: "fanin", Explanation: "N publishers, one subscriber, one subject: how well many inputs merge into one output.",
			Variants: []Params{{SizeBytes: 128, Publishers: 10, Subscribers: 1}},
			load:     1e6, fan: toSubscribers, label: byPublishers, run: runPubSub, alone: true,
		},
	}
}

// wideScenarios spread over several subjects or group members.
func wideScenarios() []Scenario {
	return []Scenario{
		{
			Name: "pairs", Explanation: "N publishers, each with its own subject and its own subscriber: independent flows side by side.",
			Variants: []Params{{SizeBytes: 128, Publishers: 8}},
			load:     1e6, fan: toOne, label: byPublishers, run: runPairs, alone: true,
		},
		{
			Name: "queue", Explanation: "One publisher, N members of one queue group: every message must reach exactly one member.",
			Variants: []Params{{SizeBytes: 128, Publishers: 1, Subscribers: 8}},
			load:     1e6, fan: toOne, label: bySubscribers, run: runQueue, alone: true,
		},
		{
			Name: "headers", Explanation: "One publisher, one subscriber, every message carries headers, which are verified too.",
			Variants: []Params{{SizeBytes: 128, Publishers: 1, Subscribers: 1}},
			load:     5e5, fan: toSubscribers, label: bySize, run: runHeaders, alone: true,
		},
		{
			Name: "subjects", Explanation: "Messages over many subjects; a literal subscription for each, one wildcard for each ten, one wildcard for all: three deliveries a message.",
			Variants: []Params{{SizeBytes: 128, Publishers: 1, Subscribers: 4, Subjects: 1000}},
			load:     1e6, fan: func(Params) int { return 3 }, label: bySubjects, run: runSubjects, alone: true,
		},
	}
}

// otherScenarios are those that are no one-way flow.
func otherScenarios() []Scenario {
	return []Scenario{
		{
			Name: "request", Explanation: "Request and reply through one responder with N requests in flight: round-trip latency and its cost.",
			Variants: []Params{
				{SizeBytes: 128, Publishers: 1, Subscribers: 1, Inflight: 1, Messages: 20_000},
				{SizeBytes: 128, Publishers: 1, Subscribers: 1, Inflight: 50, Messages: 200_000},
			},
			load: 2e5, fan: toOne, label: byInflight, run: runRequest, alone: true,
		},
		{
			Name: "connections", Explanation: "Opens N connections that then idle: time to connect, and server memory for each (needs the server's process id).",
			Variants: []Params{{Connections: 1000}},
			load:     1, fan: noDelivery, label: byConnections, run: runConnections, alone: true,
		},
	}
}

func noDelivery(Params) int      { return 0 }
func toOne(Params) int           { return 1 }
func toSubscribers(p Params) int { return p.Subscribers }

func unlabelled(Params) string { return "" }
func bySize(p Params) string   { return "-" + sizeName(p.SizeBytes) }
func bySubscribers(p Params) string {
	return strconv.Itoa(p.Subscribers) + bySize(p)
}

func byPublishers(p Params) string {
	return strconv.Itoa(p.Publishers) + bySize(p)
}
func bySubjects(p Params) string    { return strconv.Itoa(p.Subjects) + bySize(p) }
func byInflight(p Params) string    { return strconv.Itoa(p.Inflight) + bySize(p) }
func byConnections(p Params) string { return strconv.Itoa(p.Connections) }

// sizeName shortens whole KiB to "1k", whole MiB to "1m".
func sizeName(size int) string {
	if size >= 1<<20 && size%(1<<20) == 0 {
		return strconv.Itoa(size>>20) + "m"
	}
	if size >= 1<<10 && size%(1<<10) == 0 {
		return strconv.Itoa(size>>10) + "k"
	}
	return strconv.Itoa(size)
}

// sizes makes one variant of base for each payload size.
func sizes(base Params, list ...int) []Params {
	variants := make([]Params, 0, len(list))
	for _, size := range list {
		base.SizeBytes = size
		variants = append(variants, base)
	}
	return variants
}

// Overrides are the values of a selection that replace the scenarios' own.
type Overrides struct {
	Params         // zero fields leave the scenario's value
	Sizes  []int   // payload sizes, one case each; empty leaves the scenario's
	Scale  float64 // multiplies default message counts; 0 means 1
}

// Select finds the cases that names ask for and applies the overrides. A name
// is that of a scenario or a case, a prefix of either followed by *, or "all"
// for every scenario that needs no second party and no configuration. Cases that
// become equal by the overrides are listed once.
func (u Suite) Select(names []string, o Overrides) ([]Case, error) {
	var chosen []Case
	for _, name := range names {
		found := false
		for _, s := range u.scenarios {
			for _, p := range s.Variants {
				if !s.selected(name, p) {
					continue
				}
				found = true
				chosen = append(chosen, s.expand(p, o)...)
			}
		}
		if !found {
			return nil, fmt.Errorf("unknown scenario %q: `%s` shows all", name, u.command)
		}
	}
	return distinct(chosen), nil
}

// distinct drops cases whose name came before.
func distinct(cases []Case) []Case {
	seen := make(map[string]bool, len(cases))
	return slices.DeleteFunc(cases, func(c Case) bool {
		again := seen[c.Name]
		seen[c.Name] = true
		return again
	})
}

// selected reports whether a name means this variant of the scenario.
func (s Scenario) selected(name string, p Params) bool {
	if name == "all" {
		return s.alone
	}
	full := s.Name + s.label(p)
	if prefix, ok := strings.CutSuffix(name, "*"); ok {
		return strings.HasPrefix(full, prefix)
	}
	return name == s.Name || name == full
}

// expand makes the cases of one variant under the overrides.
func (s Scenario) expand(p Params, o Overrides) []Case {
	list := o.Sizes
	if len(list) == 0 || p.SizeBytes == 0 {
		list = []int{p.SizeBytes}
	}
	cases := make([]Case, 0, len(list))
	for _, size := range list {
		q := p
		q.SizeBytes = size
		q = s.settle(q.overridden(o.Params), o)
		cases = append(cases, Case{Name: s.Name + s.label(q), Scenario: s, Params: q})
	}
	return cases
}

// overridden takes each value of o that is set; a value that the variant does
// not use stays unset.
func (p Params) overridden(o Params) Params {
	p.Publishers = replace(p.Publishers, o.Publishers)
	p.Subscribers = replace(p.Subscribers, o.Subscribers)
	p.Subjects = replace(p.Subjects, o.Subjects)
	p.Inflight = replace(p.Inflight, o.Inflight)
	p.Connections = replace(p.Connections, o.Connections)
	if o.Rate > 0 && p.Publishers > 0 {
		p.Rate = o.Rate
	}
	p.Batch = replace(p.Batch, o.Batch)
	p.Replicas, p.Memory = o.Replicas, o.Memory
	if o.Duration > 0 {
		p.Duration = o.Duration
	}
	return p
}

// replace returns the new value where both are set.
func replace(value, by int) int {
	if value == 0 || by == 0 {
		return value
	}
	return by
}

// settle decides the number of messages.
func (s Scenario) settle(p Params, o Overrides) Params {
	scale := o.Scale
	if scale == 0 {
		scale = 1
	}
	switch {
	case p.Connections > 0:
		p.Messages = 0
		if o.Connections == 0 {
			p.Connections = max(1, int(float64(p.Connections)*scale))
		}
	case o.Messages > 0:
		p.Messages, p.Duration = o.Messages, o.Duration
	case p.Duration > 0 && !s.counted:
		p.Messages = 0
		if o.Duration == 0 {
			p.Duration = time.Duration(float64(p.Duration) * scale)
		}
	default:
		p.Messages = max(1, int64(math.Round(float64(s.defaultMessages(p))*scale)))
	}
	if s.counted {
		p.Duration = 0
	}
	return p
}

// defaultMessages is as many messages as give a run of about a second or two.
func (s Scenario) defaultMessages(p Params) int64 {
	if p.Rate > 0 {
		return int64(p.Rate * pacedSeconds)
	}
	if p.Messages > 0 {
		return p.Messages
	}
	deliveries := min(s.load, loadBytes/int64(p.SizeBytes+1))
	return max(1000, deliveries/int64(max(1, s.fan(p))))
}
