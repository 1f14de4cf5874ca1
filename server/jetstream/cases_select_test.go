package jetstream_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/server/servertest"
)

// delivers creates a consumer with these fields and checks what is pending for it and what it delivers.
func (s *site) delivers(stream, what, fields string, want ...uint64) {
	s.t.Helper()
	name := "c" + strings.NewReplacer(" ", "_", ".", "_").Replace(what)
	s.consumer(stream, name, `"ack_policy":"explicit",`+fields)
	if got := s.consumerState(stream, name).Pending; got != uint64(len(want)) {
		s.t.Errorf("%s: %d pending, want %d", what, got, len(want))
	}
	messages := s.rest(stream, name)
	wants(s.t, what, sequences(messages), want)
	for i, m := range messages {
		if got := metadata(m).NumPending; got != uint64(len(want)-i-1) {
			s.t.Errorf("%s: message %d says that %d are pending, want %d", what, i+1, got, len(want)-i-1)
		}
	}
	if c := s.consumerState(stream, name); c.Pending != 0 || c.AckPending != len(want) {
		s.t.Errorf("%s, afterwards: got %+v", what, c)
	}
	s.must("CONSUMER.DELETE."+stream+"."+name, "", nil)
}

// TestCaseC051 has filters that overlap, of which none contains another.
func TestCaseC051(t *testing.T) {
	four := []string{"foo", "bar", "baz", "oth"}
	check := func(s *site) {
		s.t.Helper()
		s.delivers("E", "two", `"filter_subjects":["event.foo.*","event.*.foo"]`, 1, 2, 3, 4, 5, 9, 13)
		s.delivers("E", "three", `"filter_subjects":["event.foo.*","event.*.foo","event.*.bar"]`, 1, 2, 3, 4, 5, 6, 9, 10, 13, 14)
		s.delivers("E", "with a literal", `"filter_subjects":["event.foo.*","event.*.foo","event.oth.oth"]`, 1, 2, 3, 4, 5, 9, 13, 16)
		s.delivers("E", "of other lengths", `"filter_subjects":["event.foo.*","event.foo","*.*.foo.>","event.*.foo"]`, 1, 2, 3, 4, 5, 9, 13)
		s.delivers("E", "from the middle", `"filter_subjects":["event.foo.*","event.*.foo"],"deliver_policy":"by_start_sequence","opt_start_seq":4`, 4, 5, 9, 13)
		s.delivers("E", "last", `"filter_subjects":["event.foo.*","event.*.foo"],"deliver_policy":"last"`, 13)
		s.delivers("E", "last of each", `"filter_subjects":["event.foo.*","event.*.foo"],"deliver_policy":"last_per_subject"`, 1, 2, 3, 4, 5, 9, 13)
		for _, filters := range []string{
			`["event.>","event.*.foo"]`, `["event.*.foo","event.>"]`, `["event.foo.foo","event.foo.*"]`, `[">","event.foo.bar"]`, `["event.*.*","event.*.foo"]`,
			`["event.foo.*","event.foo.*"]`, `["a","a"]`,
		} {
			s.refuses("CONSUMER.CREATE.E.x", consumerBody("E", "x", "", `"ack_policy":"explicit","filter_subjects":`+filters), 10138)
		}
	}
	eachStorage(t, func(t *testing.T, storage string) {
		s := newSite(t, "")
		s.stream("E", `"subjects":["event.>"],"storage":"`+storage+`"`)
		sequence := uint64(0)
		for _, a := range four {
			for _, b := range four {
				sequence++
				s.stores(sequence, "event."+a+"."+b, "x")
			}
		}
		check(s)
		if storage == "file" {
			s.restart()
			check(s)
		}
		// One consumer over changes of its filters.
		s.consumer("E", "u", `"ack_policy":"explicit","filter_subjects":["event.foo.*"]`)
		wants(t, "before the update", sequences(s.next("E", "u", 2)), []uint64{1, 2})
		s.consumer("E", "u", `"ack_policy":"explicit","filter_subjects":["event.foo.*","event.*.foo"]`)
		if got := s.consumerState("E", "u").Pending; got != 5 {
			t.Errorf("after the update: %d pending, want 5", got)
		}
		wants(t, "after the update", sequences(s.rest("E", "u")), []uint64{3, 4, 5, 9, 13})
		s.refuses("CONSUMER.CREATE.E.u", consumerBody("E", "u", "", `"ack_policy":"explicit","filter_subjects":["event.>","event.*.foo"]`), 10138)
		s.stores(17, "event.foo.foo", "x")
		wants(t, "what came", sequences(s.rest("E", "u")), []uint64{17})
	})
}

