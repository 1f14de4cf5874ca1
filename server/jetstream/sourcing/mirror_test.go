package sourcing_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"runnel/headers"
	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
)

func TestMirrorFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrigin()
		o.add(3, "a.1", "one", headers.Field{Name: "Nats-Expected-Last-Sequence", Value: "0"}, headers.Field{Name: "K", Value: "v"})
		o.add(4, "a.2", "two")
		f := begin(t, mirror(config.Source{}), o)
		f.has(t, "3 a.1 one, 4 a.2 two")
		o.add(9, "a.3", "three")
		f.has(t, "3 a.1 one, 4 a.2 two, 9 a.3 three")
		m := f.log.load(t, 3)
		if got := string(m.Header); got != "NATS/1.0\r\nK: v\r\n\r\n" || m.Time != 3000 {
			t.Errorf("got header %q, time %d", got, m.Time)
		}
		if got := f.told(); got != "3 a.1, 4 a.2, 9 a.3" {
			t.Errorf("told of %q", got)
		}
		i := f.stream.Mirror()
		if i.Name != "O" || i.Lag != 3 || i.Active != 0 || i.Error != nil || i.Sequence != 0 {
			t.Errorf("info %+v", i)
		}
		if f.stream.Sources() == nil || len(f.stream.Sources()) != 0 {
			t.Errorf("sources %v", f.stream.Sources())
		}
	})
}

// TestMirrorBatches sees that many messages come with few commands, and all of them.
func TestMirrorBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrigin()
		for i := range 1000 {
			o.add(uint64(i+1), "a", "x")
		}
		f := begin(t, mirror(config.Source{}), o)
		synctest.Wait()
		if st := f.log.State(); st.Messages != 1000 || st.Last != 1000 {
			t.Fatalf("state %+v", st)
		}
		_ = f.log.View(func(s *jetlog.Stream, _ jetlog.Messages) error {
			if s.Applied() > 100 {
				t.Errorf("%d commands", s.Applied())
			}
			return nil
		})
	})
}

func TestMirrorRequest(t *testing.T) {
	start := time.Unix(100, 0).UTC()
	tests := []struct {
		name   string
		source config.Source
		// subject has NAME for the name of the consumer.
		subject string
		want    func(c *config.Consumer) bool
	}{
		{"plain", config.Source{}, "$JS.API.CONSUMER.CREATE.O", func(c *config.Consumer) bool {
			return c.Deliver == config.DeliverAll && c.Ack == config.AckNone && c.AckWait == 22*time.Hour && c.MaxDeliver == 1 &&
				c.FlowControl && c.Heartbeat == time.Second && c.Inactive == 10*time.Second && c.Direct && c.Sourcing &&
				strings.HasPrefix(c.DeliverSubject, "$JS.M.") && c.Metadata["_nats.mirror.stream"] == "S" &&
				strings.HasPrefix(c.Name, "JS_MIRROR_") && len(c.Filters()) == 0
		}},
		{"filter", config.Source{FilterSubject: "a.>"}, "$JS.API.CONSUMER.CREATE.O.NAME.a.>", func(c *config.Consumer) bool {
			return c.FilterSubject == "a.>"
		}},
		{
			"one transform",
			config.Source{Transforms: []config.Transform{{Source: "a.*", Destination: "b.{{wildcard(1)}}"}}},
			"$JS.API.CONSUMER.CREATE.O.NAME.a.*", func(c *config.Consumer) bool { return c.FilterSubject == "a.*" },
		},
		{
			"all is transformed",
			config.Source{Transforms: []config.Transform{{Source: ">", Destination: "b.>"}}},
			"$JS.API.CONSUMER.CREATE.O", func(c *config.Consumer) bool { return len(c.Filters()) == 0 },
		},
		{
			"two transforms",
			config.Source{Transforms: []config.Transform{{Source: "a"}, {Source: "b", Destination: "c"}}},
			"$JS.API.CONSUMER.CREATE.O", func(c *config.Consumer) bool { return len(c.FilterSubjects) == 2 },
		},
		{"start sequence", config.Source{StartSequence: 7}, "$JS.API.CONSUMER.CREATE.O", func(c *config.Consumer) bool {
			return c.Deliver == config.DeliverByStartSequence && c.StartSequence == 7
		}},
		{"start time", config.Source{StartTime: &start}, "$JS.API.CONSUMER.CREATE.O", func(c *config.Consumer) bool {
			return c.Deliver == config.DeliverByStartTime && c.StartTime.Equal(start)
		}},
		{
			"external",
			config.Source{External: &config.External{API: "$JS.D.API", Deliver: "in"}},
			"$JS.D.API.CONSUMER.CREATE.O",
			func(c *config.Consumer) bool { return strings.HasPrefix(c.DeliverSubject, "in.") },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := begin(t, mirror(tt.source), newOrigin())
				asked := f.asked()
				if len(asked) != 1 {
					t.Fatalf("%d requests", len(asked))
				}
				c := asked[0].consumer(t)
				if got := strings.Replace(asked[0].subject, c.Name, "NAME", 1); got != tt.subject {
					t.Errorf("asked %q, want %q", got, tt.subject)
				}
				if !tt.want(&c) {
					t.Errorf("asked for %+v", c)
				}
				if level, _ := headers.Get([]byte(asked[0].header), api.LevelHeader); string(level) != "4" {
					t.Errorf("level %q", level)
				}
			})
		})
	}
}

