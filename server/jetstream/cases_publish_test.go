package jetstream_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"runnel/server/servertest"
)

// TestCaseC032 expects sequences that are no numbers: that is no reason to expect nothing.
func TestCaseC032(t *testing.T) {
	eachStorage(t, func(t *testing.T, storage string) {
		s := newSite(t, "")
		s.stream("S", `"subjects":["s.>"],"storage":"`+storage+`"`)
		s.stores(1, "s.a", "x", "Nats-Msg-Id", "one")
		s.stores(2, "s.a", "x", "Nats-Msg-Id", "two")
		check := func() {
			t.Helper()
			for _, value := range []string{"0", "1", "3", "abc", "-1", "99999999999999999999", "18446744073709551618", "2.0", "0x2", "2e0", "2 2", "2,", "٢"} {
				for _, name := range []string{"Nats-Expected-Last-Sequence", "Nats-Expected-Last-Subject-Sequence"} {
					s.rejects(10071, "s.a", "x", name, value)
					s.rejects(10071, "s.a", "x", name, value, "Nats-Msg-Id", "new")
				}
				s.rejects(10071, "s.b", "x", "Nats-Expected-Last-Subject-Sequence-Subject", "s.a", "Nats-Expected-Last-Subject-Sequence", value)
				s.rejects(10071, "s.b", "x", "Nats-Expected-Last-Subject-Sequence-Subject", "s.*", "Nats-Expected-Last-Subject-Sequence", value)
			}
			s.rejects(10071, "s.a", "x", "Nats-Expected-Last-Sequence", "2", "Nats-Expected-Last-Subject-Sequence", "1")
			s.rejects(10071, "s.a", "x", "Nats-Expected-Last-Sequence", "1", "Nats-Expected-Last-Subject-Sequence", "2")
			s.rejects(10193, "s.b", "x", "Nats-Expected-Last-Subject-Sequence-Subject", "s.a")
			s.rejects(10070, "s.a", "x", "Nats-Expected-Last-Msg-Id", "one")
			s.rejects(10070, "s.a", "x", "Nats-Expected-Last-Msg-Id", "new")
			s.rejects(10060, "s.a", "x", "Nats-Expected-Stream", "s")
			s.holds("S", 2, 1, 2)
		}
		check()
		if storage == "file" {
			s.restart()
			check()
		}
		s.stores(3, "s.b", "x", "Nats-Expected-Last-Sequence", "2", "Nats-Expected-Last-Subject-Sequence", "0", "Nats-Expected-Last-Msg-Id", "two", "Nats-Expected-Stream", "S")
		s.stores(4, "s.c", "x", "Nats-Expected-Last-Subject-Sequence-Subject", "s.a", "Nats-Expected-Last-Subject-Sequence", "2")
		s.must("STREAM.MSG.DELETE.S", `{"seq":2}`, nil)
		s.rejects(10071, "s.a", "x", "Nats-Expected-Last-Subject-Sequence", "2")
		s.stores(5, "s.a", "x", "Nats-Expected-Last-Subject-Sequence", "1", "Nats-Expected-Last-Sequence", "4")
		s.must("STREAM.PURGE.S", "", nil)
		s.rejects(10071, "s.a", "x", "Nats-Expected-Last-Sequence", "0")
		s.rejects(10071, "s.a", "x", "Nats-Expected-Last-Subject-Sequence", "5")
		s.stores(6, "s.a", "x", "Nats-Expected-Last-Sequence", "5", "Nats-Expected-Last-Subject-Sequence", "0")
	})
}

