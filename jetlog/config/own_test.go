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
		`{"RUNNEL.sync":"os"}`:             `"RUNNEL.sync"`,
		`{"runnel.b":"","runnel.a":""}`:    `"runnel.a"`,
	} {
		s := decode[config.Stream](t, `{"name":"S","metadata":`+given+`}`)
		if _, err := s.Normalized(config.Limits{}, false); wrong == "" && err != nil || wrong != "" && (err == nil || !strings.Contains(err.Error(), wrong)) {
			t.Errorf("stream with %s: got %v, want an error with %q", given, err, wrong)
		}
	}
}

// A key is refused that no message can have, as far as the subjects are known.
func TestKeyOfSubjects(t *testing.T) {
	for _, c := range []struct{ stream, filter, key, wrong string }{
		{`"subjects":["o.*.*"]`, ``, "token:3", ""},
		{`"subjects":["o.*.*"]`, ``, "token:4", `"runnel.key" asks for token 4 of the subject, and there is no message with so many: "o.*.*" has 3`},
		{`"subjects":["o","o.*"]`, ``, "tokens:1-3", `"o.*" has 2`},
		{`"subjects":["o","o.>"]`, ``, "token:9", ""},
		{`"subjects":["o","o.*"]`, ``, "token:2", ""},
		{`"subjects":["o.>"]`, `"filter_subject":"o.x",`, "token:3", `"o.x" has 2`},
		{`"subjects":["o.>"]`, `"filter_subjects":["o.x","o.y.z"],`, "token:3", ""},
		{`"subjects":["o.>"]`, `"filter_subjects":["o.x","o.y"],`, "token:3", `"o.x" has 2`},
		{`"subjects":["o"],"sources":[{"name":"T"}]`, ``, "token:3", ""},
		{`"mirror":{"name":"T"}`, ``, "token:3", ""},
		{`"subjects":["o"],"subject_transform":{"src":"o","dest":"a.b.c"}`, ``, "token:3", ""},
		{`"subjects":["o"]`, ``, "header:A", ""},
		{`"subjects":["o"]`, ``, "json:a.b", ""},
	} {
		consumer := decode[config.Consumer](t, `{"name":"C","ack_policy":"explicit",`+c.filter+`"metadata":{"runnel.key":"`+c.key+`"}}`)
		s := decode[config.Stream](t, `{"name":"S",`+c.stream+`}`)
		_, err := consumer.Normalized(&s, config.Limits{}, false)
		if c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%s %s %s: got %v, want an error with %q", c.stream, c.filter, c.key, err, c.wrong)
		}
	}
}

func TestOwnMetadataOfConsumers(t *testing.T) {
	const policy = `"metadata":{"runnel.retry":"exponential,min=1s"}`
	for given, wrong := range map[string]string{
		`{"ack_policy":"explicit","metadata":{"runnel.retries":"x"}}`:                                                           `"runnel.retries" is not known`,
		`{"ack_policy":"explicit","metadata":{"Runnel.Key":"token:1"}}`:                                                         `"Runnel.Key" is not known`,
		`{"ack_policy":"explicit",` + policy + `}`:                                                                              "",
		`{"ack_policy":"explicit","metadata":{"runnel.retry":"often"}}`:                                                         "cannot be followed",
		`{"ack_policy":"explicit","metadata":{"runnel.retry":""}}`:                                                              "cannot be followed",
		`{"ack_policy":"all",` + policy + `}`:                                                                                   "needs ack_policy explicit",
		`{"ack_policy":"none",` + policy + `}`:                                                                                  "needs ack_policy explicit",
		`{"ack_policy":"explicit","backoff":[1000000000],` + policy + `}`:                                                       "leave one of them out",
		`{"ack_policy":"explicit","metadata":{"runnel.dead_letter":"DEAD"}}`:                                                    "",
		`{"ack_policy":"explicit","metadata":{"runnel.dead_letter":""}}`:                                                        "needs the name of a stream",
		`{"ack_policy":"explicit","metadata":{"runnel.dead_letter":"A.B"}}`:                                                     "needs the name of a stream",
		`{"ack_policy":"all","metadata":{"runnel.dead_letter":"DEAD"}}`:                                                         "needs ack_policy explicit",
		`{"ack_policy":"explicit","metadata":{"runnel.dead_letter":"S"}}`:                                                       "another stream than the consumer's own",
		`{"ack_policy":"explicit","metadata":{"runnel.dead_letter":"DEAD","runnel.key":"token:1","runnel.key_failed":"block"}}`: "leave one of them out",
		`{"ack_policy":"explicit","metadata":{"my.runnel.retry":"often"}}`:                                                      "",

		`{"ack_policy":"explicit","metadata":{"runnel.key":"token:2","runnel.key_failed":"block"}}`: "",
		`{"ack_policy":"explicit","metadata":{"runnel.key":"customer"}}`:                            `metadata "runnel.key" cannot be followed: not a key expression: "customer"; write token:2`,
		`{"ack_policy":"all","metadata":{"runnel.key":"token:2"}}`:                                  "needs ack_policy explicit: the next message of a key",
		`{"ack_policy":"explicit","metadata":{"runnel.key":"token:2","runnel.key_failed":"wait"}}`:  `"runnel.key_failed" is skip or block`,
		`{"ack_policy":"explicit","metadata":{"runnel.key_failed":"skip"}}`:                         "set that too, or leave this out",

		`{"ack_policy":"explicit","metadata":{"runnel.breaker":""}}`:            "",
		`{"ack_policy":"explicit","metadata":{"runnel.breaker":"failures=50"}}`: "needs a share from 1% to 100%",
		`{"ack_policy":"all","metadata":{"runnel.breaker":"min=5"}}`:            "needs ack_policy explicit: only then",

		`{"ack_policy":"none","metadata":{"runnel.filter":"{\"a\":[1]}","runnel.filter_failed":"skip"}}`:        "",
		`{"ack_policy":"none","metadata":{"runnel.filter":"{\"a\":1}"}}`:                                        `metadata "runnel.filter" cannot be followed: not a content filter`,
		`{"ack_policy":"none","metadata":{"runnel.filter":"{\"a\":[1]}","runnel.filter_failed":"no"}}`:          `"runnel.filter_failed" is skip or dead_letter`,
		`{"ack_policy":"none","metadata":{"runnel.filter":"{\"a\":[1]}","runnel.filter_failed":"dead_letter"}}`: "which needs runnel.dead_letter",
		`{"ack_policy":"none","metadata":{"runnel.filter_failed":"skip"}}`:                                      "set that too, or leave this out",
	} {
		c := decode[config.Consumer](t, given)
		c.Name = "C"
		got, err := c.Normalized(stream(t, `{"subjects":["s.>"]}`), config.Limits{}, false)
		if wrong == "" && err != nil || wrong != "" && (err == nil || !strings.Contains(err.Error(), wrong)) {
			t.Errorf("%s: got %v, want an error with %q", given, err, wrong)
			continue
		}
		own, err := got.Own()
		says := func(key string) bool { return wrong == "" && strings.Contains(given, `"`+key+`":`) }
		if err == nil && ((own.Retry != nil) != says("runnel.retry") || (own.Key != nil) != says("runnel.key") ||
			own.Blocks != says("runnel.key_failed") || (own.Filter != nil) != says("runnel.filter") || (own.Breaker != nil) != says("runnel.breaker") || own.FilterFails) {
			t.Errorf("%s: got %+v", given, own)
		}
	}
}
