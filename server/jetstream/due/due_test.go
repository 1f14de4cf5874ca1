package due_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/server/jetstream/clock"
	"runnel/server/jetstream/due"
)

// world is a stream in memory whose time passes in a bubble.
type world struct {
	t      *testing.T
	keeper *due.Keeper

	mu     sync.Mutex // guards everything below
	state  *jetlog.Stream
	body   *jetlog.Memory
	fired  []string
	wrong  error // what proposals fail with
	told   []string
	closed bool // the stream has ended
}

func newWorld(t *testing.T, cfg config.Stream) *world {
	cfg.Name, cfg.Subjects, cfg.MaxMessages, cfg.MaxBytes, cfg.MaxPerSubject, cfg.MaxMessageBytes = "S", []string{"s.>"}, -1, -1, -1, -1
	w := &world{t: t, state: jetlog.New(1, cfg, time.Now().UnixNano()), body: jetlog.NewMemory()}
	w.keeper = due.New(due.Config{
		Log: w, Clock: clock.New(nil), Propose: w.propose, Changed: func() {},
		Fired: func(m jetlog.Message, _ jetlog.Result) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.fired = append(w.fired, fmt.Sprintf("%s %s", m.Subject, m.Payload))
		},
		Failed: func(what string, _ error) bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.told = append(w.told, what)
			return !w.closed
		},
		Go: func(f func()) { go f() },
	})
	t.Cleanup(w.keeper.Stop)
	w.keeper.Reach()
	w.keeper.Watch()
	return w
}

func (w *world) View(do func(*jetlog.Stream, jetlog.Messages) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return do(w.state, w.body)
}

func (w *world) propose(c command.Command) (jetlog.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.wrong != nil {
		return jetlog.Result{}, w.wrong
	}
	return w.state.Apply(c, w.body)
}

func (w *world) publish(subject, header string) {
	w.t.Helper()
	c := &command.Publish{Time: time.Now().UnixNano(), Subject: subject, Payload: []byte("x")}
	if header != "" {
		c.Header, c.Fire = []byte("NATS/1.0\r\n"+header+"\r\n\r\n"), jetlog.Later(c.Time, 10*time.Second)
	}
	if r, err := w.propose(c); err != nil || r.Code != 0 {
		w.t.Fatalf("publish: got %+v, %v", r, err)
	}
	cfg := *w.state.Config()
	w.keeper.Stored(&cfg)
	synctest.Wait()
}

// holds checks after some time how many messages there are.
func (w *world) holds(after time.Duration, want uint64) {
	w.t.Helper()
	<-time.After(after)
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if got := w.state.State().Messages; got != want {
		w.t.Errorf("after %v: got %d messages, want %d", after, got, want)
	}
}

// TestExpire removes messages when they are old, and not before.
func TestExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config.Stream{MaxAge: time.Minute})
		w.publish("s.a", "")
		time.Sleep(30 * time.Second)
		w.publish("s.b", "")
		w.holds(29*time.Second, 2)
		w.holds(2*time.Second, 1)
		w.holds(30*time.Second, 0)
		w.publish("s.c", "") // after a time without anything
		w.holds(61*time.Second, 0)
	})
}

// TestFire publishes what is scheduled.
func TestFire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config.Stream{AllowSchedules: true, AllowRollup: true})
		w.publish("s.plan", "Nats-Schedule: @every 10s\r\nNats-Schedule-Target: s.now")
		w.holds(9*time.Second, 1)
		w.holds(2*time.Second, 2)
		w.holds(20*time.Second, 4)
		w.mu.Lock()
		defer w.mu.Unlock()
		if got := fmt.Sprint(w.fired); got != "[s.now x s.now x s.now x]" {
			t.Errorf("fired: got %s", got)
		}
	})
}

// TestFails tries again what fails, as long as there is a stream.
func TestFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config.Stream{MaxAge: time.Minute})
		w.publish("s.a", "")
		w.mu.Lock()
		w.wrong = errors.New("no disk")
		w.mu.Unlock()
		w.holds(time.Minute+time.Second, 1)
		w.mu.Lock()
		if len(w.told) == 0 || w.told[0] != "cannot expire messages" {
			t.Errorf("told: got %v", w.told)
		}
		w.wrong = nil
		w.mu.Unlock()
		w.holds(10*time.Second, 0)
		w.publish("s.b", "")
		w.mu.Lock()
		w.wrong, w.closed, w.told = errors.New("gone"), true, nil
		w.mu.Unlock()
		w.holds(time.Hour, 1)
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.told) != 1 {
			t.Errorf("after the end: told %v, want one failure", w.told)
		}
	})
}

// TestStop: nothing is done any more.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config.Stream{MaxAge: time.Minute})
		w.publish("s.a", "")
		w.keeper.Stop()
		w.holds(time.Hour, 1)
	})
}
