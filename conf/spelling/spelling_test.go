package spelling_test

import (
	"strings"
	"testing"

	"runnel/conf/spelling"
)

func TestNearest(t *testing.T) {
	names := []string{"port", "host", "max_payload", "max_pending", "max_connections", "max_conn", "ping_interval", "user", "users"}
	for key, want := range map[string]string{
		"prot":                   "port",
		"por":                    "port",
		"ports":                  "port",
		"PORT":                   "port",
		"hots":                   "host",
		"post":                   "port",
		"max_paylod":             "max_payload",
		"maxpayload":             "max_payload",
		"max-payload":            "max_payload",
		"max_connection":         "max_connections",
		"ping_intervall":         "ping_interval",
		"usr":                    "user",
		"userz":                  "user",
		"x":                      "",
		"":                       "",
		"cluster":                "",
		"payload":                "",
		strings.Repeat("x", 999): "",
	} {
		if got := spelling.Nearest(key, names); got != want {
			t.Errorf("%q: got %q, want %q", key, got, want)
		}
	}
}