// TestCaseC034 publishes with ids that were seen, in all sorts of circumstances.
func TestCaseC034(t *testing.T) {
	eachStorage(t, func(t *testing.T, storage string) {
		s := newSite(t, "")
		s.stream("S", `"subjects":["s.>"],"storage":"`+storage+`"`)
		s.stores(1, "s.a", "x", "Nats-Msg-Id", "m1")
		duplicate := func(of uint64, subject string, headers ...string) {
			t.Helper()
			if a := s.publish(subject, "x", headers...); !a.Duplicate || a.Sequence != of || a.Error.Code != 0 {
				t.Errorf("publish on %s with %q: got %v, want a duplicate of %d", subject, headers, a, of)
			}
		}
		duplicate(1, "s.a", "Nats-Msg-Id", "m1")
		duplicate(1, "s.zz", "Nats-Msg-Id", "m1")
		s.stores(2, "s.a", "x", "nats-msg-id", "m1")
		s.stores(3, "s.a", "x", "NATS-MSG-ID", "m1")
		s.stores(4, "s.a", "x", "Nats-Msg-Id", "M1")
		s.stores(5, "s.a", "x", "Nats-Msg-Id", "")
		s.stores(6, "s.a", "x", "Nats-Msg-Id", "")
		s.rejects(10071, "s.a", "x", "Nats-Msg-Id", "m1", "Nats-Expected-Last-Sequence", "77")
		s.rejects(10071, "s.a", "x", "Nats-Msg-Id", "m1", "Nats-Expected-Last-Subject-Sequence", "77")
		s.rejects(10060, "s.a", "x", "Nats-Msg-Id", "m1", "Nats-Expected-Stream", "T")
		duplicate(1, "s.a", "Nats-Msg-Id", "m1", "Nats-Expected-Last-Sequence", "0")

		// What was refused has not used up its id.
		s.rejects(10071, "s.a", "x", "Nats-Msg-Id", "m2", "Nats-Expected-Last-Sequence", "77")
		s.rejects(10070, "s.a", "x", "Nats-Msg-Id", "m2", "Nats-Expected-Last-Msg-Id", "other")
		s.rejects(10166, "s.a", "x", "Nats-Msg-Id", "m2", "Nats-TTL", "5s")
		s.rejects(10111, "s.a", "x", "Nats-Msg-Id", "m2", "Nats-Rollup", "sub")
		s.stores(7, "s.a", "x", "Nats-Msg-Id", "m2")

		// What is gone was stored nevertheless.
		s.must("STREAM.MSG.DELETE.S", `{"seq":1}`, nil)
		duplicate(1, "s.a", "Nats-Msg-Id", "m1")
		s.must("STREAM.PURGE.S", "", nil)
		duplicate(7, "s.a", "Nats-Msg-Id", "m2")
		s.stores(8, "s.a", "x", "Nats-Msg-Id", "m3")
		if storage == "file" {
			s.restart()
			duplicate(8, "s.b", "Nats-Msg-Id", "m3")
			s.stores(9, "s.a", "x", "nats-msg-id", "m3")
			s.rejects(10071, "s.a", "x", "Nats-Msg-Id", "m3", "Nats-Expected-Last-Sequence", "77")
		}
	})
}

// TestCaseC034Elsewhere publishes with ids where messages are not kept, or not for long.
func TestCaseC034Elsewhere(t *testing.T) {
	eachStorage(t, func(t *testing.T, storage string) {
		s := newSite(t, "")
		id := []string{"Nats-Msg-Id", "m"}
		twice := func(stream, subject string) {
			t.Helper()
			if a := s.publish(subject, "x", id...); !a.Duplicate || a.Sequence != 1 || a.Stream != stream {
				t.Errorf("again on %s: got %v, want a duplicate of 1 in %s", subject, a, stream)
			}
		}
		// Worked off: the task has been done.
		s.stream("W", `"subjects":["w.>"],"retention":"workqueue","storage":"`+storage+`"`)
		s.consumer("W", "c", "")
		s.stores(1, "w.a", "x", id...)
		s.acknowledge(s.next("W", "c", 1)[0], "+ACK")
		s.holds("W", 0, 2, 1)
		twice("W", "w.a")
		// Wanted by nobody.
		s.stream("I", `"subjects":["i.>"],"retention":"interest","storage":"`+storage+`"`)
		s.stores(1, "i.a", "x", id...)
		s.holds("I", 0, 2, 1)
		twice("I", "i.a")
		// Another stream has ids of its own.
		s.stream("O", `"subjects":["o.>"],"max_msgs_per_subject":1,"storage":"`+storage+`"`)
		s.stores(1, "o.a", "x", id...)
		s.stores(2, "o.a", "x")
		twice("O", "o.a")
		// Refused because it is full: the next attempt counts.
		s.stream("F", `"subjects":["f.>"],"max_msgs":1,"discard":"new","storage":"`+storage+`"`)
		s.stores(1, "f.a", "x")
		s.rejects(10077, "f.a", "x", id...)
		s.rejects(10077, "f.a", "x", id...)
		s.must("STREAM.PURGE.F", "", nil)
		s.stores(2, "f.a", "x", id...)
		// Remembered for as long as was agreed.
		s.stream("B", `"subjects":["b.>"],"duplicate_window":100000000,"storage":"`+storage+`"`)
		s.stores(1, "b.a", "x", id...)
		servertest.Eventually(t, "the id to be forgotten", func() bool { return s.publish("b.a", "x", id...).Sequence == 2 })
		// Two ids: the first one counts, as where clients look it up.
		s.stores(2, "i.b", "x", "Nats-Msg-Id", "first", "Nats-Msg-Id", "second")
		s.stores(3, "i.b", "x", "Nats-Msg-Id", "second")
	})
}

