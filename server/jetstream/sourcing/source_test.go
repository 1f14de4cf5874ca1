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
	"runnel/server/jetstream/sourcing"
)

func TestSourceHeader(t *testing.T) {
	tests := []struct {
		name   string
		source config.Source
		before string // the header that the message has already
		want   string // N:8 stands for a digest
	}{
		{"plain", config.Source{}, "", "O 3 > > a.1 identity"},
		{"filter", config.Source{FilterSubject: "a.*"}, "", "O 3 a.* > a.1 identity"},
		{"transform", config.Source{Transforms: []config.Transform{{Source: "a.*", Destination: "b.$1"}}}, "", "O 3 a.* b.$1 a.1 identity"},
		{
			"transforms",
			config.Source{Transforms: []config.Transform{{Source: "a.*", Destination: ""}, {Source: "b", Destination: "c"}}},
			"",
			"O 3 a.*\fb >\fc a.1 identity",
		},
		{"external", config.Source{External: &config.External{API: "$JS.D.API"}}, "", "O:8 3 > > a.1 identity"},
		{"consumer", config.Source{Consumer: &config.SourceConsumer{Name: "dur", DeliverSubject: "shared"}}, "", "O:C=8 3 > > a.1 identity"},
		{"from a stream with sources", config.Source{}, "X 1 > > x other", "O 3 > > a.1 identity"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOrigin()
				if tt.source.Consumer != nil {
					o.policy = "flow_control"
				}
				var fields []headers.Field
				if tt.before != "" {
					fields = append(fields, headers.Field{Name: sourcing.SourceHeader, Value: tt.before})
				}
				o.add(3, "a.1", "x", fields...)
				f := begin(t, source(tt.source), o)
				synctest.Wait()
				value, _ := headers.Get(f.log.load(t, 1).Header, sourcing.SourceHeader)
				got := strings.Fields(strings.ReplaceAll(string(value), "\f", "|"))
				if i := strings.LastIndexAny(got[0], ":="); i > 0 && len(got[0]) == i+9 {
					got[0] = got[0][:i+1] + "8"
				}
				if got := strings.ReplaceAll(strings.Join(got, " "), "|", "\f"); got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			})
		})
	}
}

func TestSourceFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrigin()
		o.add(3, "a.1", "one", headers.Field{Name: "Nats-Expected-Stream", Value: "O"})
		cfg := source(config.Source{Transforms: []config.Transform{{Source: "a.*", Destination: "b.$1"}}})
		cfg.SubjectTransform = &config.Transform{Source: "b.*", Destination: "c.$1"}
		f := begin(t, cfg, o)
		o.add(9, "a.2", "two")
		o.add(10, "z", "not wanted")
		f.has(t, "1 c.1 one, 2 c.2 two")
		if got := f.told(); got != "1 c.1, 2 c.2" {
			t.Errorf("told of %q", got)
		}
		if i := f.stream.Sources()[0]; i.Sequence != 9 || i.Lag != 3 || i.Active != 0 || f.stream.Mirror() != nil {
			t.Errorf("info %+v", i)
		}
		c := f.asked()[0].consumer(t)
		if !strings.HasPrefix(c.Name, "JS_SRC_") || !strings.HasPrefix(c.DeliverSubject, "$JS.S.") || c.Metadata["_nats.src.stream"] != "S" {
			t.Errorf("asked for %+v", c)
		}
	})
}

// TestSourceResumes opens the stream again after its messages were purged, and sees that they do not come again.
func TestSourceResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrigin()
		o.add(3, "a", "one")
		f := begin(t, source(config.Source{}), o)
		f.has(t, "1 a one")
		f.log.apply(t, &command.Purge{Time: time.Now().UnixNano()})
		f.stream.Close()
		synctest.Wait()
		f.open()
		o.add(4, "a", "two")
		f.has(t, "2 a two")
		asked := f.asked()
		if c := asked[1].consumer(t); c.StartSequence != 4 {
			t.Errorf("asked for %+v", c)
		}
		if id, _ := headers.Get([]byte(asked[1].header), sourcing.IdentityHeader); string(id) != "identity" {
			t.Errorf("asked for identity %q", id)
		}
	})
}

