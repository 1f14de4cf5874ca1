package api_test

import (
	"maps"
	"testing"
	"time"

	"runnel/headers"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
)

// TestLevelMet checks which requests are taken.
func TestLevelMet(t *testing.T) {
	for value, want := range map[string]bool{"0": true, "5": true, "-1": true, "6": false, "99999999999999999999": false, "x": false, "": false, "5.0": false} {
		header := headers.Build(headers.Field{Name: "Nats-Required-Api-Level", Value: value})
		if got := api.LevelMet(header); got != want {
			t.Errorf("%q: got %v, want %v", value, got, want)
		}
	}
	for _, header := range []string{"", "NATS/1.0\r\n\r\n", "NATS/1.0\r\nnats-required-api-level: 9\r\n\r\n"} {
		if !api.LevelMet([]byte(header)) {
			t.Errorf("%q is refused", header)
		}
	}
}

// TestLevels checks which features need which level.
func TestLevels(t *testing.T) {
	later := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	streams := []struct {
		name   string
		config config.Stream
		want   int
	}{
		{"plain", config.Stream{AllowDirect: true, DenyPurge: true}, 0},
		{"ttl", config.Stream{AllowTTL: true}, 1},
		{"markers", config.Stream{MarkerTTL: time.Second}, 1},
		{"counters", config.Stream{AllowCounter: true, AllowTTL: true}, 2},
		{"atomic", config.Stream{AllowAtomic: true}, 2},
		{"schedules", config.Stream{AllowSchedules: true}, 2},
		{"async", config.Stream{Persist: config.PersistAsync}, 2},
		{"batches", config.Stream{AllowBatched: true, AllowAtomic: true}, 4},
	}
	for _, tt := range streams {
		if got := api.StreamLevel(&tt.config); got != tt.want {
			t.Errorf("stream with %s: got %d, want %d", tt.name, got, tt.want)
		}
	}
	consumers := []struct {
		name   string
		config config.Consumer
		want   int
	}{
		{"plain", config.Consumer{Ack: config.AckAll}, 0},
		{"pause", config.Consumer{PauseUntil: &later}, 1},
		{"no pause", config.Consumer{PauseUntil: &time.Time{}}, 0},
		{"policy", config.Consumer{PriorityPolicy: config.PriorityOverflow}, 1},
		{"groups", config.Consumer{PriorityGroups: []string{"a"}}, 1},
		{"timeout", config.Consumer{PriorityTimeout: time.Second}, 1},
		{"flow control", config.Consumer{Ack: config.AckFlowControl, PauseUntil: &later}, 4},
	}
	for _, tt := range consumers {
		if got := api.ConsumerLevel(&tt.config); got != tt.want {
			t.Errorf("consumer with %s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}

// TestMetadata checks what is stored of metadata and what is only shown.
func TestMetadata(t *testing.T) {
	given := map[string]string{"a": "b", "_nats.foo": "1", "_nats.ver": "x", "_nats.level": "y", "_nats.req.level": "z"}
	before := maps.Clone(given)
	stored := map[string]string{"a": "b", "_nats.foo": "1", "_nats.req.level": "2"}
	shown := map[string]string{"a": "b", "_nats.foo": "1", "_nats.req.level": "2", "_nats.ver": "2.15.2", "_nats.level": "5"}

	s := config.Stream{Name: "S", Metadata: given, AllowAtomic: true}
	api.PersistStream(&s)
	if !maps.Equal(s.Metadata, stored) || !maps.Equal(given, before) {
		t.Errorf("stored: got %v, want %v; given is now %v", s.Metadata, stored, given)
	}
	answer := api.ShownStream(&s, "2.15.2")
	if !maps.Equal(answer.Metadata, shown) || !maps.Equal(s.Metadata, stored) || answer.Name != "S" {
		t.Errorf("shown: got %v, want %v; stored is now %v", answer.Metadata, shown, s.Metadata)
	}

	c := config.Consumer{Name: "C", Metadata: given}
	api.PersistConsumer(&c)
	stored["_nats.req.level"] = "0"
	if !maps.Equal(c.Metadata, stored) {
		t.Errorf("stored: got %v, want %v", c.Metadata, stored)
	}
	until := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	c.PauseUntil = &until
	shown["_nats.req.level"] = "1" // as long as it rests
	if got := api.ShownConsumer(&c, "2.15.2"); !maps.Equal(got.Metadata, shown) || got.Name != "C" {
		t.Errorf("shown: got %v, want %v", got.Metadata, shown)
	}
	var none config.Stream
	api.PersistStream(&none)
	if want := map[string]string{"_nats.req.level": "0"}; !maps.Equal(none.Metadata, want) {
		t.Errorf("without metadata: got %v, want %v", none.Metadata, want)
	}
}