// TestCaseC051Gone counts what is pending for overlapping filters while messages go, and asks for the last of each
// subject by overlapping patterns.
func TestCaseC051Gone(t *testing.T) {
	eachStorage(t, func(t *testing.T, storage string) {
		s := newSite(t, "")
		s.stream("E", `"subjects":["e.>"],"allow_direct":true,"storage":"`+storage+`"`)
		for i, subject := range []string{"e.a.a", "e.a.b", "e.b.a", "e.b.b", "e.a.a", "e.b.a"} {
			s.stores(uint64(i+1), subject, "x")
		}
		s.consumer("E", "c", `"ack_policy":"explicit","filter_subjects":["e.a.*","e.*.a"]`)
		pending := func(what string, want uint64) {
			t.Helper()
			if got := s.consumerState("E", "c").Pending; got != want {
				t.Errorf("%s: %d pending, want %d", what, got, want)
			}
		}
		pending("at first", 5)
		s.must("STREAM.MSG.DELETE.E", `{"seq":1}`, nil)
		pending("without 1", 4)
		s.must("STREAM.PURGE.E", `{"filter":"e.b.*"}`, nil)
		pending("without e.b.*", 2)
		wants(t, "what is left", sequences(s.rest("E", "c")), []uint64{2, 5})
		last, err := s.multiple("E", `{"multi_last":["e.a.*","e.*.a","e.a.a"]}`)
		if err != nil {
			t.Fatal(err)
		}
		wants(t, "last of each", last, []string{"2", "5"})
	})
}

// multiple asks for several messages at once, and returns their sequences.
func (s *site) multiple(stream, body string) (list []string, err error) {
	inbox := s.conn.NewInbox()
	sub, err := s.conn.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sub.Unsubscribe()) }()
	if err := s.conn.PublishRequest("$JS.API.DIRECT.GET."+stream, inbox, []byte(body)); err != nil {
		return nil, err
	}
	for {
		m, err := sub.NextMsg(servertest.Patience)
		if err != nil || m.Header.Get("Status") == "204" {
			return list, err
		}
		list = append(list, m.Header.Get("Nats-Sequence")+m.Header.Get("Status"))
	}
}

// TestCaseC053 begins at times at which there is nothing any more.
func TestCaseC053(t *testing.T) {
	eachStorage(t, func(t *testing.T, storage string) {
		s := newSite(t, "")
		s.stream("S", `"subjects":["s.>"],"allow_direct":true,"storage":"`+storage+`"`)
		var times [12]time.Time // of each message
		store := func(n int) {
			s.stores(uint64(n), fmt.Sprint("s.", n%2), fmt.Sprint(n))
			var a struct{ Message struct{ Time time.Time } }
			s.must("STREAM.MSG.GET.S", fmt.Sprintf(`{"seq":%d}`, n), &a)
			times[n] = a.Message.Time
		}
		for n := range 10 {
			store(n + 1)
		}
		remove := func(n int) { s.must("STREAM.MSG.DELETE.S", fmt.Sprintf(`{"seq":%d}`, n), nil) }
		for n := 4; n <= 7; n++ {
			remove(n)
		}
		from := func(what string, at time.Time, want ...uint64) {
			t.Helper()
			clock := `"opt_start_time":"` + at.UTC().Format(time.RFC3339Nano) + `"`
			s.delivers("S", what, `"deliver_policy":"by_start_time",`+clock, want...)
			var odd []uint64
			for _, n := range want {
				if n%2 == 1 {
					odd = append(odd, n)
				}
			}
			s.delivers("S", what+" odd", `"filter_subject":"s.1","deliver_policy":"by_start_time",`+clock, odd...)
			// The same by a request for one message.
			m := s.get("S", strings.Replace("{"+clock+"}", "opt_", "", 1))
			if len(want) > 0 && m.Sequence != want[0] || len(want) == 0 && m.code != 10037 {
				t.Errorf("%s: get has %+v, want %v", what, m, want)
			}
			if m := s.get("S", strings.Replace(`{"next_by_subj":"s.1",`+clock+"}", "opt_", "", 1)); len(odd) > 0 && m.Sequence != odd[0] || len(odd) == 0 && m.code != 10037 {
				t.Errorf("%s: get of s.1 has %+v, want %v", what, m, odd)
			}
		}
		all := func(ten bool) {
			t.Helper()
			last := []uint64{8, 9}
			if ten {
				last = append(last, 10)
			}
			from("at 2", times[2], append([]uint64{2, 3}, last...)...)
			from("behind 2", times[2].Add(1), append([]uint64{3}, last...)...)
			for n := 4; n <= 8; n++ {
				from(fmt.Sprint("in the gap ", n), times[n], last...)
			}
			from("behind 3", times[3].Add(1), last...)
			from("behind 8", times[8].Add(1), last[1:]...)
			for _, year := range []int{1, 1600, 1969, 1970} {
				from(fmt.Sprint("year ", year), time.Date(year, 1, 1, 0, 0, 0, 1, time.UTC), append([]uint64{1, 2, 3}, last...)...)
			}
			for _, year := range []int{2200, 2300, 9999} {
				from(fmt.Sprint("year ", year), time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC))
			}
		}
		all(true)
		remove(10)
		all(false)
		from("at the deleted 10", times[10])
		if storage == "file" {
			s.restart()
			all(false)
			from("at the deleted 10", times[10])
		}
		store(11)
		from("at the deleted 10 with 11", times[10], 11)
		from("at 9 with 11", times[9], 9, 11)
		s.must("STREAM.PURGE.S", `{"seq":9}`, nil)
		from("in what was purged", times[2], 9, 11)
		s.must("STREAM.PURGE.S", "", nil)
		from("in the empty stream", times[2])
	})
}