// TestCaseC039 counts headers towards the size of a message.
func TestCaseC039(t *testing.T) {
	eachStorage(t, func(t *testing.T, storage string) {
		s := newSite(t, "")
		s.stream("D", `"subjects":["d.>"],"max_msg_size":30,"allow_atomic":true,"storage":"`+storage+`"`)
		text := func(n int) string { return strings.Repeat("x", n) }
		check := func(n uint64) {
			t.Helper()
			s.stores(n+1, "d.a", text(30))
			s.rejects(10054, "d.a", text(31))
			// NATS/1.0, a: b and two ends of lines are 18 bytes.
			s.stores(n+2, "d.a", text(12), "a", "b")
			s.rejects(10054, "d.a", text(13), "a", "b")
			s.rejects(10054, "d.a", "", "a", text(14))
			s.stores(n+3, "d.a", "", "a", text(13))
			s.stores(n+4, "d."+text(100), text(30)) // the subject does not count
			s.rejects(10054, "d.a", text(100), "Nats-Batch-Id", "b", "Nats-Batch-Sequence", "1", "Nats-Batch-Commit", "1")
			s.holds("D", n+4, 1, n+4)
		}
		check(0)
		if storage == "file" {
			s.restart()
			check(4)
		}
		last := s.state("D").Last
		// A lower limit is for what comes.
		s.must("STREAM.UPDATE.D", streamBody("D", `"subjects":["d.>"],"max_msg_size":5,"storage":"`+storage+`"`), nil)
		s.rejects(10054, "d.a", text(6))
		s.stores(last+1, "d.a", text(5))
		if m := s.get("D", `{"seq":1}`); len(m.Data) != 30 {
			t.Errorf("the first message: got %+v", m)
		}
		s.must("STREAM.UPDATE.D", streamBody("D", `"subjects":["d.>"],"storage":"`+storage+`"`), nil)
		s.stores(last+2, "d.a", text(1000), "a", text(1000))
		s.rejects(10097, "d.a", "", "a", text(65536))
		s.holds("D", last+2, 1, last+2)
	})
}

// TestCaseC039Bytes counts headers towards the bytes of a stream, and of an account.
func TestCaseC039Bytes(t *testing.T) {
	long := []string{"a", strings.Repeat("x", 300)}
	eachStorage(t, func(t *testing.T, storage string) {
		s := newSite(t, "accounts { A { jetstream { max_store: 1000, max_mem: 1000 }, users: [{user: a, password: x}] } }, no_auth_user: a")
		s.stream("N", `"subjects":["n.>"],"max_bytes":500,"discard":"new","storage":"`+storage+`"`)
		s.rejects(10077, "n.a", strings.Repeat("x", 200), long...)
		s.stores(1, "n.a", "x", long...)
		s.rejects(10077, "n.a", "x", long...)
		s.holds("N", 1, 1, 1)
		s.must("STREAM.DELETE.N", "", nil)

		s.stream("O", `"subjects":["o.>"],"max_bytes":500,"storage":"`+storage+`"`)
		for i := range uint64(3) {
			s.stores(i+1, "o.a", "x", long...)
		}
		s.holds("O", 1, 3, 3)
		s.must("STREAM.DELETE.O", "", nil)

		s.stream("U", `"subjects":["u.>"],"storage":"`+storage+`"`)
		for i := range uint64(2) {
			s.stores(i+1, "u.a", "x", long...)
		}
		s.rejects(10002, "u.a", "x", append(long, "b", strings.Repeat("x", 300))...)
		s.holds("U", 2, 1, 2)
		s.must("STREAM.DELETE.U", "", nil)
	})
}