func TestMirrorTransforms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrigin()
		o.add(1, "a.1", "x")
		o.add(2, "b.1", "y")
		o.add(3, "other", "z")
		cfg := mirror(config.Source{Transforms: []config.Transform{{Source: "a.*", Destination: "c.$1"}, {Source: "b.*"}}})
		cfg.SubjectTransform = &config.Transform{Source: "c.>", Destination: "d.>"}
		f := begin(t, cfg, o)
		f.has(t, "1 d.1 x, 2 b.1 y")
	})
}

// TestMirrorResumes opens the stream again, and sees that nothing is asked for twice.
func TestMirrorResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrigin()
		o.add(5, "a", "x")
		f := begin(t, mirror(config.Source{StartSequence: 2}), o)
		f.stream.Close()
		synctest.Wait()
		if len(o.deleted) != 1 || !strings.HasPrefix(o.deleted[0], "$JS.API.CONSUMER.DELETE.O.C1") {
			t.Errorf("the origin was told %q", o.deleted)
		}
		f.open()
		f.has(t, "5 a x")
		asked := f.asked()
		if c := asked[1].consumer(t); c.StartSequence != 6 || c.Name != asked[0].consumer(t).Name {
			t.Errorf("asked for %+v", c)
		}
		o.add(6, "a", "y")
		f.has(t, "5 a x, 6 a y")
	})
}

// TestMirrorPasses sees that a mirror goes to where its origin is that has nothing more of what it had.
func TestMirrorPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrigin()
		o.floor = 3
		f := begin(t, mirror(config.Source{}), o)
		f.has(t, "")
		if s := f.log.State(); s.First != 4 || s.Last != 3 || s.LastTime != 0 {
			t.Errorf("behind a purge: %+v", s)
		}
		o.add(4, "a", "x")
		f.has(t, "4 a x")
		f.stream.Close()
		o.change(func() { o.floor = 9 })
		f.open()
		f.has(t, "4 a x")
		if s := f.log.State(); s.Last != 9 {
			t.Errorf("behind another purge: %+v", s)
		}
		o.add(10, "a", "y")
		f.has(t, "4 a x, 10 a y")
	})
}