// TestCaseC053Sequence begins at sequences at which there is nothing any more, or not yet.
func TestCaseC053Sequence(t *testing.T) {
	eachStorage(t, func(t *testing.T, storage string) {
		s := newSite(t, "")
		s.stream("S", `"subjects":["s"],"storage":"`+storage+`"`)
		for n := range uint64(10) {
			s.stores(n+1, "s", "x")
		}
		for n := 4; n <= 7; n++ {
			s.must("STREAM.MSG.DELETE.S", fmt.Sprintf(`{"seq":%d}`, n), nil)
		}
		from := func(n uint64, want ...uint64) {
			t.Helper()
			s.delivers("S", fmt.Sprint("from ", n), fmt.Sprintf(`"deliver_policy":"by_start_sequence","opt_start_seq":%d`, n), want...)
		}
		from(1, 1, 2, 3, 8, 9, 10)
		from(5, 8, 9, 10)
		from(8, 8, 9, 10)
		from(10, 10)
		from(11)
		from(1 << 63)
		s.must("STREAM.MSG.DELETE.S", `{"seq":10}`, nil)
		from(10)
		// What begins later than the stream ends begins there.
		s.consumer("S", "later", `"ack_policy":"explicit","deliver_policy":"by_start_sequence","opt_start_seq":13`)
		s.consumer("S", "new", `"ack_policy":"explicit","deliver_policy":"new"`)
		for n := uint64(11); n <= 14; n++ {
			s.stores(n, "s", "x")
		}
		wants(t, "from 13", sequences(s.rest("S", "later")), []uint64{13, 14})
		wants(t, "what is new", sequences(s.rest("S", "new")), []uint64{11, 12, 13, 14})
		s.must("STREAM.PURGE.S", `{"seq":12}`, nil)
		from(1, 12, 13, 14)
		s.restartAs(storage)
		if storage == "file" {
			from(1, 12, 13, 14)
		}
	})
}

// TestCaseC058 has the last message of each subject far apart.
func TestCaseC058(t *testing.T) {
	eachStorage(t, func(t *testing.T, storage string) {
		s := newSite(t, "")
		s.stream("S", `"subjects":["foo.*"],"storage":"`+storage+`"`)
		s.many(1000, func(i int) string {
			switch n := i + 1; {
			case n <= 10:
				return "foo.A"
			case n == 11 || n == 100:
				return "foo.B"
			case n == 12 || n == 1000:
				return "foo.C"
			}
			return "foo.gone"
		})
		const last = `"deliver_policy":"last_per_subject",`
		s.delivers("S", "with those that go", last+`"filter_subject":"foo.*"`, 10, 100, 999, 1000)
		for n := 13; n < 1000; n++ {
			if n != 100 {
				s.must("STREAM.MSG.DELETE.S", fmt.Sprintf(`{"seq":%d,"no_erase":true}`, n), nil)
			}
		}
		check := func() {
			t.Helper()
			s.delivers("S", "all", last+`"filter_subject":"foo.*"`, 10, 100, 1000)
			s.delivers("S", "everything", last+`"filter_subject":">"`, 10, 100, 1000)
			s.delivers("S", "some", last+`"filter_subjects":["foo.A","foo.C"]`, 10, 1000)
			s.delivers("S", "one", last+`"filter_subject":"foo.B"`, 100)
			s.delivers("S", "none", last+`"filter_subject":"foo.gone"`)
		}
		check()
		if storage == "file" {
			s.restart()
			check()
		}
		// Subjects that get another message before they are delivered count once.
		s.consumer("S", "slow", `"ack_policy":"explicit","max_ack_pending":1,"filter_subject":"foo.*",`+strings.TrimSuffix(last, ","))
		first := s.next("S", "slow", 1)
		wants(t, "first", sequences(first), []uint64{10})
		s.stores(1001, "foo.C", "x")
		s.stores(1002, "foo.A", "x")
		s.must("STREAM.MSG.DELETE.S", `{"seq":100}`, nil)
		pending := s.consumerState("S", "slow").Pending
		s.consumer("S", "slow", `"ack_policy":"explicit","filter_subject":"foo.*",`+strings.TrimSuffix(last, ","))
		if rest := s.rest("S", "slow"); uint64(len(rest)) != pending {
			t.Errorf("%d were pending, %v came", pending, sequences(rest))
		}
		s.must("STREAM.PURGE.S", `{"seq":13}`, nil)
		s.delivers("S", "behind a purge", last+`"filter_subject":"foo.*"`, 1001, 1002)
	})
}

