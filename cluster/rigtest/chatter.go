package rigtest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// chatSubject has one token more: the publisher.
const chatSubject = "rig.chat."

// Chatter is core publish and subscribe: each server has a publisher and a subscriber of all. The promise: a subscriber
// has what a publisher sends over one connection in order, and nothing twice; what is sent while the network is broken
// may be lost, but when nothing is broken any more all arrives.
type Chatter struct {
	*load
	publishers  []*nats.Conn
	subscribers []*listener
}

// listener is what one subscriber has heard.
type listener struct {
	name string

	mu    sync.Mutex     // guards what follows
	last  map[string]int // by publisher and life of its connection: the last number
	count map[string]int // by the same: how many messages
	wrong findings
}

func newListener(name string) *listener {
	return &listener{name: name, last: make(map[string]int), count: make(map[string]int)}
}

// hear notes a message.
func (l *listener) hear(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m, err := ParseMessage(text)
	if err != nil {
		l.wrong.add("alien", "%v", err)
		return
	}
	switch last := l.last[m.Writer]; {
	case m.N == last:
		l.wrong.add("twice", "message %d of %s", m.N, m.Writer)
	case m.N < last:
		l.wrong.add("order", "message %d of %s after %d", m.N, m.Writer, last)
	}
	l.last[m.Writer] = m.N
	l.count[m.Writer]++
}

// heard is how many messages of a publisher there were, and the last one's number.
func (l *listener) heard(publisher string) (count, last int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count[publisher], l.last[publisher]
}

func (l *listener) findings() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wrong.list()
}

// StartChatter connects publishers and subscribers and has them talk, with a pause after each message.
func (c *Cluster) StartChatter(pause time.Duration) *Chatter {
	c.t.Helper()
	h := new(Chatter)
	for _, n := range c.Nodes {
		l := newListener(n.Name)
		nc := n.Connect()
		if _, err := nc.Subscribe(chatSubject+"*", func(m *nats.Msg) { l.hear(string(m.Data)) }); err != nil {
			c.t.Fatal(err)
		}
		if err := nc.Flush(); err != nil {
			c.t.Fatal(err)
		}
		h.subscribers = append(h.subscribers, l)
		// A message that waits for a connection would come after one of the next.
		h.publishers = append(h.publishers, n.Connect(nats.ReconnectBufSize(-1), nats.Name(n.Name)))
	}
	h.load = newLoad(c.t)
	for _, nc := range h.publishers {
		h.all.Go(func() { h.talk(nc, pause) })
	}
	return h
}

// talk publishes until the load is stopped.
func (h *Chatter) talk(nc *nats.Conn, pause time.Duration) {
	for n := 1; h.running(); n++ {
		h.say(nc, fmt.Sprintf("%s-%d", nc.Opts.Name, nc.Stats().Reconnects), n)
		h.pause(pause)
	}
}

// say publishes the n-th message of a publisher, as far as there is a connection.
func (h *Chatter) say(nc *nats.Conn, publisher string, n int) {
	err := nc.Publish(chatSubject+nc.Opts.Name, []byte(Message{publisher, n}.String()))
	if err != nil && !errors.Is(err, nats.ErrReconnectBufExceeded) && !errors.Is(err, nats.ErrConnectionReconnecting) {
		h.t.Errorf("publish as %s: %v", publisher, err)
	}
}

// Stop ends the talk and looks whether it was in order. Then, with nothing broken any more, it waits until all servers
// know all subscribers, and looks whether they get everything.
func (h *Chatter) Stop() {
	h.t.Helper()
	h.end()
	h.meet()
	h.exact(500)
	for _, l := range h.subscribers {
		if found := l.findings(); len(found) > 0 {
			h.t.Errorf("subscriber at %s:\n  %s", l.name, strings.Join(found, "\n  "))
		}
	}
}

// meet waits until every publisher is heard by every subscriber.
func (h *Chatter) meet() {
	h.t.Helper()
	n := 0
	Eventually(h.t, "all subscribers to hear all publishers", func() error {
		n++
		for _, nc := range h.publishers {
			h.say(nc, nc.Opts.Name+"-meet", n)
		}
		return h.each(func(l *listener, publisher string) error {
			if count, _ := l.heard(publisher + "-meet"); count == 0 {
				return fmt.Errorf("%s does not hear %s", l.name, publisher)
			}
			return nil
		})
	})
}

// exact publishes a number of messages from each server, all of which must arrive.
func (h *Chatter) exact(messages int) {
	h.t.Helper()
	for _, nc := range h.publishers {
		for n := range messages {
			h.say(nc, nc.Opts.Name+"-exact", n+1)
		}
	}
	Eventually(h.t, "the last message of each publisher", func() error {
		return h.each(func(l *listener, publisher string) error {
			if _, last := l.heard(publisher + "-exact"); last < messages {
				return fmt.Errorf("%s has heard %d of %d from %s", l.name, last, messages, publisher)
			}
			return nil
		})
	})
	err := h.each(func(l *listener, publisher string) error {
		if count, _ := l.heard(publisher + "-exact"); count != messages {
			return fmt.Errorf("%s has heard %d messages from %s, want %d", l.name, count, publisher, messages)
		}
		return nil
	})
	if err != nil {
		h.t.Error(err)
	}
}

// each asks about every pair of subscriber and publisher, until there is an error.
func (h *Chatter) each(f func(l *listener, publisher string) error) error {
	for _, l := range h.subscribers {
		for _, nc := range h.publishers {
			if err := f(l, nc.Opts.Name); err != nil {
				return err
			}
		}
	}
	return nil
}
