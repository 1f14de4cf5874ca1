package jetstream_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/servertest"
)

// given makes stream S with a dead-letter stream and a consumer that gives up so many messages, each on a subject of its own below s.0 and s.1 by turns.
func given(t *testing.T, messages int, fields string) *site {
	t.Helper()
	s := newSite(t, "")
	s.stream("S", `"subjects":["s.>"]`+fields)
	s.stream("DEAD", `"subjects":["dead"]`)
	s.consumer("S", "c", dead("DEAD"))
	s.many(messages, func(i int) string { return fmt.Sprintf("s.%d.%d", i%2, i) })
	s.giveUp("c", messages)
	s.buried("DEAD", messages)
	return s
}

// giveUp has a consumer of S give up so many messages.
func (s *site) giveUp(consumer string, messages int) {
	s.t.Helper()
	for left := messages; left > 0; {
		some := s.next("S", consumer, min(left, 100))
		for _, m := range some {
			s.acknowledge(m, "+TERM no")
		}
		left -= len(some)
	}
}

// redrives asks for a redrive of DEAD, and wants an error if code is not 0.
func (s *site) redrives(body string, code config.Code) (a api.DeadRedriveAnswer) {
	s.t.Helper()
	s.calls("DLQ.REDRIVE.DEAD", body, &a)
	if (a.Error != nil) != (code != 0) || code != 0 && a.Error.ErrCode != int(code) {
		s.t.Errorf("redrive %s: got %v, want error %d", body, a.Error, code)
	}
	return a
}

// redriven waits until the redrive of DEAD has ended, or is as wanted, and returns it.
func (s *site) redriven(is func(r *api.DeadRedrive) bool) (r *api.DeadRedrive) {
	s.t.Helper()
	servertest.Eventually(s.t, "the redrive is as wanted", func() bool {
		var info api.DeadInfoAnswer
		s.calls("DLQ.INFO.DEAD", "", &info)
		r = info.Redrive
		return r != nil && is(r)
	})
	return r
}

func ended(r *api.DeadRedrive) bool { return r.Ended != nil }

// bodies are what a consumer gets that was not delivered to it yet; all of it is acknowledged, but by f, which wants no
// acknowledgements.
func (s *site) bodies(consumer string) (list []string) {
	s.t.Helper()
	for _, m := range s.rest("S", consumer) {
		list = append(list, m.Subject+" "+string(m.Data))
		if consumer != "f" {
			s.acknowledge(m, "+ACK")
		}
	}
	return list
}

