package config_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"runnel/jetlog/config"
)

// decode returns the value of a JSON text with known members.
func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// wantError compares an error with a code and a detail.
func wantError(t *testing.T, err error, code config.Code, detail string) {
	t.Helper()
	var e *config.Error
	switch {
	case code == 0 && err != nil:
		t.Errorf("got %v, want none", err)
	case code == 0:
	case !errors.As(err, &e):
		t.Errorf("got %v, want code %d", err, code)
	case e.Code != code || !strings.Contains(e.Detail, detail):
		t.Errorf("got %d %q, want %d %q", e.Code, e.Detail, code, detail)
	}
}

func TestStreamDefaults(t *testing.T) {
	tests := []struct {
		name, given, want string
	}{
		{
			"only a name", `{"name":"S"}`,
			`{"name":"S","subjects":["S"],"retention":"limits","max_consumers":-1,"max_msgs":-1,"max_bytes":-1,` +
				`"max_age":0,"max_msgs_per_subject":-1,"max_msg_size":-1,"discard":"old","storage":"file",` +
				`"num_replicas":1,"duplicate_window":120000000000,"compression":"none","allow_direct":false,` +
				`"mirror_direct":false,"sealed":false,"deny_delete":false,"deny_purge":false,` +
				`"allow_rollup_hdrs":false,"consumer_limits":{},"allow_msg_ttl":false}`,
		},
		{
			"window follows the age", `{"name":"S","subjects":["a"],"max_age":1000000000}`,
			`"duplicate_window":1000000000`,
		},
		{"a mirror has no window", `{"name":"S","mirror":{"name":"O"}}`, `"num_replicas":1,"mirror"`},
		{"numbers", `{"name":"S","max_msgs":0,"max_bytes":-7,"max_msgs_per_subject":3}`, `"max_msgs":-1,"max_bytes":-1`},
		{
			"markers imply", `{"name":"S","subject_delete_marker_ttl":1000000000}`,
			`"allow_msg_ttl":true,"subject_delete_marker_ttl":1000000000`,
		},
		{"schedules imply", `{"name":"S","allow_msg_schedules":true}`, `"allow_rollup_hdrs":true`},
		{
			"sealed", `{"name":"S","max_age":1000000000,"sealed":true,"allow_rollup_hdrs":true}`,
			`"sealed":true,"deny_delete":true,"deny_purge":true,"allow_rollup_hdrs":false`,
		},
		{"async", `{"name":"S","persist_mode":"async"}`, `"persist_mode":"async"`},
		{"all subjects", `{"name":"S","subjects":[">"],"no_ack":true}`, `"no_ack":true`},
		{"events", `{"name":"S","subjects":["$JS.EVENT.>","$SYS.ACCOUNT.>"]}`, `"subjects"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			given := decode[config.Stream](t, tt.given)
			before, _ := json.Marshal(given)
			s, err := given.Normalized(config.Limits{}, false)
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(got), tt.want) {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if after, _ := json.Marshal(given); string(after) != string(before) {
				t.Errorf("what was given has changed to %s", after)
			}
			if again, err := s.Normalized(config.Limits{}, true); err != nil || !reflect.DeepEqual(again, s) {
				t.Errorf("normalised again it is %+v, %v", again, err)
			}
		})
	}
}

func TestStreamRefusals(t *testing.T) {
	tests := []struct {
		given  string
		code   config.Code
		detail string
	}{
		{`{}`, 10052, "stream name is required and can not contain"},
		{`{"name":"a.b"}`, 10052, "stream name is required"},
		{`{"name":"a/b"}`, 10128, ""},
		{`{"name":"a\\b"}`, 10128, ""},
		{`{"name":"` + strings.Repeat("n", 256) + `"}`, 10052, "stream name is required"},
		{`{"name":"S","description":"` + strings.Repeat("d", 4097) + `"}`, 10052, "description"},
		{`{"name":"S","metadata":{"k":"` + strings.Repeat("d", 128<<10) + `"}}`, 10052, "metadata"},
		{`{"name":"S","num_replicas":-1}`, 10133, ""},
		{`{"name":"S","num_replicas":6}`, 10052, "maximum replicas is 5"},
		{`{"name":"S","first_seq":4611686018427387905}`, 10052, "first sequence"},
		{`{"name":"S","max_age":-1}`, 10052, "negative"},
		{`{"name":"S","max_age":99999999}`, 10052, "max age needs to be >= 100ms"},
		{`{"name":"S","max_age":100000000,"duplicate_window":200000000}`, 10052, "can not be larger then max age"},
		{`{"name":"S","duplicate_window":99999999}`, 10052, "100ms"},
		{`{"name":"S","duplicate_window":-1}`, 10052, "negative"},
		{`{"name":"S","subjects":["a","a"]}`, 10052, "duplicate subjects detected"},
		{`{"name":"S","subjects":["a.*","a.b"]}`, 10052, `subject "a.b" overlaps with "a.*"`},
		{`{"name":"S","subjects":["a..b"]}`, 10052, "invalid subject"},
		{`{"name":"S","subjects":[">"]}`, 10052, "no-ack"},
		{`{"name":"S","subjects":[">"],"no_ack":true,"num_replicas":3}`, 10052, "replicas"},
		{`{"name":"S","subjects":["$JS.API.>"]}`, 10052, "jetstream api"},
		{`{"name":"S","subjects":["$SYS.REQ.>"]}`, 10052, "system api"},
		{`{"name":"S","discard_new_per_subject":true}`, 10052, "requires discard new policy to be set"},
		{`{"name":"S","discard":"new","discard_new_per_subject":true}`, 10052, "requires max msgs per subject > 0"},
		{`{"name":"S","deny_purge":true,"allow_rollup_hdrs":true}`, 10052, "roll-ups require the purge permission"},
		{`{"name":"S","deny_purge":true,"subject_delete_marker_ttl":1000000000}`, 10052, "roll-ups require"},
		{`{"name":"S","subject_delete_marker_ttl":999999999}`, 10052, "at least 1 second"},
		{`{"name":"S","subject_delete_marker_ttl":-1}`, 10052, "negative"},
		{`{"name":"S","mirror":{"name":"O"},"subject_delete_marker_ttl":1000000000}`, 10052, "mirrors"},
		{`{"name":"S","persist_mode":"async","storage":"memory"}`, 10052, "async"},
		{`{"name":"S","persist_mode":"async","num_replicas":3}`, 10052, "async"},
		{`{"name":"S","persist_mode":"async","allow_atomic":true}`, 10052, "async"},
		{`{"name":"S","consumer_limits":{"max_ack_pending":-1}}`, 10052, "max ack pending"},
		{`{"name":"S","consumer_limits":{"inactive_threshold":-1}}`, 10052, "inactive threshold"},
		{`{"name":"S","placement":{"preferred":"x"}}`, 10052, "preferred"},
		{`{"name":"S","mirror":{"name":"O"},"subjects":["a"]}`, 10034, ""},
		{`{"name":"S","mirror":{"name":"O"},"sources":[{"name":"P"}]}`, 10031, ""},
		{`{"name":"S","mirror":{"name":"O"},"first_seq":5}`, 10143, ""},
		{`{"name":"S","mirror":{"name":"O","opt_start_seq":5,"opt_start_time":"2024-01-01T00:00:00Z"}}`, 10032, ""},
		{`{"name":"S","mirror":{"name":"O","filter_subject":"a","subject_transforms":[{"src":"a","dest":"b"}]}}`, 10150, ""},
		{`{"name":"S","mirror":{"name":"O","filter_subject":"a..b"}}`, 10052, "invalid subject"},
		{`{"name":"S","mirror":{"name":"a.b"}}`, 10142, ""},
		{`{"name":"S","mirror":{"name":"O"},"allow_atomic":true}`, 10198, ""},
		{`{"name":"S","mirror":{"name":"O"},"allow_batched":true}`, 10209, ""},
		{`{"name":"S","mirror":{"name":"O"},"allow_msg_counter":true}`, 10173, ""},
		{`{"name":"S","mirror":{"name":"O"},"allow_msg_schedules":true}`, 10186, ""},
		{`{"name":"S","mirror":{"name":"O","subject_transforms":[{"src":"a..b","dest":"b"}]}}`, 10151, ""},
		{`{"name":"S","mirror":{"name":"O","subject_transforms":[{"src":"a","dest":"$1"}]}}`, 10154, ""},
		{`{"name":"S","mirror":{"name":"O","subject_transforms":[{"src":"a.*","dest":"b"},{"src":"a.b","dest":"c"}]}}`, 10152, ""},
		{`{"name":"S","sources":[{"name":"a.b"}]}`, 10141, ""},
		{`{"name":"S","sources":[null]}`, 10141, ""},
		{`{"name":"S","sources":[{"name":"O"},{"name":"O"}]}`, 10140, ""},
		{
			`{"name":"S","sources":[{"name":"O","consumer":{"name":"c","deliver_subject":"d"}},` +
				`{"name":"O","consumer":{"name":"c","deliver_subject":"e"}}]}`, 10140, "",
		},
		{
			`{"name":"S","sources":[{"name":"O","consumer":{"name":"c","deliver_subject":"d"}},` +
				`{"name":"O","consumer":{"name":"e","deliver_subject":"d"}}]}`, 0, "",
		},
		{`{"name":"S","sources":[{"name":"O","filter_subject":"a"},{"name":"O"}]}`, 0, ""},
		{`{"name":"S","sources":[{"name":"O","filter_subject":"a..b"}]}`, 10052, "invalid subject"},
		{`{"name":"S","sources":[{"name":"O","filter_subject":"a","subject_transforms":[{"src":"","dest":""}]}]}`, 10144, ""},
		{`{"name":"S","sources":[{"name":"O","subject_transforms":[{"src":"","dest":"x.>"},{"src":"a","dest":"b"}]}]}`, 10147, ""},
		{`{"name":"S","sources":[{"name":"O","subject_transforms":[{"src":".","dest":"b"}]}]}`, 10145, ""},
		{`{"name":"S","sources":[{"name":"O","subject_transforms":[{"src":"a","dest":"{{wildcard(1)}}"}]}]}`, 10146, ""},
		{`{"name":"S","sources":[{"name":"O"}],"allow_msg_schedules":true}`, 10187, ""},
		{`{"name":"S","allow_msg_schedules":true,"discard":"new"}`, 10052, "schedules"},
		{`{"name":"S","allow_msg_counter":true,"retention":"interest"}`, 10052, "limits retention"},
		{`{"name":"S","allow_msg_counter":true,"discard":"new"}`, 10052, "discard new"},
		{`{"name":"S","allow_msg_counter":true,"allow_msg_ttl":true}`, 10052, "TTL"},
		{`{"name":"S","allow_msg_counter":true,"allow_msg_schedules":true}`, 10052, "schedules"},
		{`{"name":"S","subject_transform":{"src":"..","dest":"b"}}`, 10155, ""},
		{`{"name":"S","subject_transform":{"src":"a","dest":"b.$1"}}`, 10156, ""},
		{`{"name":"S","republish":{"src":"a","dest":""}}`, 10052, "republish"},
		{`{"name":"S","subjects":["a.>"],"republish":{"src":"a.*","dest":"a.r.$1"}}`, 10052, "cycle"},
		{`{"name":"S","subjects":["a.>"],"republish":{"src":"a.*","dest":"{{wildcard(1)}}.b"}}`, 10052, "cycle"},
		{`{"name":"S","subjects":["a.>"],"republish":{"src":"a.*","dest":"r.$1"}}`, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.given[:min(len(tt.given), 90)], func(t *testing.T) {
			_, err := decode[config.Stream](t, tt.given).Normalized(config.Limits{}, false)
			wantError(t, err, tt.code, tt.detail)
		})
	}
}

func TestStreamPedanticAndLimits(t *testing.T) {
	limits := config.Limits{DuplicateWindow: time.Minute}
	s, err := config.Stream{Name: "S"}.Normalized(limits, false)
	if err != nil || s.DuplicateWindow != time.Minute {
		t.Errorf("got window %s, %v", s.DuplicateWindow, err)
	}
	_, err = config.Stream{Name: "S", DuplicateWindow: time.Hour}.Normalized(limits, false)
	wantError(t, err, 10052, "server limit of 1m0s")
	_, err = config.Stream{Name: "S", DuplicateWindow: time.Hour}.Normalized(limits, true)
	wantError(t, err, 10157, "pedantic mode")
	_, err = config.Stream{Name: "S", MarkerTTL: time.Second}.Normalized(limits, true)
	wantError(t, err, 10157, "pedantic mode")
	_, err = config.Stream{Name: "S", AllowSchedules: true}.Normalized(limits, true)
	wantError(t, err, 10157, "pedantic mode")
}

func TestStreamUpdates(t *testing.T) {
	tests := []struct {
		name, old, next string
		code            config.Code
		detail          string
	}{
		{"the same", `{}`, `{}`, 0, ""},
		{"limits", `{}`, `{"max_msgs":5,"max_age":1000000000,"discard":"new"}`, 0, ""},
		{"limits to interest", `{}`, `{"retention":"interest"}`, 0, ""},
		{"to work queue", `{}`, `{"retention":"workqueue"}`, 10052, "to/from workqueue"},
		{"from work queue", `{"retention":"workqueue"}`, `{}`, 10052, "to/from workqueue"},
		{"name", `{}`, `{"name":"T"}`, 10052, "name"},
		{"storage", `{}`, `{"storage":"memory"}`, 10052, "storage type"},
		{"seal", `{}`, `{"sealed":true}`, 0, ""},
		{"unseal", `{"sealed":true}`, `{"deny_delete":true,"deny_purge":true}`, 10052, "unseal"},
		{"deny", `{}`, `{"deny_delete":true,"deny_purge":true}`, 0, ""},
		{"allow delete", `{"deny_delete":true}`, `{}`, 10052, "cancel deny message deletes"},
		{"allow purge", `{"deny_purge":true}`, `{}`, 10052, "cancel deny purge"},
		{"no TTL", `{"allow_msg_ttl":true}`, `{}`, 10052, "message TTL status can not be disabled"},
		{"no schedules", `{"allow_msg_schedules":true}`, `{"allow_rollup_hdrs":true}`, 10052, "schedules can not be disabled"},
		{"counter", `{}`, `{"allow_msg_counter":true}`, 10052, "message counter setting"},
		{"persist", `{}`, `{"persist_mode":"async"}`, 10052, "persist mode"},
		{"promote", `{"mirror":{"name":"O"}}`, `{}`, 0, ""},
		{"become a mirror", `{}`, `{"mirror":{"name":"O"}}`, 10055, ""},
		{"another mirror", `{"mirror":{"name":"O"}}`, `{"mirror":{"name":"P"}}`, 10055, ""},
		{"same mirror", `{"mirror":{"name":"O"}}`, `{"mirror":{"name":"O"},"max_msgs":5}`, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var pair [2]config.Stream
			for i, text := range [...]string{tt.old, tt.next} {
				s := decode[config.Stream](t, text)
				if s.Name == "" {
					s.Name = "S"
				}
				var err error
				if pair[i], err = s.Normalized(config.Limits{}, false); err != nil {
					t.Fatal(err)
				}
			}
			wantError(t, config.CheckUpdate(&pair[0], &pair[1]), tt.code, tt.detail)
		})
	}
}

func TestErrorText(t *testing.T) {
	if got := (&config.Error{Code: config.Sealed}).Error(); got != "refused with code 10109" {
		t.Errorf("got %q", got)
	}
	if got := (&config.Error{Code: config.WrongLastSequence, Detail: "5"}).Error(); got != "refused with code 10071: 5" {
		t.Errorf("got %q", got)
	}
}

// TestEmptyPlacement checks that no wish is the same however it is written, so that a stream can be created again.
func TestEmptyPlacement(t *testing.T) {
	s, err := config.Stream{Name: "S", Placement: &config.Placement{Tags: []string{}}}.Normalized(config.Limits{}, false)
	if err != nil || s.Placement != nil {
		t.Errorf("got %+v %v, want none", s.Placement, err)
	}
	s, err = config.Stream{Name: "S", Placement: &config.Placement{Cluster: "c"}}.Normalized(config.Limits{}, false)
	if err != nil || s.Placement == nil {
		t.Errorf("got %+v %v, want cluster c", s.Placement, err)
	}
}