// TestMirrorOfAnother sees that it is told when the origin is behind its mirror, and that it is followed later.
func TestMirrorOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrigin()
		o.add(1, "a", "x")
		o.add(2, "a", "y")
		f := begin(t, mirror(config.Source{}), o)
		f.has(t, "1 a x, 2 a y")
		if o.infos != 0 {
			t.Errorf("asked %d times for nothing", o.infos)
		}
		o.change(func() {
			o.identity, o.messages = "another", nil
			o.messages = append(o.messages, jetlog.Message{Sequence: 1, Subject: "b", Payload: []byte("z")})
		})
		f.all.Appeared(f.account, "O")
		f.has(t, "1 a x, 2 a y")
		if e := f.stream.Mirror().Error; e == nil || e.ErrCode != 10225 || !strings.Contains(e.Description, "ends at 1") {
			t.Errorf("info has %v", e)
		}
		for _, want := range []string{"origin of a mirror was made anew", "ends before what its mirror has"} {
			if !strings.Contains(f.logged.String(), want) {
				t.Errorf("%q is not in the log:\n%s", want, f.logged.String())
			}
		}
		o.add(2, "b", "lost")
		o.add(3, "b", "z")
		f.has(t, "1 a x, 2 a y, 3 b z")
		if e := f.stream.Mirror().Error; e != nil {
			t.Errorf("info still has %v", e)
		}
	})
}

// TestMirrorAsBefore sees that nothing is told of an origin that is as far as its mirror, or that does not say.
func TestMirrorAsBefore(t *testing.T) {
	for name, last := range map[string]uint64{"same": 2, "beyond, but not of what is copied": 7} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOrigin()
				o.add(2, "a", "x")
				f := begin(t, mirror(config.Source{}), o)
				o.change(func() { o.last = last })
				f.all.Appeared(f.account, "O")
				f.has(t, "2 a x")
				if e := f.stream.Mirror().Error; e != nil || o.infos != 1 || f.logged.Len() > 0 {
					t.Errorf("info has %v after %d questions, log %q", e, o.infos, f.logged.String())
				}
			})
		})
	}
}

// TestRecreates sees that the consumer is made anew behind the last message, when it has become unusable.
func TestRecreates(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(o *origin, f *fixture)
		after time.Duration // of the second request
	}{
		{"a message is missing", func(o *origin, _ *fixture) {
			o.change(func() { o.sequence++ })
			o.add(2, "a", "y")
		}, 100 * time.Millisecond},
		{"a heartbeat tells of a message", func(o *origin, _ *fixture) {
			o.change(func() {
				o.messages = append(o.messages, jetlog.Message{Sequence: 2, Subject: "a", Payload: []byte("y")})
			})
			o.beat(2)
		}, 100 * time.Millisecond},
		{"silence", func(o *origin, _ *fixture) {
			o.change(func() {
				o.messages = append(o.messages, jetlog.Message{Sequence: 2, Subject: "a", Payload: []byte("y")})
			})
		}, 10*time.Second + 100*time.Millisecond},
		{"a status", func(o *origin, _ *fixture) {
			o.send(o.deliver, "", "", api.StatusConsumerDeleted.Block(), nil)
			o.change(func() {
				o.messages = append(o.messages, jetlog.Message{Sequence: 2, Subject: "a", Payload: []byte("y")})
			})
		}, 100 * time.Millisecond},
		{"the origin is there anew", func(o *origin, f *fixture) {
			o.change(func() {
				o.messages = append(o.messages, jetlog.Message{Sequence: 2, Subject: "a", Payload: []byte("y")})
			})
			f.all.Appeared(f.account, "O")
		}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOrigin()
				o.add(1, "a", "x")
				f := begin(t, mirror(config.Source{}), o)
				f.has(t, "1 a x")
				begun := time.Now()
				tt.spoil(o, f)
				time.Sleep(20 * time.Second)
				asked := f.asked()
				if len(asked) < 2 {
					t.Fatal("no second request")
				}
				if got := asked[1].at.Sub(begun); got != tt.after {
					t.Errorf("asked again after %v, want %v", got, tt.after)
				}
				if c := asked[1].consumer(t); c.StartSequence != 2 || c.DeliverSubject == asked[0].consumer(t).DeliverSubject {
					t.Errorf("asked for %+v", c)
				}
				f.has(t, "1 a x, 2 a y")
			})
		})
	}
}

