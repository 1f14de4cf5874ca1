package jetstream_test

import (
	"testing"

	"runnel/server/servertest"
)

// TestPatternFilterStreams: a stream takes over from a source what a filter matches, and publishes again what another one does.
func TestPatternFilterStreams(t *testing.T) {
	s := newSite(t, "")
	for metadata, code := range map[string]int{
		`{"runnel.filter.source.P":"{\"total\":[1]}"}`: 10052, // no source of that name
		`{"runnel.filter.source.O":"{\"total\":1}"}`:   10052, // no pattern
		`{"runnel.filter.republish":"{\"a\":[1]}"}`:    10052, // nothing is published again
	} {
		s.refuses("STREAM.CREATE.S", `{"name":"S","sources":[{"name":"O"}],"metadata":`+metadata+`}`, code)
	}
	s.make(`{"name":"O","subjects":["o.>"]}`)
	again := s.subscribe("again.>")
	s.make(`{"name":"S","sources":[{"name":"O"}],"republish":{"src":"o.>","dest":"again.>"},"metadata":{` +
		`"runnel.filter.source.O":"{\"total\":[{\"numeric\":[\">=\",10]}]}","runnel.filter.republish":"{\"subject\":[{\"suffix\":\".eu\"}]}"}}`)
	s.put("o.eu", `{"total":9}`)
	s.put("o.eu", `{"total":10}`)
	s.put("o.us", `{"total":11}`)
	s.put("o.us", `not JSON`)
	s.put("o.eu", `{"total":12}`)
	s.becomes("S", `1 o.eu {"total":10}, 2 o.us {"total":11}, 3 o.eu {"total":12}`)
	for _, want := range []string{`{"total":10}`, `{"total":12}`} {
		m, err := again.NextMsg(servertest.Patience)
		if err != nil || string(m.Data) != want {
			t.Fatalf("published again: got %v, %v, want %s", m, err, want)
		}
	}
	s.restart()
	s.put("o.eu", `{"total":1}`)
	s.put("o.eu", `{"total":13}`)
	s.becomes("S", `1 o.eu {"total":10}, 2 o.us {"total":11}, 3 o.eu {"total":12}, 4 o.eu {"total":13}`)
}

// TestPatternFilterFailed: a message that a filter cannot decide about is a dead letter, where that is asked for.
func TestPatternFilterFailed(t *testing.T) {
	s := newSite(t, "")
	s.stream("DEAD", `"subjects":["dead.*"]`)
	s.stream("S", `"subjects":["s.*"],"retention":"workqueue"`)
	s.consumer("S", "c", `"ack_policy":"explicit","metadata":{"runnel.filter":"{\"n\":[1]}","runnel.filter_failed":"dead_letter","runnel.dead_letter":"DEAD"}`)
	s.stores(1, "s.a", `{"n":2}`)
	s.stores(2, "s.a", `not JSON`)
	s.stores(3, "s.a", `{"n":1}`)
	m := s.next("S", "c", 1)[0]
	if got := metadata(m).Sequence.Stream; got != 3 {
		t.Errorf("got message %d, want 3", got)
	}
	s.becomes("DEAD", "1 s.a not JSON")
	s.acknowledge(m, "+ACK")
	s.holds("S", 0, 4, 3)
}
