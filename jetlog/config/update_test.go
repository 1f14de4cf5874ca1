package config_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"runnel/jetlog/config"
)

// change is what happens when one member of a configuration, and nothing else, is changed.
type change struct {
	value  any    // of the member, in the next configuration
	detail string // of the refusal, empty when the change is allowed
}

// changes calls try for every member of T's form, which all have to be in the table.
func changes[T any](t *testing.T, table map[string]change, try func(t *testing.T, next T, want change)) {
	t.Helper()
	tried := 0
	for field := range reflect.TypeFor[T]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		c, there := table[name]
		if !there {
			t.Errorf("nothing is said about %q", name)
			continue
		}
		tried++
		t.Run(name, func(t *testing.T) {
			b, err := json.Marshal(map[string]any{name: c.value})
			if err != nil {
				t.Fatal(err)
			}
			try(t, decode[T](t, string(b)), c)
		})
	}
	if tried != len(table) {
		t.Errorf("%d members of %d of the table", tried, len(table))
	}
}

// TestStreamMembers changes every member of a stream, alone.
func TestStreamMembers(t *testing.T) {
	source := map[string]any{"name": "O"}
	table := map[string]change{
		"name":                      {"T", "change stream name"},
		"description":               {"text", ""},
		"subjects":                  {[]string{"other.>"}, ""},
		"retention":                 {"interest", ""},
		"max_consumers":             {1, ""},
		"max_msgs":                  {1, ""},
		"max_bytes":                 {1, ""},
		"max_age":                   {time.Hour, ""},
		"max_msgs_per_subject":      {1, ""},
		"max_msg_size":              {1, ""},
		"discard":                   {"new", ""},
		"discard_new_per_subject":   {true, ""},
		"storage":                   {"memory", "change storage type"},
		"num_replicas":              {3, ""},
		"no_ack":                    {true, ""},
		"duplicate_window":          {time.Second, ""},
		"placement":                 {map[string]any{"cluster": "c", "tags": []string{"t"}}, ""},
		"mirror":                    {source, "stream mirror"},
		"sources":                   {[]any{source}, ""},
		"compression":               {"s2", ""},
		"first_seq":                 {7, ""},
		"subject_transform":         {map[string]any{"src": "a", "dest": "b"}, ""},
		"republish":                 {map[string]any{"src": "a", "dest": "b"}, ""},
		"allow_direct":              {true, ""},
		"mirror_direct":             {true, ""},
		"sealed":                    {true, ""},
		"deny_delete":               {true, ""},
		"deny_purge":                {true, ""},
		"allow_rollup_hdrs":         {true, ""},
		"consumer_limits":           {map[string]any{"max_ack_pending": 1}, ""},
		"allow_msg_ttl":             {true, ""},
		"subject_delete_marker_ttl": {time.Second, ""},
		"allow_msg_counter":         {true, "change message counter setting"},
		"allow_atomic":              {true, ""},
		"allow_batched":             {true, ""},
		"allow_msg_schedules":       {true, ""},
		"persist_mode":              {"async", "change persist mode"},
		"metadata":                  {map[string]string{"k": "v"}, ""},
	}
	base := config.Stream{}
	changes(t, table, func(t *testing.T, next config.Stream, want change) {
		// A configuration with the change is compared with one without, both as they are given: so
		// that only what CheckUpdate itself says counts.
		err := config.CheckUpdate(&base, &next)
		switch {
		case want.detail == "":
			wantError(t, err, 0, "")
		case want.detail == "stream mirror":
			wantError(t, err, 10055, "")
		default:
			wantError(t, err, 10052, "stream configuration update can not "+want.detail)
		}
		wantError(t, config.CheckUpdate(&next, &next), 0, "")
	})
}