// TestCaseC062 gives messages times to live that are none.
func TestCaseC062(t *testing.T) {
	eachStorage(t, func(t *testing.T, storage string) {
		s := newSite(t, "")
		s.stream("S", `"subjects":["s.>"],"allow_msg_ttl":true,"allow_atomic":true,"max_age":3600000000000,"storage":"`+storage+`"`)
		s.stream("R", `"subjects":["r.>"],"storage":"`+storage+`"`)
		s.stream("M", `"subjects":["m.>"],"subject_delete_marker_ttl":1000000000,"storage":"`+storage+`"`)
		bad := []string{"0", "500ms", "999ms", "-1", "-1s", "abc", "9999999999999999999", "18446744073709551617", "1.5", "1e3", "0x10", "5 s", "5d", "1h 2m", "nevermore", "0s", "+"}
		for _, value := range bad {
			s.rejects(10165, "s.t", "x", "Nats-TTL", value)
			s.rejects(10165, "m.t", "x", "Nats-TTL", value)
			s.rejects(10166, "r.a", "x", "Nats-TTL", value)
		}
		s.holds("S", 0, 0, 0)
		good := []string{"never", "2", "1h2m3s", "1s", "9223372036", "2562047h", "NEVER"}
		for i, value := range good {
			s.stores(uint64(i+1), fmt.Sprintf("s.%d", i), "x", "Nats-TTL", value)
		}
		for _, value := range []string{"5s", "5", "never"} {
			s.rejects(10166, "r.a", "x", "Nats-TTL", value)
		}
		s.stores(1, "r.a", "x")
		s.stores(1, "m.a", "x", "Nats-TTL", "1s")
		servertest.Eventually(t, "messages to expire", func() bool {
			return s.get("S", `{"seq":4}`).code == 10037 && s.get("S", `{"seq":2}`).code == 10037
		})
		for _, n := range []int{1, 3, 5, 6, 7} {
			if m := s.get("S", fmt.Sprintf(`{"seq":%d}`, n)); m.code != 0 {
				t.Errorf("TTL %s: got error %d", good[n-1], m.code)
			}
		}
		// The last of a subject leaves a marker, the marker of a marker is none.
		servertest.Eventually(t, "the marker to expire", func() bool { return s.state("M").Last >= 2 && s.state("M").Messages == 0 })
		s.holds("M", 0, 3, 2)
	})
}

// TestCaseC062Restart lets messages expire while no server runs.
func TestCaseC062Restart(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	s.stream("S", `"subjects":["s.>"],"allow_msg_ttl":true`)
	s.stream("A", `"subjects":["a.>"],"max_age":1000000000,"allow_msg_ttl":true`)
	for i, value := range []string{"1s", "never", "1h"} {
		s.stores(uint64(i+1), "s.a", "x", "Nats-TTL", value)
		s.stores(uint64(i+1), "a.a", "x", "Nats-TTL", value)
	}
	stored := time.Now()
	s.stop()
	servertest.Eventually(t, "a second to pass", func() bool { return time.Since(stored) > time.Second })
	s.open()
	servertest.Eventually(t, "what was due to be gone", func() bool { return s.state("S").Messages == 2 && s.state("A").Messages == 1 })
	s.holds("S", 2, 2, 3)
	if m := s.get("A", `{"seq":2}`); m.code != 0 {
		t.Errorf("the message that never expires: got error %d", m.code)
	}
	s.restart()
	s.holds("S", 2, 2, 3)
	if m := s.get("A", `{"seq":2}`); m.code != 0 {
		t.Errorf("after another restart: got error %d", m.code)
	}
}

