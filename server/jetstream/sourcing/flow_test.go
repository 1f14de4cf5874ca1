package sourcing_test

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"runnel/headers"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
)

// TestFlowControl sees that a request of flow control is answered once what came before it is stored.
func TestFlowControl(t *testing.T) {
	for name, cfg := range map[string]config.Stream{"mirror": mirror(config.Source{}), "source": source(config.Source{})} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOrigin()
				f := begin(t, cfg, o)
				f.log.hold()
				o.add(1, "a", "x")
				o.send(o.deliver, "", "$JS.FC.O.c.1", api.StatusFlowControl.Block(), nil)
				synctest.Wait()
				if got := f.flows(); len(got) != 0 {
					t.Fatalf("answered before the message was stored: %v", got)
				}
				f.log.release()
				synctest.Wait()
				if got := f.flows(); len(got) != 1 || got[0].subject != "$JS.FC.O.c.1" || got[0].header != "" {
					t.Errorf("answers %v", got)
				}
				o.send(o.deliver, "", "", api.AppendHeartbeat(nil, 1, 1, "$JS.FC.O.c.2"), nil)
				synctest.Wait()
				if got := f.flows(); len(got) != 2 || got[1].subject != "$JS.FC.O.c.2" {
					t.Errorf("answers %v", got)
				}
			})
		})
	}
}

// TestAcknowledges sees that an origin whose messages go when they are acknowledged hears how far they are stored.
func TestAcknowledges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrigin()
		o.policy = "flow_control"
		o.add(4, "a", "x")
		f := begin(t, source(config.Source{}), o)
		o.send(o.deliver, "", "$JS.FC.O.c.1", api.StatusFlowControl.Block(), nil)
		synctest.Wait()
		got := f.flows()
		if len(got) != 1 {
			t.Fatalf("answers %v", got)
		}
		stream, _ := headers.Get([]byte(got[0].header), "Nats-Last-Stream")
		consumer, _ := headers.Get([]byte(got[0].header), "Nats-Last-Consumer")
		if string(stream) != "4" || string(consumer) != "1" {
			t.Errorf("acknowledged stream %q, consumer %q", stream, consumer)
		}
		f.stream.Close()
		synctest.Wait()
		if len(o.deleted) != 0 {
			t.Errorf("deleted %q, which is still to tell what was acknowledged", o.deleted)
		}
	})
}

// TestSharedConsumer uses a consumer that somebody has made.
func TestSharedConsumer(t *testing.T) {
	shared := config.Source{Consumer: &config.SourceConsumer{Name: "dur", DeliverSubject: "shared"}}
	t.Run("goes on", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			o := newOrigin()
			o.policy = "flow_control"
			o.add(1, "a", "x")
			f := begin(t, source(shared), o)
			f.has(t, "1 a x")
			asked := f.asked()
			if len(asked) != 1 || asked[0].subject != "$JS.API.CONSUMER.RESET.O.dur" || asked[0].body != "" {
				t.Errorf("asked %v", asked)
			}
			// What comes from before the reset is not taken for a gap.
			o.change(func() { o.sequence, o.floor = 40, 0 })
			f.stream.Close()
			synctest.Wait()
			f.open()
			synctest.Wait()
			o.add(2, "a", "y")
			f.has(t, "1 a x, 2 a y")
		})
	})
	t.Run("is ahead", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			o := newOrigin()
			o.policy = "flow_control"
			o.add(1, "a", "x")
			f := begin(t, source(shared), o)
			f.stream.Close()
			synctest.Wait()
			o.change(func() { o.floor = 5 })
			f.open()
			synctest.Wait()
			asked := f.asked()
			if len(asked) != 3 || asked[2].body != `{"seq":2}` {
				t.Errorf("asked %v", asked)
			}
		})
	})
	for name, cfg := range map[string]config.Stream{"10217": source(shared), "10214": mirror(shared)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := begin(t, cfg, newOrigin()) // without flow control
				infos := f.stream.Sources()
				if i := f.stream.Mirror(); i != nil {
					infos = append(infos, i)
				}
				if e := infos[0].Error; e == nil || e.ErrCode != map[string]int{"10217": 10217, "10214": 10214}[name] {
					t.Errorf("error %v", e)
				}
			})
		})
	}
}

