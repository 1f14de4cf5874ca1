package bench

import (
	"context"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"

	"runnel/bench/verify"
)

// all is the lane of every message of each of the first n publishers.
func all(n int) []verify.Lane {
	lanes := make([]verify.Lane, n)
	for i := range lanes {
		lanes[i] = verify.Lane{Publisher: uint32(i), Stride: 1}
	}
	return lanes
}

// publishersOn makes n publishers that share the given subjects.
func publishersOn(n int, header nats.Header, subjects ...string) []publisherPlan {
	plans := make([]publisherPlan, n)
	for i := range plans {
		plans[i] = publisherPlan{subjects: subjects, header: header}
	}
	return plans
}

// runPub publishes to nobody. The subject is the plain one, where a sub that
// runs elsewhere listens.
func runPub(ctx context.Context, s *session) error {
	return runTopology(ctx, s, topology{publishers: publishersOn(s.params.Publishers, nil, s.target.Subject), exact: true})
}

// runPubSub has every subscriber get everything of every publisher: 1:1,
// fan-out and fan-in.
func runPubSub(ctx context.Context, s *session) error {
	return runTopology(ctx, s, pubSub(s, nil))
}

// runHeaders is runPubSub with a header on every message.
func runHeaders(ctx context.Context, s *session) error {
	return runTopology(ctx, s, pubSub(s, nats.Header{
		"Bench-Run":    {s.prefix},
		"Bench-Trace":  {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
		"Content-Type": {"application/octet-stream"},
	}))
}

// pubSub is the topology in which all hear all.
func pubSub(s *session, header nats.Header) topology {
	p := s.params
	t := topology{publishers: publishersOn(p.Publishers, header, s.prefix), conns: p.Subscribers}
	for i := range p.Subscribers {
		t.groups = append(t.groups, []listenerPlan{{conn: i, pattern: s.prefix, header: header, lanes: all(p.Publishers)}})
	}
	return t
}

// runPairs gives each publisher a subject and a subscriber of its own.
func runPairs(ctx context.Context, s *session) error {
	n := s.params.Publishers
	t := topology{conns: n}
	for i := range n {
		subject := s.prefix + "." + strconv.Itoa(i)
		t.publishers = append(t.publishers, publisherPlan{subjects: []string{subject}})
		t.groups = append(t.groups, []listenerPlan{{conn: i, pattern: subject, lanes: []verify.Lane{{Publisher: uint32(i), Stride: 1}}}})
	}
	return runTopology(ctx, s, t)
}

// runQueue lets the members of one queue group share the messages.
func runQueue(ctx context.Context, s *session) error {
	p := s.params
	members := make([]listenerPlan, p.Subscribers)
	for i := range members {
		members[i] = listenerPlan{conn: i, pattern: s.prefix, queue: "workers", lanes: all(p.Publishers)}
	}
	return runTopology(ctx, s, topology{
		publishers: publishersOn(p.Publishers, nil, s.prefix),
		groups:     [][]listenerPlan{members},
		conns:      p.Subscribers,
	})
}

// subjectsPerGroup is how many subjects of the subjects scenario share a token.
const subjectsPerGroup = 10

// runSubjects sends message n to subject n modulo their number. Subject n is
// PREFIX.(n modulo groups).n, so a literal subscription gets every subjects-th
// message, a group's wildcard every groups-th, the full wildcard all.
func runSubjects(ctx context.Context, s *session) error {
	p := s.params
	if p.Subjects%subjectsPerGroup != 0 {
		return fmt.Errorf("%d subjects cannot be grouped: use a multiple of %d", p.Subjects, subjectsPerGroup)
	}
	groups := p.Subjects / subjectsPerGroup
	t := topology{conns: p.Subscribers}
	listen := func(pattern string, stride, offset int) {
		lanes := all(p.Publishers)
		for i := range lanes {
			lanes[i].Stride, lanes[i].Offset = uint64(stride), uint64(offset)
		}
		t.groups = append(t.groups, []listenerPlan{{conn: len(t.groups) % p.Subscribers, pattern: pattern, lanes: lanes}})
	}
	names := make([]string, p.Subjects)
	for n := range names {
		names[n] = fmt.Sprintf("%s.%d.%d", s.prefix, n%groups, n)
		listen(names[n], p.Subjects, n)
	}
	for g := range groups {
		listen(fmt.Sprintf("%s.%d.*", s.prefix, g), groups, g)
	}
	listen(s.prefix+".>", 1, 0)
	t.publishers = publishersOn(p.Publishers, nil, names...)
	return runTopology(ctx, s, t)
}
