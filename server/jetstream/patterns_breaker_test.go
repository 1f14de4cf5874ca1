package jetstream_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

// TestPatternBreaker has everything fail: the consumer is paused before the messages have used up their attempts, and that is
// told. After a while it goes on, and all is processed.
func TestPatternBreaker(t *testing.T) {
	s := newSite(t, "")
	s.stream("S", `"subjects":["s.>"],"retention":"workqueue"`)
	s.refuses("CONSUMER.CREATE.S.bad", `{"stream_name":"S","config":{"name":"bad","ack_policy":"explicit","metadata":{"runnel.breaker":"failures=0%"}}}`, 10012)
	tripped := s.subscribe("$RUNNEL.EVENT.ADVISORY.CONSUMER.BREAKER.S.c")
	s.consumer("S", "c", `"ack_policy":"explicit","max_deliver":10,"metadata":{"runnel.breaker":"failures=60%,min=6,window=1m,pause=1s"}`)
	const messages = 4
	for i := range messages {
		s.stores(uint64(i+1), "s.a", fmt.Sprint(i))
	}
	for range 6 { // six attempts of the first messages
		s.acknowledge(s.next("S", "c", 1)[0], "-NAK")
	}
	m, err := tripped.NextMsg(10 * time.Second)
	if err != nil {
		t.Fatalf("nothing was told: %v", err)
	}
	var event struct {
		Type             string
		Stream, Consumer string
		Failed, Attempts int
		Until            time.Time `json:"pause_until"`
	}
	if err := json.Unmarshal(m.Data, &event); err != nil {
		t.Fatal(err)
	}
	if left := time.Until(event.Until); event.Type != "io.runnel.advisory.v1.consumer_breaker" || event.Stream != "S" || event.Consumer != "c" ||
		event.Failed != 6 || event.Attempts != 6 || left > time.Second {
		t.Errorf("told %s", m.Data)
	}
	for done := 0; done < messages; { // pulls that come before the pause is over get nothing
		got, _ := s.pull("S", "c", `{"batch":1,"expires":500000000}`, 1)
		for _, m := range got {
			s.acknowledge(m, "+ACK")
			done++
		}
	}
	if about := s.state("S"); about.Messages != 0 {
		t.Errorf("%d messages are left", about.Messages)
	}
}