// TestInbox sees that an origin that sends without end is stopped, and that nothing is missing in the end.
func TestInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrigin()
		f := begin(t, mirror(config.Source{}), o)
		f.log.hold()
		large := string(make([]byte, 16<<20))
		for i := range 9 {
			o.add(uint64(i+1), "a", large)
			synctest.Wait()
		}
		f.log.release()
		time.Sleep(30 * time.Second)
		if st := f.log.State(); st.Messages != 9 || st.Last != 9 {
			t.Errorf("state %+v", st)
		}
		if n := len(f.asked()); n < 2 {
			t.Errorf("%d requests", n)
		}
	})
}

// TestSlowLog sees that a log that takes nothing for long is waited for, and the origin kept.
func TestSlowLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrigin()
		f := begin(t, source(config.Source{}), o)
		f.log.hold()
		for i := range 2000 {
			o.add(uint64(i+1), "a", "x")
		}
		o.beatAll(time.Minute)
		if n := f.log.release(); n != 512 {
			t.Errorf("%d commands in flight", n)
		}
		synctest.Wait()
		if st := f.log.State(); st.Messages != 2000 || len(f.asked()) != 1 {
			t.Errorf("%d messages, %d requests", st.Messages, len(f.asked()))
		}
	})
}

// TestIdle sees that sources that have nothing to do have no goroutine.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config.Stream{}
		for i := range 500 {
			cfg.Sources = append(cfg.Sources, &config.Source{Name: fmt.Sprintf("O%d", i)})
		}
		before := runtime.NumGoroutine()
		f := begin(t, cfg, newOrigin())
		if n := len(f.asked()); n != 500 {
			t.Errorf("%d requests", n)
		}
		if n := runtime.NumGoroutine() - before; n > 50 {
			t.Errorf("%d goroutines", n)
		}
	})
}

// TestForged sees that what a client publishes to where the origin delivers is not stored.
func TestForged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrigin()
		f := begin(t, mirror(config.Source{}), o)
		forged := string(api.AppendAckSubject(nil, &api.AckSubject{
			Stream: "O", Consumer: "C", Deliveries: 1, StreamSequence: 1, ConsumerSequence: 1,
		}))
		o.send(o.deliver, "", forged, nil, []byte("forged"))
		o.send(o.deliver, "", "", nil, []byte("plain"))
		o.send(o.deliver, "a", "", nil, []byte("without a place"))
		f.has(t, "")
		o.add(1, "a", "x")
		f.has(t, "1 a x")
		if n := len(f.asked()); n != 1 {
			t.Errorf("%d requests", n)
		}
	})
}

// TestNotAdmitted sees that an account without room stops its mirrors and sources, until there is some.
func TestNotAdmitted(t *testing.T) {
	for name, cfg := range map[string]config.Stream{"mirror": mirror(config.Source{}), "source": source(config.Source{})} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOrigin()
				f := begin(t, cfg, o)
				admit := func(e *api.Error) {
					f.mu.Lock()
					defer f.mu.Unlock()
					f.full = e
				}
				admit(api.NewError(api.AccountExceeded))
				o.add(1, "a", "x")
				o.add(2, "a", "y")
				time.Sleep(time.Minute)
				f.has(t, "")
				infos := f.stream.Sources()
				if i := f.stream.Mirror(); i != nil {
					infos = append(infos, i)
				}
				if e := infos[0].Error; e == nil || e.ErrCode != 10002 {
					t.Errorf("error %v", e)
				}
				if n := len(f.asked()); n > 16 {
					t.Errorf("%d requests in a minute", n)
				}
				admit(nil)
				time.Sleep(20 * time.Second)
				f.has(t, "1 a x, 2 a y")
			})
		})
	}
}