// TestOriginMadeAnew sees that a stream that took the place of another is copied from its beginning, once, whether
// or not it can tell that it is another.
func TestOriginMadeAnew(t *testing.T) {
	for _, checks := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			o := newOrigin()
			o.add(1, "a", "one")
			o.add(2, "a", "two")
			f := begin(t, source(config.Source{}), o)
			f.has(t, "1 a one, 2 a two")
			o.change(func() {
				o.messages, o.identity, o.deliver = nil, "another", ""
				if !checks {
					o.refuses = api.NewError(api.LevelRequired)
				}
			})
			o.add(1, "a", "new")
			f.all.Appeared(f.account, "O")
			time.Sleep(time.Second)
			o.change(func() { o.refuses = nil })
			time.Sleep(20 * time.Second)
			f.has(t, "1 a one, 2 a two, 3 a new")
			f.stream.Close()
			synctest.Wait()
			f.open()
			o.add(2, "a", "newer")
			f.has(t, "1 a one, 2 a two, 3 a new, 4 a newer")
		})
	}
}

// TestLevels sees that an origin that knows less is asked for less.
func TestLevels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrigin()
		o.refuses = api.NewError(api.LevelRequired)
		f := begin(t, source(config.Source{}), o)
		time.Sleep(time.Second)
		for i, want := range []string{"5", "4", ""} {
			level, _ := headers.Get([]byte(f.asked()[i].header), api.LevelHeader)
			if string(level) != want {
				t.Errorf("request %d: level %q, want %q", i, level, want)
			}
		}
		o.change(func() { o.refuses = nil })
		o.add(1, "a", "x")
		time.Sleep(20 * time.Second)
		f.has(t, "1 a x")
	})
}

// TestRefusedMessage sees that a message that can never be stored does not hold up those behind it.
func TestRefusedMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := source(config.Source{})
		cfg.MaxMessageBytes = 100
		o := newOrigin()
		o.add(1, "a", strings.Repeat("x", 200))
		f := begin(t, cfg, o)
		if e := f.stream.Sources()[0].Error; e == nil || e.ErrCode != 10054 {
			t.Errorf("error %v", e)
		}
		o.add(2, "a", "y")
		f.has(t, "1 a y")
		if e := f.stream.Sources()[0].Error; e != nil {
			t.Errorf("error %v", e)
		}
		if n := len(f.asked()); n != 1 {
			t.Errorf("%d requests", n)
		}
	})
}

// TestDuplicate sees that a message that the stream has had under its id is not stored again.
func TestDuplicate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := source(config.Source{})
		cfg.DuplicateWindow = time.Minute
		o := newOrigin()
		id := headers.Field{Name: "Nats-Msg-Id", Value: "one"}
		o.add(1, "a", "x", id)
		o.add(2, "a", "x", id)
		o.add(3, "a", "y")
		f := begin(t, cfg, o)
		f.has(t, "1 a x, 2 a y")
		if got := f.told(); got != "1 a, 2 a" {
			t.Errorf("told of %q", got)
		}
	})
}

// TestFullSource sees that what had no room comes when there is some, in its order.
func TestFullSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := source(config.Source{})
		cfg.MaxMessages, cfg.Discard = 2, config.DiscardNew
		o := newOrigin()
		for i, payload := range []string{"v", "w", "x", "y", "z"} {
			o.add(uint64(i+1), "a", payload)
		}
		f := begin(t, cfg, o)
		time.Sleep(time.Minute)
		f.has(t, "1 a v, 2 a w")
		if n := len(f.asked()); n > 16 {
			t.Errorf("%d requests in a minute", n)
		}
		f.log.configure(t, func(c *config.Stream) { c.MaxMessages = 10 })
		time.Sleep(20 * time.Second)
		f.has(t, "1 a v, 2 a w, 3 a x, 4 a y, 5 a z")
	})
}