// TestPatternRedriveToConsumer puts letters back to the consumer that has given them up: two others, one of which filters contents, get
// what comes before and behind, and are through.
func TestPatternRedriveToConsumer(t *testing.T) {
	s := given(t, 4, `,"republish":{"src":">","dest":"again.>"}`)
	s.consumer("S", "d", `"ack_policy":"explicit"`)
	s.consumer("S", "e", `"ack_policy":"all","metadata":{"runnel.filter":"{\"subject\":[{\"prefix\":\"s\"}]}"}`)
	s.consumer("S", "f", `"ack_policy":"none","deliver_policy":"last_per_subject","filter_subject":"s.>"`)
	s.consumer("S", "g", `"ack_policy":"explicit","metadata":{"runnel.key":"token:2"}`)
	s.stream("MIRROR", `"mirror":{"name":"S"}`)
	s.consumer("MIRROR", "c", `"ack_policy":"explicit"`)
	s.consumer("MIRROR", "d", `"ack_policy":"explicit"`)
	for range 4 { // of each of both keys one at a time
		s.bodies("g")
	}
	for _, other := range []string{"d", "e"} {
		wants(t, other+" before", len(s.bodies(other)), 4)
	}
	wants(t, "f before", len(s.bodies("f")), 4)
	again := s.subscribe("again.>")
	event := s.subscribe("$RUNNEL.EVENT.ADVISORY.DLQ.REDRIVE.DEAD")
	a := s.redrives(`{"seq":2,"dry_run":true}`, 0)
	wants(t, "dry run", a.Matched, 1)
	if a.Redrive != nil {
		t.Errorf("a dry run has begun %+v", a.Redrive)
	}
	s.redrives(`{"seq":2}`, 0)
	r := s.redriven(ended)
	if r.Done != 1 || r.Failed != 0 || r.Error != "" || r.To != "consumer" || r.Stopped {
		t.Errorf("it has ended as %+v", r)
	}
	told, err := event.NextMsg(servertest.Patience)
	if err != nil || !strings.Contains(string(told.Data), `"done":1`) || !strings.Contains(string(told.Data), "io.runnel.advisory.v1.dlq_redrive") {
		t.Errorf("the event is %v, %v", told, err)
	}
	s.redrives(`{"filter":{"subject":"s.0.*","consumer":"c","stream":"S","reason":"terminated"}}`, 0)
	wants(t, "done", s.redriven(func(r *api.DeadRedrive) bool { return ended(r) && r.Filter.Subject != "" }).Done, 2)
	s.holds("DEAD", 1, 4, 4)
	s.stores(8, "s.x", "new")
	if m, err := again.NextMsg(servertest.Patience); err != nil || m.Subject != "again.s.x" {
		t.Errorf("published again: %v, %v, want what is new", m, err)
	}
	servertest.Eventually(t, "the mirror has all", func() bool { return s.state("MIRROR").Last == 8 })
	if c, d := len(s.rest("MIRROR", "c")), len(s.rest("MIRROR", "d")); c != 8 || d != 5 {
		t.Errorf("of the mirror c gets %d messages, and d %d, want 8 and 5", c, d)
	}
	for _, other := range []string{"d", "e", "f", "g"} {
		wants(t, other, s.bodies(other), []string{"s.x new"})
		var info struct {
			Pending  uint64 `json:"num_pending"`
			AckFloor struct {
				Stream uint64 `json:"stream_seq"`
			} `json:"ack_floor"`
		}
		servertest.Eventually(t, other+" is through", func() bool {
			s.must("CONSUMER.INFO.S."+other, "", &info)
			return info.Pending == 0 && (info.AckFloor.Stream == 8 || other == "f")
		})
	}
	list := s.rest("S", "c")
	if len(list) != 4 {
		t.Fatalf("c gets %d messages, want 4", len(list))
	}
	for i, m := range list {
		about := metadata(m)
		if about.NumDelivered != 1 || m.Header.Get("Runnel-Dead-Stream") != "" || (m.Header.Get(api.RedriveTo) == "c") != (i < 3) {
			t.Errorf("message %d is delivery %d, with headers %v", about.Sequence.Stream, about.NumDelivered, m.Header)
		}
		s.acknowledge(m, "+TERM again")
	}
	s.buried("DEAD", 5) // given up again
	if m := s.get("DEAD", `{"seq":5}`); strings.Contains(m.Headers, api.RedriveTo) || !strings.Contains(m.Headers, "Runnel-Dead-Path: S\r\n") {
		t.Errorf("given up again as %s", m.Headers)
	}
}

// TestPatternRedriveToSubject puts letters back for all consumers, at a rate.
func TestPatternRedriveToSubject(t *testing.T) {
	s := given(t, 5, "")
	s.consumer("S", "d", `"ack_policy":"explicit","deliver_policy":"new"`)
	s.must("CONSUMER.DELETE.S.c", "", nil)
	s.redrives(`{"all":true,"dry_run":true}`, api.RedriveUnwanted)
	s.redrives(`{"all":true}`, api.RedriveUnwanted)
	a := s.redrives(`{"all":true,"to":"subject","dry_run":true,"rate":1000}`, 0)
	if len(a.Sets) != 1 || a.Sets[0] != (api.DeadRedriveSet{Stream: "S", Consumer: "c", Messages: 5}) || a.Matched != 5 || a.Redrive != nil {
		t.Errorf("the dry run says %+v", a)
	}
	s.redrives(`{"all":true,"to":"subject","rate":1000}`, 0)
	wants(t, "done", s.redriven(ended).Done, 5)
	s.holds("DEAD", 0, 6, 5)
	wants(t, "d", len(s.bodies("d")), 5)
	wants(t, "nothing is left", s.redrives(`{"all":true,"to":"subject"}`, 0).Matched, 0)
}

