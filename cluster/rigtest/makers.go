package rigtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Makers create and delete streams, each its own one under the same name again and again. The promise: what was created
// is there and empty, what was deleted is gone with its messages, and both within the attempts of a client.
type Makers struct {
	*load
	cluster *Cluster
	js      jetstream.JetStream
	pause   time.Duration

	mu     sync.Mutex      // guards what follows
	exists map[string]bool // by name: whether the last answer says so
	made   int
}

// StartMakers has count makers go through the lives of streams with three replicas, over nc and with a pause in each life.
func (c *Cluster) StartMakers(nc *nats.Conn, count int, pause time.Duration) *Makers {
	c.t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		c.t.Fatal(err)
	}
	m := &Makers{load: newLoad(c.t), cluster: c, js: js, pause: pause, exists: make(map[string]bool)}
	for i := range count {
		m.all.Go(func() { m.make(fmt.Sprintf("MADE%d", i+1)) })
	}
	return m
}

// make makes, fills and deletes a stream until the load is stopped: sometimes in the middle.
func (m *Makers) make(name string) {
	for life := 1; m.running(); life++ {
		for _, step := range []func(context.Context, string, int) error{m.create, m.fill, m.remove} {
			if attempts, err := Retry(func(ctx context.Context) error { return step(ctx, name, life) }); err != nil {
				m.t.Errorf("life %d of %s: after %d attempts: %v", life, name, attempts, err)
				return
			}
			m.load.pause(m.pause)
			if !m.running() {
				break
			}
		}
	}
}

// create makes the stream. To create what is there, with the same configuration, is no mistake.
func (m *Makers) create(ctx context.Context, name string, _ int) error {
	_, err := m.js.CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{name + ".>"}, Replicas: 3})
	if err == nil {
		m.note(name, true)
	}
	return err
}

// fill publishes the first message of a life, which must be the first of its stream.
func (m *Makers) fill(ctx context.Context, name string, life int) error {
	text := Message{name, life}.String()
	ack, err := m.js.Publish(ctx, name+".x", []byte(text), jetstream.WithMsgID(text), jetstream.WithRetryAttempts(0))
	if err == nil && ack.Sequence != 1 {
		m.t.Errorf("life %d of %s begins with sequence %d, want 1", life, name, ack.Sequence)
	}
	return err
}

// remove deletes the stream. It may be gone by an attempt whose answer was lost.
func (m *Makers) remove(ctx context.Context, name string, _ int) error {
	err := m.js.DeleteStream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		err = nil
	}
	if err == nil {
		m.note(name, false)
	}
	return err
}

func (m *Makers) note(name string, exists bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.exists[name] = exists
	m.made++
}

// Progress waits until n more streams are created or deleted.
func (m *Makers) Progress(n int) {
	m.t.Helper()
	made := func() int {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.made
	}
	goal := made() + n
	Eventually(m.t, fmt.Sprintf("%d more streams to come or go", n), func() error {
		if got := made(); got < goal {
			return fmt.Errorf("%d are missing", goal-got)
		}
		return nil
	})
}

// Stop ends the load and asks every server for the streams.
func (m *Makers) Stop() {
	m.t.Helper()
	m.end()
	for _, n := range m.cluster.Nodes {
		nc := n.Connect()
		for name, want := range m.exists {
			Eventually(m.t, fmt.Sprintf("%s to know what became of %s", n.Name, name), func() error {
				_, err := StreamInfo(nc, name)
				missing := new(jetstream.APIError)
				if errors.As(err, &missing) && missing.ErrorCode == jetstream.JSErrCodeStreamNotFound {
					if err = nil; want {
						err = errors.New("it was created and is not there")
					}
				} else if err == nil && !want {
					err = errors.New("it was deleted and is there")
				}
				return err
			})
		}
	}
	m.t.Logf("%d streams created or deleted", m.made)
}