// TestHeartbeats sees that a consumer that beats is kept.
func TestHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrigin()
		o.add(1, "a", "x")
		f := begin(t, mirror(config.Source{}), o)
		o.beatAll(time.Minute)
		if n := len(f.asked()); n != 1 {
			t.Errorf("%d requests", n)
		}
		if i := f.stream.Mirror(); i.Active != 0 {
			t.Errorf("info %+v", i)
		}
	})
}

// TestBackOff sees that an origin that is missing is asked ever more seldom, and at once when it appears.
func TestBackOff(t *testing.T) {
	refuse := func(o *origin) { o.refuses = api.NewError(api.StreamNotFound) }
	tests := []struct {
		name   string
		spoil  func(o *origin)
		within int // requests in a minute
		failed int // err_code in infos
	}{
		{"no such stream", refuse, 13, 10059},
		{"nobody there", func(o *origin) { o.absent = true }, 13, 0},
		{"no answer", func(o *origin) { o.silent = true }, 5, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOrigin()
				tt.spoil(o)
				f := begin(t, mirror(config.Source{}), o)
				time.Sleep(time.Minute)
				if n := len(f.asked()); n < tt.within-2 || n > tt.within+2 {
					t.Errorf("%d requests in a minute", n)
				}
				i := f.stream.Mirror()
				if i.Active != api.Never || tt.failed != 0 && (i.Error == nil || i.Error.ErrCode != tt.failed) {
					t.Errorf("info %+v", i)
				}
				o.change(func() { o.refuses, o.absent, o.silent = nil, false, false })
				o.add(1, "a", "x")
				f.all.Appeared(f.account, "other")
				synctest.Wait()
				n := len(f.asked())
				f.all.Appeared(f.account, "O")
				f.has(t, "1 a x")
				if got := len(f.asked()); got != n+1 {
					t.Errorf("%d requests after it has appeared", got-n)
				}
				if i := f.stream.Mirror(); i.Error != nil {
					t.Errorf("info %+v", i)
				}
			})
		})
	}
}

// TestFullMirror sees that a mirror without room tries again, more and more seldom, and loses nothing.
func TestFullMirror(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := mirror(config.Source{})
		cfg.MaxMessages, cfg.Discard = 2, config.DiscardNew
		o := newOrigin()
		for i := range 5 {
			o.add(uint64(i+1), "a", "x")
		}
		f := begin(t, cfg, o)
		time.Sleep(time.Minute)
		f.has(t, "1 a x, 2 a x")
		if n := len(f.asked()); n > 16 {
			t.Errorf("%d requests in a minute", n)
		}
		if i := f.stream.Mirror(); i.Error == nil || i.Error.ErrCode != 10077 {
			t.Errorf("info %+v", i)
		}
		f.log.apply(t, &command.Purge{Time: time.Now().UnixNano()})
		time.Sleep(20 * time.Second)
		f.has(t, "3 a x, 4 a x")
		f.log.configure(t, func(c *config.Stream) { c.MaxMessages = 10 })
		time.Sleep(20 * time.Second)
		f.has(t, "3 a x, 4 a x, 5 a x")
		if got := f.told(); got != "1 a, 2 a, 3 a, 4 a, 5 a" {
			t.Errorf("told of %q", got)
		}
	})
}

// TestPromotion sees that a mirror that becomes a stream of its own is left alone.
func TestPromotion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrigin()
		o.add(1, "a", "x")
		f := begin(t, mirror(config.Source{}), o)
		f.log.configure(t, func(c *config.Stream) { c.Mirror, c.Subjects = nil, []string{"a"} })
		f.stream.Configure()
		synctest.Wait()
		o.add(2, "a", "y")
		f.has(t, "1 a x")
		if f.stream.Mirror() != nil || len(o.handlers) != 0 || len(o.deleted) != 2 {
			t.Errorf("mirror %v, %d subscriptions, deleted %q", f.stream.Mirror(), len(o.handlers), o.deleted)
		}
	})
}