// TestPatternRedriveWorkQueue puts letters back from a work queue into another one, and once more.
func TestPatternRedriveWorkQueue(t *testing.T) {
	s := newSite(t, "")
	s.stream("S", `"subjects":["s.>"],"retention":"workqueue"`)
	s.stream("DEAD", `"subjects":["dead"],"retention":"workqueue"`)
	s.consumer("S", "c", dead("DEAD"))
	s.consumer("DEAD", "reader", `"ack_policy":"explicit"`)
	s.many(3, func(int) string { return "s.a" })
	for round := range 3 {
		s.giveUp("c", 3)
		s.buried("DEAD", 3)
		s.redrives(`{"filter":{"consumer":"c"}}`, 0)
		servertest.Eventually(t, "they are back", func() bool { return s.state("DEAD").Messages == 0 })
		s.redriven(ended)
		wants(t, fmt.Sprintf("round %d", round), s.state("S").Messages, uint64(3))
	}
	list := s.rest("S", "c")
	for _, m := range list {
		if m.Header.Get(api.RedriveTo) != "" {
			t.Errorf("a work queue has %v", m.Header)
		}
		s.acknowledge(m, "+ACK")
	}
	wants(t, "in the end", len(list), 3)
	servertest.Eventually(t, "all are done", func() bool { return s.state("S").Messages == 0 })
}

// TestPatternRedriveBadInput refuses what cannot be put back, and says what to do.
func TestPatternRedriveBadInput(t *testing.T) {
	s := given(t, 2, "")
	s.stores(3, "dead", "no letter")
	s.redrives("", api.DeadLetterUnknown)
	s.redrives(`{"seq":3}`, api.DeadLetterUnknown)
	s.redrives(`{"seq":77}`, api.DeadLetterUnknown)
	s.redrives(`{"all":true,"to":"moon"}`, api.RedriveInvalid)
	s.redrives(`{"all":true,"rate":-1}`, api.RedriveInvalid)
	s.redrives(`{"al":true}`, api.InvalidJSON)
	var stop api.DeadStopAnswer
	s.calls("DLQ.STOP.DEAD", "", &stop)
	if stop.Error == nil || stop.Error.ErrCode != int(api.RedriveNone) {
		t.Errorf("stop: got %v", stop.Error)
	}
	s.refuses("CONSUMER.CREATE.DEAD.RUNNEL-REDRIVE", `{"stream_name":"DEAD","config":{"name":"RUNNEL-REDRIVE","ack_policy":"explicit"}}`, 10012)
	s.stream("SAFE", `"subjects":["safe"],"deny_delete":true`)
	s.consumer("S", "d", dead("SAFE"))
	s.acknowledge(s.next("S", "d", 1)[0], "+TERM")
	s.buried("SAFE", 1)
	var a api.DeadRedriveAnswer
	s.calls("DLQ.REDRIVE.SAFE", `{"all":true}`, &a)
	if a.Error == nil || a.Error.ErrCode != int(api.RedriveInvalid) {
		t.Errorf("nothing can be deleted: got %v", a.Error)
	}
	// A client cannot make a message that is for one consumer alone.
	s.stores(3, "s.a", "x", api.RedriveTo, "d", "My", "own")
	if m := s.get("S", `{"seq":3}`); strings.Contains(m.Headers, api.RedriveTo) || !strings.Contains(m.Headers, "My: own") {
		t.Errorf("stored as %q", m.Headers)
	}
	// What only pretends to be a letter is none.
	s.stores(4, "dead", "x", "Runnel-Dead-Stream", "S", "Runnel-Dead-Subject", "s.b", "Runnel-Dead-Consumer", "d", "Runnel-Dead-Path", "S")
	s.redrives(`{"seq":4}`, api.DeadLetterUnknown)
	s.redrives(`{"all":true}`, 0)
	r := s.redriven(ended)
	if r.Done != 2 || r.Failed != 0 || r.Error != "" {
		t.Errorf("it has ended as %+v", r)
	}
	s.holds("DEAD", 2, 3, 4)
}