// TestStreamMembersBack takes back what a stream has: some may only be turned on.
func TestStreamMembersBack(t *testing.T) {
	tests := []struct {
		name   string
		old    config.Stream
		detail string
	}{
		{"sealed", config.Stream{Sealed: true}, "unseal a sealed stream"},
		{"deny delete", config.Stream{DenyDelete: true}, "cancel deny message deletes"},
		{"deny purge", config.Stream{DenyPurge: true}, "cancel deny purge"},
		{"TTL", config.Stream{AllowTTL: true}, "message TTL status can not be disabled"},
		{"schedules", config.Stream{AllowSchedules: true}, "message schedules can not be disabled"},
		{"counter", config.Stream{AllowCounter: true}, "change message counter setting"},
		{"async", config.Stream{Persist: config.PersistAsync}, "change persist mode"},
		{"memory", config.Stream{Storage: config.MemoryStorage}, "change storage type"},
		{"interest", config.Stream{Retention: config.InterestRetention}, ""},
		{"work queue", config.Stream{Retention: config.WorkQueueRetention}, "change retention policy to/from workqueue"},
		{"rollup", config.Stream{AllowRollup: true}, ""},
		{"direct", config.Stream{AllowDirect: true, MirrorDirect: true}, ""},
		{"atomic", config.Stream{AllowAtomic: true, AllowBatched: true}, ""},
		{"no ack", config.Stream{NoAck: true}, ""},
		{"markers", config.Stream{MarkerTTL: time.Second}, ""},
		{"mirror", config.Stream{Mirror: &config.Source{Name: "O"}}, ""},
		{"sources", config.Stream{Sources: []*config.Source{{Name: "O"}}}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code := config.StreamInvalidConfig
			if tt.detail == "" {
				code = 0
			}
			wantError(t, config.CheckUpdate(&tt.old, &config.Stream{}), code, tt.detail)
		})
	}
	// Between work queue and interest there is no way either.
	work, interest := config.Stream{Retention: config.WorkQueueRetention}, config.Stream{Retention: config.InterestRetention}
	wantError(t, config.CheckUpdate(&work, &interest), 10052, "to/from workqueue")
	wantError(t, config.CheckUpdate(&interest, &work), 10052, "to/from workqueue")
}

// TestMirrorMembers sees that what a mirror copies, and from where, stays; the rest of it may change.
func TestMirrorMembers(t *testing.T) {
	at := time.Unix(5, 0)
	base := config.Source{Name: "O", StartSequence: 5, FilterSubject: "a"}
	tests := []struct {
		name   string
		change func(*config.Source)
		code   config.Code
	}{
		{"nothing", func(*config.Source) {}, 0},
		{"origin", func(s *config.Source) { s.Name = "P" }, 10055},
		{"start", func(s *config.Source) { s.StartSequence = 6 }, 10055},
		{"filter", func(s *config.Source) { s.FilterSubject = "b" }, 10055},
		{"transforms", func(s *config.Source) { s.Transforms = []config.Transform{{Source: "a", Destination: "b"}} }, 10055},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			next := base
			tt.change(&next)
			old, changed := config.Stream{Mirror: &base}, config.Stream{Mirror: &next}
			wantError(t, config.CheckUpdate(&old, &changed), tt.code, "")
			wantError(t, config.CheckUpdate(&changed, &old), tt.code, "")
		})
	}
	late := config.Source{Name: "O", StartTime: &at}
	old := config.Stream{Mirror: &late}
	wantError(t, config.CheckUpdate(&old, &config.Stream{}), 0, "")
	wantError(t, config.CheckUpdate(&config.Stream{}, &old), 10055, "")
}