// batch publishes a member of an atomic batch.
func (s *site) batch(subject, id string, sequence int, commit string, headers ...string) ack {
	s.t.Helper()
	headers = append(slices.Clone(headers), "Nats-Batch-Id", id, "Nats-Batch-Sequence", fmt.Sprint(sequence))
	if commit != "" {
		headers = append(headers, "Nats-Batch-Commit", commit)
	}
	return s.publish(subject, "v", headers...)
}

// TestCaseC074 publishes atomic batches that are refused, all of them whole.
func TestCaseC074(t *testing.T) {
	eachStorage(t, func(t *testing.T, storage string) {
		s := newSite(t, "")
		s.stream("B", `"subjects":["b.>"],"allow_atomic":true,"storage":"`+storage+`"`)
		s.stream("N", `"subjects":["n"],"storage":"`+storage+`"`)
		s.consumer("B", "c", "")
		for i := 1; i <= 2; i++ {
			if a := s.batch("b.x", "x", i, ""); !a.empty {
				t.Errorf("member %d: got %v", i, a)
			}
			s.holds("B", 0, 0, 0)
			wants(t, "delivered before the commit", sequences(s.rest("B", "c")), nil)
		}
		if a := s.batch("b.x", "x", 3, "1"); a.Sequence != 3 || a.Batch != "x" || a.Count != 3 {
			t.Errorf("commit: got %v, batch %s of %d", a, a.Batch, a.Count)
		}
		s.holds("B", 3, 1, 3)
		wants(t, "delivered", sequences(s.rest("B", "c")), []uint64{1, 2, 3})
		type member struct {
			subject, id string
			sequence    int
			commit      string
			headers     []string
		}
		expect0 := []string{"Nats-Expected-Last-Subject-Sequence", "0"}
		tests := []struct {
			name    string
			code    int
			members []member
		}{
			{"gap", 10176, []member{{"b.1", "y", 1, "", nil}, {"b.2", "y", 3, "1", nil}}},
			{"twice the same", 10176, []member{{"b.1", "y2", 1, "", nil}, {"b.2", "y2", 2, "", nil}, {"b.2", "y2", 2, "1", nil}}},
			{"late", 10176, []member{{"b.1", "z", 2, "1", nil}}},
			{"zero", 10176, []member{{"b.1", "z0", 0, "1", nil}}},
			{"expectation", 10071, []member{{"b.1", "w", 1, "", nil}, {"b.2", "w", 2, "1", []string{"Nats-Expected-Last-Subject-Sequence", "99"}}}},
			{"expectation of the first", 10071, []member{{"b.1", "w1", 1, "", []string{"Nats-Expected-Last-Sequence", "99"}}, {"b.2", "w1", 2, "1", nil}}},
			{"same subject with expected 0", 10164, []member{{"b.n", "v", 1, "", expect0}, {"b.n", "v", 2, "1", expect0}}},
			{"long id", 10179, []member{{"b.1", strings.Repeat("i", 65), 1, "1", nil}}},
			{"commit value", 10200, []member{{"b.1", "c2", 1, "2", nil}}},
			{"commit value of a later one", 10200, []member{{"b.1", "c3", 1, "", nil}, {"b.1", "c3", 2, "0", nil}}},
			{"id twice", 10201, []member{{"b.1", "d", 1, "", []string{"Nats-Msg-Id", "m"}}, {"b.1", "d", 2, "1", []string{"Nats-Msg-Id", "m"}}}},
			{"unsupported header", 10177, []member{{"b.1", "u", 1, "1", []string{"Nats-Expected-Last-Msg-Id", "m"}}}},
			{"other stream", 10060, []member{{"b.1", "o", 1, "", nil}, {"b.1", "o", 2, "1", []string{"Nats-Expected-Stream", "N"}}}},
			{"disabled", 10174, []member{{"n", "x", 1, "1", nil}}},
		}
		for _, tt := range tests {
			var answers []ack
			for _, m := range tt.members {
				answers = append(answers, s.batch(m.subject, m.id, m.sequence, m.commit, m.headers...))
			}
			if !slices.ContainsFunc(answers, func(a ack) bool { return a.Error.Code == tt.code }) {
				t.Errorf("%s: got %v, want %d", tt.name, answers, tt.code)
			}
			s.holds("B", 3, 1, 3)
		}
		s.holds("N", 0, 0, 0)
		wants(t, "delivered of what was refused", sequences(s.rest("B", "c")), nil)
		// None of it is in the way of what comes, not even of the same ids.
		for i, m := range []string{"y", "w", "v", "d"} {
			if a := s.batch("b.n", m, 1, "1", "Nats-Msg-Id", "m"+m); a.Sequence != uint64(i+4) {
				t.Errorf("batch %s again: got %v, want %d", m, a, i+4)
			}
		}
	})
}

