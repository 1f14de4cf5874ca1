package api_test

import (
	"testing"

	"runnel/server/jetstream/api"
)

func TestLed(t *testing.T) {
	for subject, want := range map[string]string{
		"$JS.ACK.S.c.1.2.3.4.5":             "S",
		"$JS.ACK._.hash.S.c.1.2.3.4.5":      "S",
		"$JS.ACK.S.c.1.2.3.4":               "",
		"$JS.API.CONSUMER.MSG.NEXT.S.c":     "S",
		"$JS.hub.API.CONSUMER.MSG.NEXT.S.c": "S",
		"$JS.API.CONSUMER.INFO.S.c":         "",
		"orders.new":                        "",
	} {
		if got := api.Led(subject); got != want {
			t.Errorf("%s: %q, want %q", subject, got, want)
		}
	}
}
