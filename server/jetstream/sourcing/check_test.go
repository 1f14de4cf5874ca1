package sourcing_test

import (
	"errors"
	"strings"
	"testing"

	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/sourcing"
)

// sources are of a stream that copies; each is a name, and after blanks a filter and what that becomes.
func sources(name string, list ...string) *config.Stream {
	cfg := &config.Stream{Name: name, Subjects: []string{strings.ToLower(name) + ".>"}}
	for _, text := range list {
		fields := strings.Fields(text)
		s := &config.Source{Name: fields[0]}
		switch len(fields) {
		case 2:
			s.FilterSubject = fields[1]
		case 3:
			s.Transforms = []config.Transform{{Source: fields[1], Destination: fields[2]}}
		}
		cfg.Sources = append(cfg.Sources, s)
	}
	return cfg
}

func mirrorOf(name, origin string) *config.Stream {
	return &config.Stream{Name: name, Mirror: &config.Source{Name: origin}}
}

func TestCheckCycles(t *testing.T) {
	external := sources("S", "A")
	external.Sources[0].External = &config.External{API: "$JS.D.API"}
	tests := []struct {
		name   string
		cfg    *config.Stream
		others []*config.Stream
		cycle  bool
	}{
		{"no origin", sources("S", "A"), nil, false},
		{"itself", sources("S", "S"), nil, true},
		{"itself as a mirror", mirrorOf("S", "S"), nil, true},
		{"itself elsewhere", external, []*config.Stream{sources("A", "S")}, false},
		{"two", sources("S", "A"), []*config.Stream{sources("A", "S")}, true},
		{"two with filters that do not meet", sources("S", "A a.>"), []*config.Stream{sources("A", "S s.>")}, false},
		{"two with filters that meet", sources("S", "A a.>"), []*config.Stream{sources("A", "S a.x")}, true},
		{"by what subjects become", sources("S", "A b.*"), []*config.Stream{sources("A", "S s.* b.$1")}, true},
		{"not by what subjects become", sources("S", "A b.*"), []*config.Stream{sources("A", "S s.* c.$1")}, false},
		{"through a mirror", mirrorOf("S", "A"), []*config.Stream{sources("A", "B"), mirrorOf("B", "S")}, true},
		{"through three", sources("S", "A"), []*config.Stream{sources("A", "B"), sources("B", "C"), sources("C", "S")}, true},
		{"two mirrors of one", sources("S", "A", "B"), []*config.Stream{mirrorOf("A", "O"), mirrorOf("B", "O")}, false},
		{"one and its mirror", sources("S", "O", "A"), []*config.Stream{mirrorOf("A", "O"), sources("O")}, true},
		{"one and others of its mirror", sources("S", "O a.x", "A a.y"), []*config.Stream{mirrorOf("A", "O"), sources("O")}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := sourcing.Check(tt.cfg, func(name string) *config.Stream {
				for _, o := range tt.others {
					if o.Name == name {
						return o
					}
				}
				return nil
			})
			var e *api.Error
			if cycle := errors.As(err, &e) && e.ErrCode == 10052 && e.Description == "detected cycle"; cycle != tt.cycle || err != nil && !cycle {
				t.Errorf("got %v, want a cycle: %v", err, tt.cycle)
			}
		})
	}
}

func TestCheckConsumers(t *testing.T) {
	tests := []struct {
		name   string
		source config.Source
		code   int // of a source; that of a mirror is two less
	}{
		{"complete", config.Source{Consumer: &config.SourceConsumer{Name: "c", DeliverSubject: "d"}}, 0},
		{"no subject", config.Source{Consumer: &config.SourceConsumer{Name: "c"}}, 10215},
		{"no name", config.Source{Consumer: &config.SourceConsumer{DeliverSubject: "d"}}, 10215},
		{"a name that is none", config.Source{Consumer: &config.SourceConsumer{Name: "c.d", DeliverSubject: "d"}}, 10215},
		{"wildcards", config.Source{Consumer: &config.SourceConsumer{Name: "c", DeliverSubject: "d.*"}}, 10215},
		{"a start", config.Source{StartSequence: 3, Consumer: &config.SourceConsumer{Name: "c", DeliverSubject: "d"}}, 10215},
		{"a filter", config.Source{FilterSubject: "a", Consumer: &config.SourceConsumer{Name: "c", DeliverSubject: "d"}}, 10215},
	}
	none := func(string) *config.Stream { return nil }
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.source.Name = "O"
			for want, cfg := range map[int]config.Stream{tt.code: source(tt.source), max(tt.code-2, 0): mirror(tt.source)} {
				err := sourcing.Check(&cfg, none)
				var e *api.Error
				if errors.As(err, &e); want == 0 && err != nil || want != 0 && (e == nil || e.ErrCode != want) {
					t.Errorf("got %v, want %d", err, want)
				}
			}
		})
	}
	own := source(config.Source{Consumer: &config.SourceConsumer{Name: "c", DeliverSubject: "s.in"}})
	own.Subjects = []string{"s.>"}
	if err := sourcing.Check(&own, none); err == nil {
		t.Error("a stream may get what its source sends")
	}
}

func TestCheckSameConsumer(t *testing.T) {
	consumer := func(name, subject string) *config.SourceConsumer {
		return &config.SourceConsumer{Name: name, DeliverSubject: subject}
	}
	transform := []config.Transform{{Source: "o.1", Destination: "x"}}
	tests := []struct {
		name string
		a, b config.Source
		code int
	}{
		{"same", config.Source{Consumer: consumer("c", "d")}, config.Source{Consumer: consumer("c", "d"), Transforms: transform}, 10216},
		{
			"same to elsewhere",
			config.Source{Consumer: consumer("c", "d")},
			config.Source{Consumer: consumer("c", "e"), Transforms: transform},
			10216,
		},
		{"another", config.Source{Consumer: consumer("c", "d")}, config.Source{Consumer: consumer("e", "d")}, 0},
		{
			"another API",
			config.Source{Consumer: consumer("c", "d")},
			config.Source{Consumer: consumer("c", "d"), External: &config.External{API: "$JS.D.API"}},
			0,
		},
		{
			"the same API",
			config.Source{Consumer: consumer("c", "d"), External: &config.External{API: "$JS.D.API"}},
			config.Source{Consumer: consumer("c", "d"), External: &config.External{API: "$JS.D.API"}, Transforms: transform},
			10216,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.a.Name, tt.b.Name = "O", "O"
			cfg := source(tt.a)
			cfg.Sources = append(cfg.Sources, &tt.b)
			err := sourcing.Check(&cfg, func(string) *config.Stream { return nil })
			code := 0
			if e := (*api.Error)(nil); errors.As(err, &e) {
				code = e.ErrCode
			}
			if code != tt.code {
				t.Errorf("got %v, want %d", err, tt.code)
			}
		})
	}
}