// TestCaseC074Together has several batches under way at once, and ends them in all ways.
func TestCaseC074Together(t *testing.T) {
	eachStorage(t, func(t *testing.T, storage string) {
		s := newSite(t, "")
		s.stream("B", `"subjects":["b.>"],"allow_atomic":true,"max_msgs_per_subject":2,"storage":"`+storage+`"`)
		s.stores(1, "b.other", "x")
		for i := 1; i <= 2; i++ {
			s.batch("b.p", "p", i, "")
			s.batch("b.q", "q", i, "")
			s.stores(uint64(i+1), "b.other", "x")
		}
		if a := s.batch("b.q", "q", 3, "eob"); a.Sequence != 5 || a.Count != 2 {
			t.Errorf("end of batch: got %v, %d messages, want sequence 5 and 2", a, a.Count)
		}
		if a := s.batch("b.p", "p", 3, "1"); a.Sequence != 8 || a.Count != 3 {
			t.Errorf("commit: got %v, %d messages, want sequence 8 and 3", a, a.Count)
		}
		// Limits count all of a batch: of p the first one went.
		wants(t, "sequences gone", s.state("B").Deleted, []uint64{6})
		wants(t, "subjects", s.state("B").Subjects, map[string]uint64{"b.other": 2, "b.p": 2, "b.q": 2})
		// One that nobody ended is not there after a restart, nor the half of it.
		s.batch("b.r", "r", 1, "")
		s.restartAs(storage)
		if storage == "file" {
			if a := s.batch("b.r", "r", 2, "1"); a.Error.Code != 10176 {
				t.Errorf("batch over a restart: got %v, want 10176", a)
			}
			s.stores(9, "b.r", "x")
		}
	})
}

// TestCaseC074Full sends batches that do not fit: nothing of them is stored.
func TestCaseC074Full(t *testing.T) {
	eachStorage(t, func(t *testing.T, storage string) {
		s := newSite(t, "")
		s.stream("B", `"subjects":["b.>"],"allow_atomic":true,"max_msgs":3,"discard":"new","storage":"`+storage+`"`)
		s.stores(1, "b.a", "x")
		for i := 1; i <= 2; i++ {
			s.batch("b.a", "big", i, "")
		}
		if a := s.batch("b.a", "big", 3, "1"); a.Error.Code != 10077 {
			t.Errorf("a batch of 3 where 2 have room: got %v, want 10077", a)
		}
		s.holds("B", 1, 1, 1)
		s.batch("b.a", "fits", 1, "")
		if a := s.batch("b.a", "fits", 2, "1"); a.Sequence != 3 {
			t.Errorf("a batch of 2: got %v, want sequence 3", a)
		}
		s.holds("B", 3, 1, 3)
		// So many messages, and so many batches.
		s.stream("L", `"subjects":["l.>"],"allow_atomic":true,"storage":"`+storage+`"`)
		var last ack
		for i := 1; i <= 1001 && last.Error.Code == 0; i++ {
			last = s.batch("l.a", "long", i, "")
		}
		if last.Error.Code != 10199 {
			t.Errorf("the 1001st message: got %v, want 10199", last)
		}
		last = ack{}
		for i := 0; i <= 50 && last.Error.Code == 0; i++ {
			last = s.batch("l.a", fmt.Sprint("id", i), 1, "")
		}
		if last.Error.Code != 10210 {
			t.Errorf("the 51st batch: got %v, want 10210", last)
		}
		s.holds("L", 0, 0, 0)
	})
}