// TestPatternRedriveFull has a stream that takes nothing for a while: the redrive waits and says why, a second one is refused, over
// restarts, and it goes on when there is room.
func TestPatternRedriveFull(t *testing.T) {
	s := given(t, 4, "")
	s.must("STREAM.PURGE.S", "", nil)
	update := func(most int) {
		s.must("STREAM.UPDATE.S", fmt.Sprintf(`{"name":"S","subjects":["s.>"],"discard":"new","max_msgs":%d}`, most), nil)
	}
	update(2)
	s.redrives(`{"all":true}`, 0)
	waits := func(r *api.DeadRedrive) bool { return strings.Contains(r.Error, "maximum messages exceeded") }
	r := s.redriven(waits)
	if r.Ended != nil || r.Done != 2 || r.Left != 2 {
		t.Errorf("it waits as %+v", r)
	}
	s.redrives(`{"all":true}`, api.RedriveRuns)
	s.restart()
	s.redriven(waits)
	s.redrives(`{"seq":4}`, api.RedriveRuns)
	s.holds("DEAD", 2, 3, 4)
	update(100)
	if r := s.redriven(ended); r.Failed != 0 || r.Error != "" {
		t.Errorf("it has ended as %+v", r)
	}
	s.holds("DEAD", 0, 5, 4)
	wants(t, "c gets", len(s.bodies("c")), 4)
}

// TestPatternRedriveStop stops a redrive: what is not put back stays, and another redrive puts back that.
func TestPatternRedriveStop(t *testing.T) {
	s := given(t, 20, "")
	s.redrives(`{"all":true,"rate":1}`, 0)
	s.redriven(func(r *api.DeadRedrive) bool { return r.Done > 0 })
	var stop api.DeadStopAnswer
	s.calls("DLQ.STOP.DEAD", "", &stop)
	if stop.Error != nil || stop.Redrive == nil || stop.Redrive.Ended == nil || !stop.Redrive.Stopped || stop.Redrive.Rate != 1 {
		t.Fatalf("stop: got %+v", stop)
	}
	done := int(stop.Redrive.Done)
	wants(t, "letters that are left", s.state("DEAD").Messages, uint64(20-done))
	wants(t, "c gets", len(s.bodies("c")), done)
	s.redrives(`{"all":true}`, 0)
	wants(t, "done then", s.redriven(func(r *api.DeadRedrive) bool { return ended(r) && r.Rate == 0 }).Done, uint64(20-done))
	wants(t, "c gets then", len(s.bodies("c")), 20-done)
}

// TestPatternRedriveMixed puts back letters of several consumers, one of which has gone: what cannot be put back stays, and the rest does
// not wait for it. The server is started again in the middle.
func TestPatternRedriveMixed(t *testing.T) {
	s := given(t, 300, "")
	s.consumer("S", "d", dead("DEAD"))
	s.giveUp("d", 300)
	s.buried("DEAD", 600)
	s.must("CONSUMER.DELETE.S.d", "", nil)
	a := s.redrives(`{"all":true,"rate":400}`, 0)
	i := slices.IndexFunc(a.Sets, func(set api.DeadRedriveSet) bool { return set.Consumer == "d" })
	if len(a.Sets) != 2 || i < 0 || a.Sets[i].Error == nil || a.Sets[1-i].Error != nil || a.Matched != 600 {
		t.Errorf("the redrive says %+v", a)
	}
	s.redriven(func(r *api.DeadRedrive) bool { return r.Done > 50 })
	s.restart()
	s.redriven(ended)
	s.holds("DEAD", 300, 301, 600)
	seen := map[string]int{}
	for range 4 {
		for _, body := range s.bodies("c") {
			seen[body]++
		}
	}
	if len(seen) != 300 {
		t.Errorf("c gets %d messages, want 300", len(seen))
	}
	for body, n := range seen {
		if n != 1 {
			t.Errorf("c gets %q %d times", body, n)
		}
	}
}

// TestPatternRedriveWire keeps what the call looks like: others build on it.
func TestPatternRedriveWire(t *testing.T) {
	s := given(t, 1, "")
	m, err := s.conn.Request("$RUNNEL.API.DLQ.REDRIVE.DEAD", []byte(`{"all":true,"dry_run":true}`), servertest.Patience)
	if err != nil {
		t.Fatal(err)
	}
	wants(t, "the answer", string(m.Data), `{"type":"io.runnel.api.v1.dlq_redrive_response","matched":1,"sets":[{"stream":"S","consumer":"c","messages":1}]}`)
}
