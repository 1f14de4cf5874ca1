package delays_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/server/accounts"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/delays"
	"runnel/server/jetstream/handover"
)

// companion is a log of messages that are due, and the target that they are put into.
type companion struct {
	mu       sync.Mutex // guards everything below
	messages []jetlog.Message
	put      []string // subjects, in their order
	numbers  []uint64
	fail     func(subject string) (*api.Error, error)
	lost     bool // what is removed stays
}

func (c *companion) ID() uint64   { return 7 }
func (c *companion) Name() string { return "RUNNEL-DELAYED-S" }

func (c *companion) Read(_ uint64, filter jetlog.Filter, most, _ int, yield func(*jetlog.Message) bool) (uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.messages {
		if most > 0 && filter.Matches(c.messages[i].Subject) && yield(&c.messages[i]) {
			most--
		}
	}
	return 0, nil
}

func (c *companion) Start(_ context.Context, cmd command.Command, done func(jetlog.Result, error)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost {
		c.lost = false
		return errors.New("not led here")
	}
	seq := cmd.(*command.Delete).Sequence
	c.messages = slices.DeleteFunc(c.messages, func(m jetlog.Message) bool { return m.Sequence == seq })
	done(jetlog.Result{}, nil)
	return nil
}

// Put puts messages that are not there yet, by their numbers.
func (c *companion) Put(_ context.Context, stream string, list []handover.Message) ([]handover.Outcome, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]handover.Outcome, len(list))
	for i, m := range list {
		if m.Producer != "delayed.7" || stream != "S" {
			return nil, fmt.Errorf("%q puts into %q", m.Producer, stream)
		}
		if c.fail != nil {
			refusal, err := c.fail(m.Subject)
			if err != nil {
				return nil, err
			}
			if refusal != nil {
				for ; i < len(list); i++ {
					out[i].Refusal = refusal
				}
				return out, nil
			}
		}
		if out[i].Duplicate = slices.Contains(c.numbers, m.Number); !out[i].Duplicate {
			c.put, c.numbers = append(c.put, m.Subject), append(c.numbers, m.Number)
		}
	}
	return out, nil
}

// add adds a message that is due, or that is not.
func (c *companion) add(seq uint64, token, subject string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.messages = append(c.messages, jetlog.Message{Sequence: seq, Subject: "$RUNNEL.DELAYED.S." + token + "." + subject})
}

// is returns what was put, and how many messages are left.
func (c *companion) is() (put string, left int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.put, " "), len(c.messages)
}

func newMover(c *companion) *delays.Mover {
	return delays.NewMover(delays.MoverConfig{
		Log: c, Target: "S", Now: func() int64 { return 1 }, Put: c.Put, Logger: slog.New(slog.DiscardHandler),
	})
}

func TestMover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &companion{}
		c.add(3, "due", "a")
		c.add(4, "wait.id", "b")
		c.add(5, "due", "c.d")
		m := newMover(c)
		synctest.Wait()
		if put, left := c.is(); put != "a c.d" || left != 1 {
			t.Errorf("put %q, %d left", put, left)
		}
		c.add(9, "due", "e")
		m.Wake()
		synctest.Wait()
		if put, left := c.is(); put != "a c.d e" || left != 1 {
			t.Errorf("put %q, %d left", put, left)
		}
		m.Close()
		c.add(10, "due", "f")
		m.Wake()
		if put, _ := c.is(); put != "a c.d e" {
			t.Errorf("a mover that is closed has put %q", put)
		}
	})
}

// TestMoverTriesAgain lets puts fail, be refused, and what was put not be removed.
func TestMoverTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &companion{lost: true}
		failures := 3
		c.fail = func(subject string) (*api.Error, error) {
			if failures--; failures > 0 {
				return nil, handover.ErrUnknown
			}
			if subject == "b" && failures > -5 {
				return api.NewError(config.StoreFailed, "maximum messages exceeded"), nil
			}
			return nil, nil
		}
		for i, subject := range []string{"a", "b", "c"} {
			c.add(uint64(i+1), "due", subject)
		}
		m := newMover(c)
		defer m.Close()
		time.Sleep(time.Minute)
		synctest.Wait()
		if put, left := c.is(); put != "a b c" || left != 0 {
			t.Errorf("put %q, %d left", put, left)
		}
	})
}

// TestMoverUnwanted goes on behind what no consumer of an interest stream wants: the stream would not keep it. Behind what is refused
// otherwise it waits.
func TestMoverUnwanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &companion{}
		c.fail = func(subject string) (*api.Error, error) {
			if subject == "full" {
				return api.NewError(config.StoreFailed, "maximum messages exceeded"), nil
			}
			if strings.HasPrefix(subject, "no") {
				return api.NewError(config.StoreFailed, jetlog.Unwanted), nil
			}
			return nil, nil
		}
		for i, subject := range []string{"a", "no.1", "no.2", "b", "full", "c"} {
			c.add(uint64(i+1), "due", subject)
		}
		m := newMover(c)
		defer m.Close()
		time.Sleep(time.Minute)
		synctest.Wait()
		if put, left := c.is(); put != "a b" || left != 2 {
			t.Errorf("put %q, %d left", put, left)
		}
	})
}

// outlet collects what is published.
type outlet struct {
	mu    sync.Mutex
	sent  []string
	heard int // how many hear of each
}

func (o *outlet) Publish(_ *accounts.Account, subject, reply string, _, payload []byte) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	if strings.HasPrefix(subject, "$RUNNEL.DELAYED.S.wait.") {
		subject = "companion"
	}
	o.sent = append(o.sent, strings.TrimSpace(fmt.Sprintf("%s %s %s", subject, reply, payload)))
	return o.heard
}
func (o *outlet) Flush() {}
func (o *outlet) Close() {}

func TestKeeper(t *testing.T) {
	for _, c := range []struct {
		name  string
		heard int
		fails error
		want  string
	}{
		{"kept", 1, nil, "companion reply x"},
		{"nobody leads", 0, nil, `companion reply x, reply  {"error":{"code":503,"err_code":11061,"description":"what is to be published later cannot be kept, try again: nobody leads it"},"stream":"RUNNEL-DELAYED-S","seq":0}`},
		{"cannot be made", 1, errors.New("no room"), `reply  {"error":{"code":503,"err_code":11061,"description":"what is to be published later cannot be kept, try again: no room"},"stream":"RUNNEL-DELAYED-S","seq":0}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := &outlet{heard: c.heard}
				k := delays.NewKeeper(delays.KeeperConfig{
					Account: new(accounts.Account), Target: func() *config.Stream { return &config.Stream{Name: "S"} },
					Outlet: func() delays.Outlet { return o }, Ensure: func(context.Context, config.Stream) error { return c.fails },
					Logger: slog.New(slog.DiscardHandler), Clock: time.Now,
				})
				defer k.Close()
				taken, _, refusal := k.Take("s.a", "reply", block("Runnel-Delay", "1h"), []byte("x"))
				if !taken || refusal != nil {
					t.Fatalf("taken %v, %v", taken, refusal)
				}
				if taken, rest, refusal := k.Take("s.a", "reply", block("Runnel-Delay", "0s"), nil); taken || refusal != nil || rest != nil {
					t.Errorf("due already: taken %v, %q, %v", taken, rest, refusal)
				}
				if taken, _, refusal := k.Take("s.a", "", block("Runnel-Delay", "1h"), make([]byte, 20<<20)); taken || refusal == nil {
					t.Errorf("too much: taken %v, %v", taken, refusal)
				}
				synctest.Wait()
				if got := strings.Join(o.sent, ", "); got != c.want {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
			})
		})
	}
}
