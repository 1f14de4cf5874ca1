package conf_test

import (
	"strings"
	"testing"

	"runnel/conf"
)

func TestKeep(t *testing.T) {
	tests := []struct {
		name, running, wanted string
		kept, stuck           string // keys, separated by blanks
	}{
		{"nothing changed", "port: 1", "port: 1", "", ""},
		{"only what may change", "max_payload: 10", "max_payload: 20", "", ""},
		{"number", "port: 1", "port: 2\nmax_payload: 20", "port", ""},
		{"text and address", "host: a\nhttp: b:1", "host: c\nhttp: d:2\ndebug: true", "host http", ""},
		{"flag", "", "no_header_support: true", "no_header_support", ""},
		{"map", "", "feature_flags { x: true }", "feature_flags", ""},
		{"choice", "", "write_timeout: close", "write_timeout", ""},
		{"duration", "", "lame_duck_duration: \"40s\"", "lame_duck_duration", ""},
		{"inside a block", "websocket { port: 1, no_tls: true }", "websocket { port: 2, no_tls: true }", "websocket.port", ""},
		{"list in a block", "websocket { port: 1, no_tls: true }", "websocket { port: 1, no_tls: true, allowed_origins: [\"http://a\"] }", "websocket.allowed_origins", ""},
		{"a block that came", "", "websocket { port: 1, no_tls: true }", "", "websocket"},
		{"a block that went", "websocket { port: 1, no_tls: true }", "port: 7", "port", "websocket"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			running, err := conf.Parse("running", []byte(tt.running))
			if err != nil {
				t.Fatal(err)
			}
			wanted, err := conf.Parse("wanted", []byte(tt.wanted))
			if err != nil {
				t.Fatal(err)
			}
			kept, stuck := conf.Keep(running, wanted)
			if got := keysOf(kept); got != tt.kept {
				t.Errorf("kept = %q, want %q", got, tt.kept)
			}
			if got := keysOf(stuck); got != tt.stuck {
				t.Errorf("stuck = %q, want %q", got, tt.stuck)
			}
			if tt.stuck != "" {
				return
			}
			for _, c := range conf.Diff(running, wanted) {
				if !c.Reloadable {
					t.Errorf("still different: %s", c)
				}
			}
		})
	}
}

func keysOf(changes []conf.Change) string {
	keys := make([]string, 0, len(changes))
	for _, c := range changes {
		keys = append(keys, c.Key)
	}
	return strings.Join(keys, " ")
}