// TestCaseC058Watch lets a watcher of a bucket know when it has seen all there is.
func TestCaseC058Watch(t *testing.T) {
	for name, storage := range map[string]nats.StorageType{"file": nats.FileStorage, "memory": nats.MemoryStorage} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, "")
			js, err := s.conn.JetStream()
			if err != nil {
				t.Fatal(err)
			}
			kv, err := js.CreateKeyValue(&nats.KeyValueConfig{Bucket: "B", History: 3, Storage: storage})
			if err != nil {
				t.Fatal(err)
			}
			for n := range 300 {
				key := fmt.Sprint("k", n%7)
				if n%50 == 0 {
					err = kv.Purge(key)
				} else {
					_, err = kv.PutString(key, fmt.Sprint(n))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			w, err := kv.WatchAll()
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]string{}
			for {
				select {
				case u := <-w.Updates():
					if u != nil {
						seen[u.Key()] = string(u.Value())
						continue
					}
				case <-time.After(servertest.Patience):
					t.Fatalf("the watcher waits, with %v", seen)
				}
				break
			}
			if len(seen) != 7 {
				t.Errorf("got %v, want 7 keys", seen)
			}
			for key, value := range seen {
				if e, err := kv.Get(key); err == nil && string(e.Value()) != value {
					t.Errorf("%s: watched %q, is %q", key, value, e.Value())
				}
			}
		})
	}
}

// TestCaseC060 purges up to a sequence among those that have gone already.
func TestCaseC060(t *testing.T) {
	eachStorage(t, func(t *testing.T, storage string) {
		s := newSite(t, "")
		s.stream("P", `"subjects":["test.*"],"storage":"`+storage+`"`)
		s.stores(1, "test.start", "x")
		s.many(10000, func(int) string { return "test.mid" })
		s.stores(10002, "test.end", "x")
		s.consumer("P", "c", "")
		purge := func(body string, want uint64) {
			t.Helper()
			var a struct{ Purged uint64 }
			s.must("STREAM.PURGE.P", body, &a)
			if a.Purged != want {
				t.Errorf("purge %s: %d purged, want %d", body, a.Purged, want)
			}
		}
		purge(`{"filter":"test.mid"}`, 10000)
		if got := s.counts("P"); got != "2 of 1 to 10002, 10000 deleted" {
			t.Errorf("after the first purge: %s", got)
		}
		purge(`{"seq":9000}`, 1)
		check := func() {
			t.Helper()
			if got := s.counts("P"); got != "1 of 10002 to 10002, 0 deleted" {
				t.Errorf("got %s, want the last message and nothing deleted", got)
			}
			wants(t, "subjects", s.state("P").Subjects, map[string]uint64{"test.end": 1})
			if m := s.get("P", `{"seq":10002}`); m.Subject != "test.end" {
				t.Errorf("the last message: got %+v", m)
			}
		}
		check()
		purge(`{"seq":1}`, 0)
		purge(`{"seq":9999}`, 0)
		purge(`{"seq":10002}`, 0)
		purge(`{"keep":1}`, 0)
		purge(`{"keep":5}`, 0)
		purge(`{"filter":"test.mid"}`, 0)
		purge(`{"filter":"test.*","seq":10002}`, 0)
		purge(`{"filter":"test.*","keep":1}`, 0)
		check()
		wants(t, "delivered", sequences(s.rest("P", "c")), []uint64{10002})
		if storage == "file" {
			s.restart()
			check()
		}
		// Beyond the end.
		purge(`{"seq":20000}`, 1)
		if got := s.counts("P"); got != "0 of 20000 to 19999, 0 deleted" {
			t.Errorf("after a purge beyond the end: %s", got)
		}
		s.stores(20000, "test.new", "x")
		wants(t, "delivered", sequences(s.rest("P", "c")), []uint64{20000})
	})
}

