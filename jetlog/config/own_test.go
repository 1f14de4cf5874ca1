package config_test

import (
	"strings"
	"testing"

	"runnel/jetlog/config"
)

// What metadata asks us for is understood or refused.
func TestOwnMetadata(t *testing.T) {
	for given, wrong := range map[string]string{
		`{"runnel.sync":"os"}`:             "",
		`{"runnel.sync":"interval=100ms"}`: "",
		`{"runnel":"x","my.runnel.y":"z"}`: "",
		`{"runnel.sync":"sometimes"}`:      `"sometimes"`,
		`{"runnel.snyc":"os"}`:             `"runnel.snyc"`,
		`{"runnel.b":"","runnel.a":""}`:    `"runnel.a"`,
	} {
		s := decode[config.Stream](t, `{"name":"S","metadata":`+given+`}`)
		if _, err := s.Normalized(config.Limits{}, false); wrong == "" && err != nil || wrong != "" && (err == nil || !strings.Contains(err.Error(), wrong)) {
			t.Errorf("stream with %s: got %v, want an error with %q", given, err, wrong)
		}
	}
	c := decode[config.Consumer](t, `{"name":"C","metadata":{"runnel.key":"token:2"}}`)
	if _, err := c.Normalized(stream(t, `{}`), config.Limits{}, false); err == nil || !strings.Contains(err.Error(), "runnel.key") {
		t.Errorf("consumer: got %v", err)
	}
}
