//go:build unix

package process_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"runnel/chaos/process"
	"runnel/chaos/process/processtest"
)

// server is one that keeps its word.
var server = processtest.New()

// patience is how long each step may take on a busy machine.
const patience = 2 * time.Minute

// TestClusterReal: a cluster of real servers goes through all that can be done to it, and keeps a message.
func TestClusterReal(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a server and runs five")
	}
	program := server.This(t)
	c, err := process.NewCluster(t.TempDir(), process.Options{Program: program, SyncAlways: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(c.Close(), c.Err()); err != nil {
			t.Error(err)
		}
		for _, s := range append(c.Servers(), c.Former()...) {
			if t.Failed() {
				t.Logf("end of the log of %s:\n%s", s.Name(), s.LogEnd(40))
			}
		}
	})
	steps := []struct {
		name string
		do   func(context.Context) error
	}{
		{"start", c.StartAll},
		{"publish", func(ctx context.Context) error { return publish(ctx, c) }},
		{"cut one and pause another", func(context.Context) error {
			c.Mesh().Part(0)
			return c.Servers()[1].Pause()
		}},
		{"heal", c.Heal},
		{"kill all", func(ctx context.Context) error { return errors.Join(c.KillAll(), c.Heal(ctx)) }},
		{"add one", func(ctx context.Context) error {
			_, err := c.Add(ctx)
			return err
		}},
		{"replace one", func(ctx context.Context) error {
			_, err := c.Replace(ctx, c.Servers()[0])
			return err
		}},
		{"stop one", func(ctx context.Context) error {
			s := c.Servers()[0]
			return errors.Join(s.LameDuck(ctx), s.Start(ctx))
		}},
	}
	for _, step := range steps {
		ctx := within(t, patience)
		if err := step.do(ctx); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if strings.HasPrefix(step.name, "cut") {
			continue
		}
		if err := c.WaitReady(ctx); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
	}
	if err := read(within(t, patience), c); err != nil {
		t.Error(err)
	}
}

// streams connects as a client of any server.
func streams(c *process.Cluster) (jetstream.JetStream, *nats.Conn, error) {
	var urls []string
	for _, s := range c.Servers() {
		urls = append(urls, s.ClientURL())
	}
	nc, err := nats.Connect(strings.Join(urls, ","))
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(nc)
	return js, nc, err
}

// publish makes a stream on three servers and publishes to it.
func publish(ctx context.Context, c *process.Cluster) error {
	if err := c.WaitReady(ctx); err != nil {
		return err
	}
	js, nc, err := streams(c)
	if err != nil {
		return err
	}
	defer nc.Close()
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Replicas: 3}); err != nil {
		return err
	}
	_, err = js.Publish(ctx, "s", []byte("kept"))
	return err
}

// read wants the message that was published. Leaders may have to be found first.
func read(ctx context.Context, c *process.Cluster) error {
	js, nc, err := streams(c)
	if err != nil {
		return err
	}
	defer nc.Close()
	last := errors.New("nobody was asked")
	for {
		stream, err := js.Stream(ctx, "S")
		if err == nil {
			var m *jetstream.RawStreamMsg
			if m, err = stream.GetMsg(ctx, 1); err == nil && string(m.Data) != "kept" {
				return errors.New("the message is another one: " + string(m.Data))
			}
		}
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", err, last)
		}
		last = err
	}
}
