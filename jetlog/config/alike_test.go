package config_test

import (
	"reflect"
	"testing"
	"time"

	"runnel/jetlog/config"
)

// TestCommon sees that a configuration can be taken apart and put together again, whatever it looks like.
func TestCommon(t *testing.T) {
	at := time.Unix(5, 0)
	tests := []struct {
		name string
		c    config.Consumer
	}{
		{"nothing", config.Consumer{}},
		{"durable", config.Consumer{Name: "a", Durable: "a", AckWait: 5}},
		{"not durable", config.Consumer{Name: "a", FilterSubject: "b.*"}},
		{"a durable name of its own", config.Consumer{Name: "a", Durable: "b"}},
		{"a list of one", config.Consumer{Name: "a", FilterSubjects: []string{"b"}}},
		{"an empty list", config.Consumer{Name: "a", FilterSubjects: []string{}}},
		{"a list", config.Consumer{Name: "a", FilterSubjects: []string{"b", "c"}}},
		{"both", config.Consumer{Name: "a", FilterSubject: "b", FilterSubjects: []string{"c", "d"}}},
		{"more", config.Consumer{Name: "a", StartTime: &at, Metadata: map[string]string{"k": "v"}, Backoff: []time.Duration{5}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			common, form := tt.c.Common()
			if got := form.Of(&common, tt.c.Name, tt.c.Filters()); !reflect.DeepEqual(got, tt.c) {
				t.Errorf("got  %+v\nwant %+v", got, tt.c)
			}
		})
	}
}

// TestAlike sees that names and filters keep no two consumers from having the rest in common, and all else does.
func TestAlike(t *testing.T) {
	base := config.Consumer{Name: "a", Durable: "a", FilterSubject: "x", Metadata: map[string]string{"k": "v"}}
	tests := []struct {
		name   string
		change func(*config.Consumer)
		want   bool
	}{
		{"names", func(c *config.Consumer) { c.Name, c.Durable = "b", "b" }, true},
		{"filter", func(c *config.Consumer) { c.FilterSubject, c.FilterSubjects = "", []string{"y", "z"} }, true},
		{"another map of the same", func(c *config.Consumer) { c.Metadata = map[string]string{"k": "v"} }, true},
		{"metadata", func(c *config.Consumer) { c.Metadata = map[string]string{"k": "w"} }, false},
		{"ack wait", func(c *config.Consumer) { c.AckWait = 1 }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			other := base
			tt.change(&other)
			a, _ := base.Common()
			b, _ := other.Common()
			if got := config.Alike(&a, &b); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