// TestConsumerMembers changes every member of a consumer, alone.
func TestConsumerMembers(t *testing.T) {
	table := map[string]change{
		"name":               {"d", ""}, // by its name it is found, so that it cannot be another
		"durable_name":       {"d", ""},
		"description":        {"text", ""},
		"deliver_policy":     {"new", "deliver policy can not be updated"},
		"opt_start_seq":      {5, "start sequence can not be updated"},
		"opt_start_time":     {time.Unix(5, 0), "start time can not be updated"},
		"ack_policy":         {"all", "ack policy can not be updated"},
		"ack_wait":           {time.Second, ""},
		"max_deliver":        {5, ""},
		"backoff":            {[]int{5}, ""},
		"filter_subject":     {"a", ""},
		"filter_subjects":    {[]string{"a", "b"}, ""},
		"replay_policy":      {"original", "replay policy can not be updated"},
		"rate_limit_bps":     {5, ""},
		"sample_freq":        {"5", ""},
		"max_waiting":        {5, "max waiting can not be updated"},
		"max_ack_pending":    {5, ""},
		"flow_control":       {true, "flow control can not be updated"},
		"headers_only":       {true, ""},
		"max_batch":          {5, ""},
		"max_expires":        {time.Second, ""},
		"max_bytes":          {5, ""},
		"deliver_subject":    {"d", "can not update pull consumer to push based"},
		"deliver_group":      {"g", ""},
		"idle_heartbeat":     {time.Second, "heart beats can not be updated"},
		"inactive_threshold": {time.Second, ""},
		"num_replicas":       {1, ""},
		"mem_storage":        {true, "storage type can not be updated"},
		"direct":             {true, ""},
		"sourcing":           {true, ""},
		"metadata":           {map[string]string{"k": "v"}, ""},
		"pause_until":        {time.Unix(5, 0), ""},
		"priority_policy":    {"overflow", ""},
		"priority_groups":    {[]string{"g"}, ""},
		"priority_timeout":   {time.Second, ""},
	}
	base := config.Consumer{}
	changes(t, table, func(t *testing.T, next config.Consumer, want change) {
		code := config.ConsumerUpdateRefused
		if want.detail == "" {
			code = 0
		}
		wantError(t, config.CheckConsumerUpdate(&base, &next), code, want.detail)
		wantError(t, config.CheckConsumerUpdate(&next, &next), 0, "")
		back := want.detail
		if next.DeliverSubject != "" {
			back = "can not update push consumer to pull based"
		}
		wantError(t, config.CheckConsumerUpdate(&next, &base), code, back)
	})
}

// TestNothingIsShared sees that what is normalised can be changed without what was given.
func TestNothingIsShared(t *testing.T) {
	given := config.Stream{Name: "S", Subjects: []string{"a"}, Metadata: map[string]string{"k": "v"}}
	s, err := given.Normalized(config.Limits{}, false)
	if err != nil {
		t.Fatal(err)
	}
	s.Subjects[0], s.Metadata["k"] = "changed", "changed"
	if given.Subjects[0] != "a" || given.Metadata["k"] != "v" {
		t.Errorf("what was given is now %+v", given)
	}
	asked := config.Consumer{
		Name: "c", Backoff: []time.Duration{1}, FilterSubjects: []string{"a"}, Metadata: map[string]string{"k": "v"},
		PriorityPolicy: config.PriorityOverflow, PriorityGroups: []string{"g"},
	}
	c, err := asked.Normalized(&s, config.Limits{}, false)
	if err != nil {
		t.Fatal(err)
	}
	c.Backoff[0], c.FilterSubjects[0], c.PriorityGroups[0], c.Metadata["k"] = 2, "b", "h", "w"
	if asked.Backoff[0] != 1 || asked.FilterSubjects[0] != "a" || asked.PriorityGroups[0] != "g" || asked.Metadata["k"] != "v" {
		t.Errorf("what was given is now %+v", asked)
	}
}

// TestFilters sees what Filters and Push say.
func TestFilters(t *testing.T) {
	tests := []struct {
		name     string
		consumer config.Consumer
		filters  []string
		push     bool
	}{
		{"none", config.Consumer{}, nil, false},
		{"one", config.Consumer{FilterSubject: "a.*"}, []string{"a.*"}, false},
		{"many", config.Consumer{FilterSubjects: []string{"a", "b"}}, []string{"a", "b"}, false},
		{"push", config.Consumer{DeliverSubject: "d"}, nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.consumer.Filters(); !reflect.DeepEqual(got, tt.filters) {
				t.Errorf("got %q, want %q", got, tt.filters)
			}
			if got := tt.consumer.Push(); got != tt.push {
				t.Errorf("push: got %v", got)
			}
		})
	}
}
