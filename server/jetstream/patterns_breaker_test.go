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

// TestPatternBreakerReceipts: messages that are acknowledged by what is published count as processed, in the share of those that fail and in
// what the consumer gets through with.
func TestPatternBreakerReceipts(t *testing.T) {
	for _, to := range []string{"out.a", "s.out"} {
		t.Run(to, func(t *testing.T) {
			s := newSite(t, "")
			s.stream("S", `"subjects":["s.>"]`)
			s.stream("OUT", `"subjects":["out.>"]`)
			s.consumer("S", "c", `"ack_policy":"explicit","filter_subject":"s.job","metadata":{"runnel.breaker":"failures=50%,min=5,window=1m,pause=1h"}`)
			for i := range 19 {
				s.stores(uint64(i+1), "s.job", "job")
			}
			jobs := s.next("S", "c", 18)
			for _, job := range jobs[:12] {
				if a := s.publish(to, "done", "Runnel-Ack", job.Reply); a.Error.Code != 0 {
					t.Fatalf("got %v", a)
				}
			}
			s.waitsFor("S", "c", 6)
			for _, job := range jobs[12:] {
				s.acknowledge(job, `-NAK {"delay":3600000000000}`)
			}
			if got := len(s.next("S", "c", 1)); got != 1 {
				t.Errorf("%d messages after 6 of 18 have failed, want 1", got)
			}
			var lag struct {
				Served float64 `json:"served_per_second"`
			}
			s.calls("CONSUMER.LAG.S.c", "", &lag)
			if lag.Served == 0 {
				t.Error("nothing counts as served")
			}
		})
	}
}
