package callout_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"runnel/headers"
	"runnel/server/callout"
)

// TestAsk asks a service that answers, in clear and sealed.
func TestAsk(t *testing.T) {
	for _, sealed := range []bool{false, true} {
		w := newWorld(t, sealed, 0)
		var user string
		w.bus.arrive(func(m message) {
			payload := m.payload
			if sealed {
				key, _ := headers.Get(m.header, "Nats-Server-Xkey")
				var err error
				if payload, err = w.service.Open(m.payload, string(key)); err != nil {
					t.Errorf("open the request: %v", err)
				}
			} else if m.header != nil {
				t.Errorf("header %q in clear", m.header)
			}
			c := w.request(payload)
			user = c.UserNkey
			if m.subject != callout.Subject || c.Audience != "nats-authorization-request" || c.Issuer != w.id || c.Subject != w.account {
				t.Errorf("got a request on %s with claims %+v", m.subject, c.ClaimsData)
			}
			if c.ConnectOptions.Password != "p" || c.ClientInformation.ID != 7 || c.ClientInformation.Nonce != "nonce" || c.Server.ID != w.id {
				t.Errorf("got %+v", c.AuthorizationRequest)
			}
			if (c.Server.XKey == w.curve) != sealed {
				t.Errorf("xkey in the request: %q", c.Server.XKey)
			}
			answer := sign(t, w.claims(c.UserNkey, nil), w.issuer)
			if sealed {
				var err error
				if answer, err = w.service.Seal(answer, w.curve); err != nil {
					t.Error(err)
				}
			}
			w.bus.answer(m.reply, answer)
			w.bus.answer(m.reply, []byte("a second answer counts for nothing"))
		})
		got, err := w.ask(time.Minute)
		if err != nil {
			t.Fatalf("sealed %v: %v", sealed, err)
		}
		if got.User != "the user" || got.Key != user {
			t.Errorf("sealed %v: got %+v, want the answer for %s", sealed, got, user)
		}
	}
}

// TestAskPatience: who does not answer, or not in time, is given up; who comes late is asked still.
func TestAskPatience(t *testing.T) {
	answer := func(w *world) func(message) {
		return func(m message) {
			w.bus.answer(m.reply, sign(t, w.claims(w.request(m.payload).UserNkey, nil), w.issuer))
		}
	}
	tests := []struct {
		name string
		run  func(w *world)
		want error
		wait time.Duration
	}{
		{"nobody comes", func(*world) {}, callout.ErrNoService, 2 * time.Second},
		{"no answer", func(w *world) { w.bus.arrive(func(message) {}) }, callout.ErrNoAnswer, 2 * time.Second},
		{"somebody comes", func(w *world) {
			go func() {
				<-time.After(time.Second)
				w.bus.arrive(answer(w))
			}()
		}, nil, time.Second},
		{"somebody comes and goes", func(w *world) {
			go func() {
				<-time.After(time.Second)
				w.bus.arrive(nil)
			}()
		}, callout.ErrNoService, 2 * time.Second},
		{"closed while nobody is there", func(w *world) {
			go func() {
				<-time.After(time.Second)
				w.Close()
			}()
		}, callout.ErrClosed, time.Second},
		{"closed while an answer is due", func(w *world) {
			w.bus.arrive(func(message) {})
			go func() {
				<-time.After(time.Second)
				w.Close()
			}()
		}, callout.ErrClosed, time.Second},
		{"an answer that comes after the end", func(w *world) {
			w.bus.arrive(func(m message) {
				go func() {
					<-time.After(3 * time.Second)
					w.bus.answer(m.reply, []byte("late"))
				}()
			})
		}, callout.ErrNoAnswer, 2 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, false, 0)
				tt.run(w)
				begin := time.Now()
				_, err := w.ask(2 * time.Second)
				if !errors.Is(err, tt.want) {
					t.Errorf("got error %v, want %v", err, tt.want)
				}
				if got := time.Since(begin); got != tt.wait {
					t.Errorf("it took %v, want %v", got, tt.wait)
				}
				<-time.After(5 * time.Second)
				w.Close()
				w.Close()
				if n := w.bus.left(); n != 0 {
					t.Errorf("%d subscriptions and watches are left", n)
				}
			})
		})
	}
}

// TestAskClosed: nobody is asked by a Service that is closed.
func TestAskClosed(t *testing.T) {
	w := newWorld(t, false, 0)
	w.Close()
	if _, err := w.ask(time.Minute); !errors.Is(err, callout.ErrClosed) {
		t.Errorf("got error %v, want %v", err, callout.ErrClosed)
	}
	if n := w.bus.left(); n != 0 {
		t.Errorf("%d subscriptions are left", n)
	}
}

// TestAskBounded: no more than so many clients are asked about at a time, and the others have their turn or give up.
func TestAskBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most, clients = 3, 8
		w := newWorld(t, false, most)
		w.bus.arrive(func(message) {}) // it never answers
		var noAnswer, busy atomic.Int32
		var running sync.WaitGroup
		for range clients {
			running.Go(func() {
				switch _, err := w.ask(time.Second); {
				case errors.Is(err, callout.ErrNoAnswer):
					noAnswer.Add(1)
				case errors.Is(err, callout.ErrBusy):
					busy.Add(1)
				default:
					t.Errorf("got error %v", err)
				}
			})
		}
		synctest.Wait()
		if n := w.bus.published(); n != most {
			t.Errorf("%d were asked about at once, want %d", n, most)
		}
		running.Wait()
		// Who ends at the same moment may leave its turn to one that has not noticed yet.
		if noAnswer.Load() < most || noAnswer.Load()+busy.Load() != clients {
			t.Errorf("%d without an answer, %d without a turn; want %d and the rest", noAnswer.Load(), busy.Load(), most)
		}
		w.bus.arrive(func(m message) {
			go func() {
				<-time.After(100 * time.Millisecond)
				w.bus.answer(m.reply, sign(t, w.claims(w.request(m.payload).UserNkey, nil), w.issuer))
			}()
		})
		for range clients {
			running.Go(func() {
				if _, err := w.ask(time.Second); err != nil {
					t.Errorf("a slow service: %v", err)
				}
			})
		}
		running.Wait()
	})
}

// TestForeignAnswers: what comes on the subjects of answers unasked is dropped.
func TestForeignAnswers(t *testing.T) {
	w := newWorld(t, false, 0)
	var reply string
	w.bus.arrive(func(m message) {
		reply = m.reply
		w.bus.answer(m.reply+"x", []byte("guessed"))
		w.bus.answer(m.reply, sign(t, w.claims(w.request(m.payload).UserNkey, nil), w.issuer))
	})
	if _, err := w.ask(time.Minute); err != nil {
		t.Fatal(err)
	}
	w.bus.answer(reply, []byte("again"))
	first := reply
	if _, err := w.ask(time.Minute); err != nil {
		t.Fatal(err)
	}
	if reply == first {
		t.Error("two requests have one subject for answers")
	}
}

// BenchmarkAsk is what a login costs on the side of the server, with a service that answers at once.
func BenchmarkAsk(b *testing.B) {
	w := newWorld(b, false, 0)
	w.bus.arrive(func(m message) {
		w.bus.answer(m.reply, sign(b, w.claims(w.request(m.payload).UserNkey, nil), w.issuer))
	})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.ask(time.Minute); err != nil {
			b.Fatal(err)
		}
	}
}