// TestGivenUpInFlight sees that messages whose commands get no answer come again, and once.
func TestGivenUpInFlight(t *testing.T) {
	for name, cfg := range map[string]config.Stream{"mirror": mirror(config.Source{}), "source": source(config.Source{})} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOrigin()
				f := begin(t, cfg, o)
				f.log.hold()
				o.add(1, "a", "x")
				synctest.Wait()
				o.add(2, "a", "y")
				synctest.Wait()
				f.all.Appeared(f.account, "O") // the consumer is given up while two commands are on their way
				synctest.Wait()
				if n := len(f.asked()); n != 1 {
					t.Fatalf("%d requests before it is known what is stored", n)
				}
				f.log.mu.Lock()
				f.log.lost = true
				f.log.mu.Unlock()
				f.log.release()
				f.log.mu.Lock()
				f.log.lost = false
				f.log.mu.Unlock()
				time.Sleep(20 * time.Second)
				f.has(t, "1 a x, 2 a y")
			})
		})
	}
}

// TestTwoSources sees that what changes about one source leaves the other alone.
func TestTwoSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrigin()
		cfg := config.Stream{Sources: []*config.Source{{Name: "A"}, {Name: "B"}}}
		f := begin(t, cfg, o)
		if n := len(f.asked()); n != 2 {
			t.Fatalf("%d requests", n)
		}
		f.log.configure(t, func(c *config.Stream) {
			c.Sources = []*config.Source{{Name: "C"}, {Name: "B"}}
		})
		f.stream.Configure()
		synctest.Wait()
		asked := f.asked()
		if len(asked) != 3 || asked[2].subject != "$JS.API.CONSUMER.CREATE.C" {
			t.Errorf("requests %v", asked)
		}
		if len(o.deleted) != 2 || !strings.HasPrefix(o.deleted[0], "$JS.API.CONSUMER.DELETE.A.C") ||
			!strings.HasPrefix(o.deleted[1], "$JS.API.CONSUMER.DELETE.A.JS_SRC_") || len(o.handlers) != 4 {
			t.Errorf("deleted %q, %d subscriptions", o.deleted, len(o.handlers))
		}
		if i := f.stream.Sources(); len(i) != 2 || i[0].Name != "C" || i[1].Name != "B" {
			t.Errorf("infos %v", i)
		}
		f.log.configure(t, func(c *config.Stream) { c.SubjectTransform = &config.Transform{Source: "a", Destination: "b"} })
		f.stream.Configure()
		synctest.Wait()
		if n := len(f.asked()); n != 5 {
			t.Errorf("%d requests after the stream's transform has changed", n)
		}
		if len(o.deleted) != 4 || strings.Contains(o.deleted[2]+o.deleted[3], "JS_SRC") {
			t.Errorf("deleted %q, of which those that others have may be no more", o.deleted)
		}
		f.stream.Remove()
		synctest.Wait()
		if len(o.deleted) != 8 || len(o.handlers) != 0 {
			t.Errorf("removed: deleted %q, %d subscriptions", o.deleted[4:], len(o.handlers))
		}
	})
}

// TestCounters sees that a counter of another stream is added once, however often its messages come.
func TestCounters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := source(config.Source{})
		cfg.AllowCounter = true
		o := newOrigin()
		o.add(1, "a", `{"val":"5"}`, headers.Field{Name: "Nats-Incr", Value: "5"})
		o.add(2, "a", `{"val":"7"}`, headers.Field{Name: "Nats-Incr", Value: "2"})
		f := begin(t, cfg, o)
		f.has(t, `1 a {"val":"5"}, 2 a {"val":"7"}`)
	})
}

func TestIdentity(t *testing.T) {
	seen := map[string]bool{}
	for id := range uint64(1000) {
		got := sourcing.Identity(id, int64(id%3))
		if len(got) != 8 || strings.ContainsAny(got, " .*>") || seen[got] {
			t.Fatalf("stream %d: identity %q", id, got)
		}
		seen[got] = true
	}
}

// TestClosedKeepsTelling sees that what is stored after the end is told.
func TestClosedKeepsTelling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrigin()
		f := begin(t, source(config.Source{}), o)
		f.log.hold()
		o.add(1, "a", "x")
		synctest.Wait()
		f.stream.Close()
		synctest.Wait()
		f.log.release()
		f.has(t, "1 a x")
		if got := f.told(); got != "1 a" {
			t.Errorf("told of %q", got)
		}
		o.change(func() { o.messages = append(o.messages, jetlog.Message{}) })
		if o.send(o.deliver, "", "", nil, nil) {
			t.Error("there is still a subscription")
		}
	})
}