// counts is what a stream has, in short.
func (s *site) counts(stream string) string {
	s.t.Helper()
	var a struct {
		State struct {
			Messages uint64 `json:"messages"`
			First    uint64 `json:"first_seq"`
			Last     uint64 `json:"last_seq"`
			Deleted  int    `json:"num_deleted"`
		}
	}
	s.must("STREAM.INFO."+stream, "", &a)
	return fmt.Sprintf("%d of %d to %d, %d deleted", a.State.Messages, a.State.First, a.State.Last, a.State.Deleted)
}

// TestCaseC060Rest purges parts: what is left is exactly what was to be kept.
func TestCaseC060Rest(t *testing.T) {
	tests := []struct {
		body string
		want []uint64
	}{
		{`{"seq":5}`, []uint64{5, 6, 8, 9, 10, 12}},
		{`{"seq":7}`, []uint64{8, 9, 10, 12}},
		{`{"seq":8}`, []uint64{8, 9, 10, 12}},
		{`{"seq":11}`, []uint64{12}},
		{`{"seq":12}`, []uint64{12}},
		{`{"seq":13}`, nil},
		{`{"keep":3}`, []uint64{9, 10, 12}},
		{`{"keep":9}`, []uint64{1, 3, 5, 6, 8, 9, 10, 12}},
		{`{"filter":"s.0"}`, []uint64{1, 3, 5, 9}},
		{`{"filter":"s.0","seq":7}`, []uint64{1, 3, 5, 8, 9, 10, 12}},
		{`{"filter":"s.0","seq":8}`, []uint64{1, 3, 5, 8, 9, 10, 12}},
		{`{"filter":"s.0","seq":9}`, []uint64{1, 3, 5, 9, 10, 12}},
		{`{"filter":"s.0","keep":1}`, []uint64{1, 3, 5, 9, 12}},
		{`{"filter":"s.*","keep":2}`, []uint64{10, 12}},
		{`{"filter":"s.*","seq":6}`, []uint64{6, 8, 9, 10, 12}},
		{`{"filter":"none"}`, []uint64{1, 3, 5, 6, 8, 9, 10, 12}},
	}
	eachStorage(t, func(t *testing.T, storage string) {
		s := newSite(t, "")
		for i, tt := range tests {
			name := fmt.Sprint("S", i)
			s.stream(name, `"subjects":["`+name+`.*"],"storage":"`+storage+`"`)
			for n := range uint64(12) {
				s.stores(n+1, fmt.Sprintf("%s.%d", name, (n+1)%2), "x")
			}
			for _, n := range []int{2, 4, 7, 11} { // holes of both subjects
				s.must("STREAM.MSG.DELETE."+name, fmt.Sprintf(`{"seq":%d}`, n), nil)
			}
			s.must("STREAM.PURGE."+name, strings.Replace(tt.body, "s.", name+".", 1), nil)
		}
		check := func() {
			t.Helper()
			for i, tt := range tests {
				name := fmt.Sprint("S", i)
				var got []uint64
				for m := s.get(name, `{"next_by_subj":">","seq":1}`); m.code == 0; m = s.get(name, fmt.Sprintf(`{"next_by_subj":">","seq":%d}`, m.Sequence+1)) {
					got = append(got, m.Sequence)
				}
				wants(t, "after "+tt.body, got, tt.want)
				if state := s.state(name); state.Last != 12 || state.Messages != uint64(len(tt.want)) || len(tt.want) > 0 && state.First != tt.want[0] {
					t.Errorf("after %s: got %+v", tt.body, state)
				}
			}
		}
		check()
		if storage == "file" {
			s.restart()
			check()
		}
	})
}

// TestUpdateIsKnown changes a consumer again and again, and asks it for messages as soon as that is answered.
func TestUpdateIsKnown(t *testing.T) {
	s := newSite(t, "")
	s.stream("E", `"subjects":["e"]`)
	s.consumer("E", "c", "")
	for i := range 200 {
		most, want := 1+4*(i%2), "404"
		if most < 3 {
			want = "409"
		}
		s.consumer("E", "c", fmt.Sprintf(`"ack_policy":"explicit","max_batch":%d`, most))
		if _, status := s.pull("E", "c", `{"batch":3,"no_wait":true}`, 3); status != want {
			t.Fatalf("pull %d of 3 messages, with at most %d: got %s, want %s", i, most, status, want)
		}
	}
}
