package ingest_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/server/jetstream/ingest"
)

// The refusals of atomic batches.
var (
	incomplete = refusal(400, 10176, "atomic publish batch is incomplete")
	tooMany    = refusal(429, 10210, "atomic publish too many inflight")
	duplicate  = refusal(400, 10201, "atomic publish batch contains duplicate message id")
)

// member publishes a member of an atomic batch and returns the answer.
func (b *bench) member(subject, id string, n int, commit string, more ...string) string {
	b.t.Helper()
	fields := append([]string{"Nats-Batch-Id", id, "Nats-Batch-Sequence", fmt.Sprint(n)}, more...)
	if commit != "" {
		fields = append(fields, "Nats-Batch-Commit", commit)
	}
	return b.ask(subject, "x", fields...)
}

func committed(seq int, id string, count int) string {
	return fmt.Sprintf(`{"stream":"S","seq":%d,"batch":%q,"count":%d}`, seq, id, count)
}

func allowAtomic(c *config.Stream) { c.AllowAtomic, c.AllowRollup, c.AllowTTL = true, true, true }

func TestAtomicBatch(t *testing.T) {
	type member struct {
		subject, id string
		n           int
		commit      string
		more        []string
		want        string
	}
	long := strings.Repeat("i", 64)
	wrong := func(seq int) string { return refusal(400, 10071, fmt.Sprint("wrong last sequence: ", seq)) }
	tests := map[string]struct {
		change  func(*config.Stream)
		members []member
		last    uint64 // of the stream afterwards
		gone    string // batches that were abandoned
	}{
		"three": {members: []member{
			{"s.1", "x", 1, "", nil, ""},
			{"s.2", "x", 2, "", nil, ""},
			{"s.3", "x", 3, "1", nil, committed(3, "x", 3)},
		}, last: 3},
		"one": {members: []member{{"s.1", "x", 1, "1", nil, committed(1, "x", 1)}}, last: 1},
		"two at once": {members: []member{
			{"s.1", "x", 1, "", nil, ""},
			{"s.1", "y", 1, "", nil, ""},
			{"s.1", "y", 2, "1", nil, committed(2, "y", 2)},
			{"s.1", "x", 2, "1", nil, committed(4, "x", 2)},
		}, last: 4},
		"the same id again": {members: []member{
			{"s.1", "x", 1, "1", nil, committed(1, "x", 1)},
			{"s.1", "x", 1, "1", nil, committed(2, "x", 1)},
		}, last: 2},
		"an end that is not stored": {members: []member{
			{"s.1", "x", 1, "", nil, ""},
			{"s.1", "x", 2, "eob", nil, committed(1, "x", 1)},
			{"s.1", "y", 1, "eob", nil, incomplete},
		}, last: 1, gone: "y incomplete"},
		"a gap": {members: []member{
			{"s.1", "x", 1, "", nil, ""},
			{"s.1", "x", 3, "", nil, incomplete},
			{"s.1", "x", 4, "1", nil, incomplete},
		}, gone: "x incomplete"},
		"a repetition": {members: []member{
			{"s.1", "x", 1, "", nil, ""},
			{"s.1", "x", 1, "", nil, incomplete},
			{"s.1", "x", 2, "1", nil, incomplete},
		}, gone: "x incomplete"},
		"a late start": {members: []member{
			{"s.1", "x", 2, "", nil, incomplete},
			{"s.1", "y", 2, "1", nil, incomplete},
			{"s.1", "z", 0, "", nil, incomplete},
		}},
		"ids": {members: []member{
			{"s.1", long, 1, "1", nil, committed(1, long, 1)},
			{"s.1", long + "i", 1, "1", nil, refusal(400, 10179, "atomic publish batch ID is invalid")},
			{"s.1", "", 1, "1", nil, ok2},
		}, last: 2},
		"a bad commit": {members: []member{
			{"s.1", "x", 1, "", nil, ""},
			{"s.1", "x", 2, "2", nil, refusal(400, 10200, "atomic publish batch commit is invalid")},
			{"s.1", "x", 3, "1", nil, incomplete},
		}, gone: "x incomplete"},
		"disabled": {change: func(*config.Stream) {}, members: []member{
			{"s.1", "x", 1, "1", nil, refusal(400, 10174, "atomic publish is disabled")},
			{"s.1", long + "i", 1, "1", nil, refusal(400, 10174, "atomic publish is disabled")},
		}},
		"a header that no batch can have": {members: []member{
			{"s.1", "x", 1, "", []string{"Nats-Expected-Last-Msg-Id", "a"}, ""},
			{"s.1", "x", 2, "1", nil, refusal(400, 10177, "atomic publish unsupported header used: Nats-Expected-Last-Msg-Id")},
		}},
		"message ids": {members: []member{
			{"s.1", "x", 1, "", []string{"Nats-Msg-Id", "A"}, ""},
			{"s.1", "x", 2, "1", []string{"Nats-Msg-Id", "A"}, duplicate},
			{"s.1", "y", 1, "", []string{"Nats-Msg-Id", "A"}, ""},
			{"s.1", "y", 2, "1", []string{"Nats-Msg-Id", "B"}, committed(2, "y", 2)},
			{"s.1", "z", 1, "", []string{"Nats-Msg-Id", "A"}, ""},
			{"s.1", "z", 2, "1", []string{"Nats-Msg-Id", "C"}, duplicate},
		}, last: 2},
		"expectations of the stream": {members: []member{
			{"s.1", "a", 1, "1", nil, committed(1, "a", 1)},
			{"s.1", "x", 1, "", []string{"Nats-Expected-Last-Sequence", "99"}, ""},
			{"s.1", "x", 2, "1", nil, wrong(1)},
			{"s.1", "y", 1, "", []string{"Nats-Expected-Stream", "Z"}, ""},
			{"s.1", "y", 2, "1", nil, refusal(400, 10060, "expected stream does not match")},
			{"s.1", "z", 1, "", []string{"Nats-Expected-Last-Sequence", "1"}, ""},
			{"s.1", "z", 2, "1", nil, committed(3, "z", 2)},
		}, last: 3},
		"expectations of a subject": {members: []member{
			{"s.1", "x", 1, "", nil, ""},
			{"s.2", "x", 2, "1", []string{"Nats-Expected-Last-Subject-Sequence", "99"}, wrong(0)},
			{"s.n", "y", 1, "", []string{"Nats-Expected-Last-Subject-Sequence", "0"}, ""},
			{"s.n", "y", 2, "1", []string{"Nats-Expected-Last-Subject-Sequence", "0"}, refusal(400, 10164, "wrong last sequence")},
		}},
		"a TTL": {members: []member{
			{"s.1", "x", 1, "", []string{"Nats-TTL", "x"}, ""},
			{"s.1", "x", 2, "1", nil, refusal(400, 10165, "invalid per-message TTL")},
		}},
		"size": {
			change: func(c *config.Stream) { allowAtomic(c); c.MaxMessageBytes = 100 },
			members: []member{
				{"s.1", "x", 1, "", nil, ""},
				{"s.1", "x", 2, "", []string{"A", strings.Repeat("b", 60)}, refusal(400, 10054, "message size exceeds maximum allowed")},
				{"s.1", "x", 3, "1", nil, incomplete},
			},
			gone: "x incomplete",
		},
		"levels": {members: []member{
			{"s.1", "x", 1, "1", []string{"Nats-Required-Api-Level", "9"}, refusal(412, 10185, "JetStream minimum api level required")},
			{"s.1", "y", 1, "1", []string{"Nats-Required-Api-Level", "2"}, committed(1, "y", 1)},
		}, last: 1, gone: "x unsupported"},
		"sealed": {
			change: func(c *config.Stream) { allowAtomic(c); c.Sealed = true },
			members: []member{
				{"s.1", "x", 1, "1", nil, refusal(400, 10109, "invalid operation on sealed stream")},
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			change := allowAtomic
			if test.change != nil {
				change = test.change
			}
			b := newBench(t, ingest.Config{}, change)
			for i, m := range test.members {
				if got := b.member(m.subject, m.id, m.n, m.commit, m.more...); got != m.want {
					t.Errorf("message %d: got %q, want %q", i+1, got, m.want)
				}
			}
			if got := b.log.State().Last; got != test.last {
				t.Errorf("got last sequence %d, want %d", got, test.last)
			}
			stored, gone := b.hooks()
			if gone != test.gone {
				t.Errorf("got %q as abandoned, want %q", gone, test.gone)
			}
			if got := len(strings.Fields(stored)) / 2; got != int(test.last) {
				t.Errorf("got told of %q, want all %d messages", stored, test.last)
			}
		})
	}
}

func TestAtomicSequenceMissing(t *testing.T) {
	b := newBench(t, ingest.Config{}, allowAtomic)
	for _, fields := range [][]string{
		{"Nats-Batch-Id", "q"},
		{"Nats-Batch-Id", "q", "Nats-Batch-Sequence", "abc"},
		{"Nats-Batch-Id", "q", "Nats-Batch-Sequence", "-1"},
		{"Nats-Batch-Id", "q", "Nats-Batch-Sequence", ""},
	} {
		if got, want := b.ask("s.1", "x", fields...), refusal(400, 10175, "atomic publish sequence is missing"); got != want {
			t.Errorf("%v: got %s, want %s", fields, got, want)
		}
	}
	for _, name := range []string{"Nats-Batch-Sequence", "Nats-Batch-Commit"} {
		if got := b.ask("s.1", "x", name, "1"); !strings.HasPrefix(got, `{"stream":"S","seq":`) {
			t.Errorf("only %s: got %s, want an ordinary message", name, got)
		}
	}
}

// Nothing of a batch is visible before its end, and what is stored is what was sent.
func TestAtomicContent(t *testing.T) {
	b := newBench(t, ingest.Config{}, allowAtomic, func(c *config.Stream) {
		c.SubjectTransform = &config.Transform{Source: "s.*", Destination: "t.{{wildcard(1)}}"}
		c.Republish = &config.Republish{Source: ">", Destination: "out.>"}
	})
	b.member("s.1", "x", 1, "", "Nats-Required-Api-Level", "2", "Nats-Request-Info", "{}")
	if got := b.log.State(); got.Last != 0 {
		t.Errorf("got state %+v before the end, want nothing stored", got)
	}
	b.publish("s.1", "", "y", "Nats-Batch-Id", "x", "Nats-Batch-Sequence", "2", "Nats-Batch-Commit", "1")
	for i, want := range []string{"out.t.1", "out.t.1"} {
		m := b.next()
		header, _ := fields(t, m.header)
		if m.subject != want || !strings.Contains(header, fmt.Sprintf("Nats-Sequence: %d|Nats-Time-Stamp: T|Nats-Last-Sequence: %d", i+1, i)) {
			t.Errorf("got %v republished, want message %d on %s", m, i+1, want)
		}
	}
	b.quiet()
	if got, want := b.load(1), `t.1 "NATS/1.0\r\nNats-Batch-Id: x\r\nNats-Batch-Sequence: 1\r\n\r\n" x`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, _ := b.hooks(); got != "t.1 1, t.1 2" {
		t.Errorf("got told of %q, want both messages", got)
	}
}

// The last message tells readers that the batch ends, whichever way it was ended.
func TestAtomicEnd(t *testing.T) {
	b := newBench(t, ingest.Config{}, allowAtomic)
	b.member("s.1", "x", 1, "", "A", "b")
	b.member("s.1", "x", 2, "eob")
	b.member("s.1", "y", 1, "1")
	for seq, want := range []string{
		`s.1 "NATS/1.0\r\nNats-Batch-Id: x\r\nNats-Batch-Sequence: 1\r\nA: b\r\nNats-Batch-Commit: 1\r\n\r\n" x`,
		`s.1 "NATS/1.0\r\nNats-Batch-Id: y\r\nNats-Batch-Sequence: 1\r\nNats-Batch-Commit: 1\r\n\r\n" x`,
	} {
		if got := b.load(uint64(seq + 1)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestAtomicWithoutAcks(t *testing.T) {
	b := newBench(t, ingest.Config{}, allowAtomic, func(c *config.Stream) { c.NoAck = true })
	b.publish("s.1", "reply", "x", "Nats-Batch-Id", "x", "Nats-Batch-Sequence", "1")
	b.publish("s.1", "reply", "x", "Nats-Batch-Id", "x", "Nats-Batch-Sequence", "2", "Nats-Batch-Commit", "1")
	b.publish("s.1", "reply", "x", "Nats-Batch-Id", "x", "Nats-Batch-Sequence", "2", "Nats-Batch-Commit", "1")
	b.quiet()
	if got := b.log.State().Last; got != 2 {
		t.Errorf("got last sequence %d, want 2", got)
	}
}

func TestAtomicLimits(t *testing.T) {
	large := refusal(400, 10199, "atomic publish batch is too large: 3")
	t.Run("open batches", func(t *testing.T) {
		b := newBench(t, ingest.Config{Batch: ingest.BatchLimits{PerStream: 2, Total: 3}}, allowAtomic)
		other, err := b.store.Create("A", streamConfig(allowAtomic, func(c *config.Stream) { c.Name = "T" }))
		if err != nil {
			t.Fatal(err)
		}
		s := b.ingest.Open(b.account, other, ingest.Hooks{})
		open := func(id string) string {
			s.Take([]byte("s.1"), []byte("r"), block("Nats-Batch-Id", id, "Nats-Batch-Sequence", "1"), nil)
			s.Flush()
			return b.next().payload
		}
		if got := b.member("s.1", "a", 1, "") + b.member("s.1", "b", 1, "") + open("c"); got != "" {
			t.Errorf("got %q for three batches, want nothing", got)
		}
		if got := b.member("s.1", "c", 1, "1"); got != tooMany {
			t.Errorf("got %s for the third batch of the stream, want %s", got, tooMany)
		}
		if got, want := open("d"), strings.Replace(tooMany, `"S"`, `"T"`, 1); got != want {
			t.Errorf("got %s for the fourth batch, want %s", got, want)
		}
		s.Close()
		if got := b.member("s.1", "a", 2, "1"); got != committed(2, "a", 2) {
			t.Errorf("got %s, want the batch stored", got)
		}
		if got := b.member("s.1", "c", 1, ""); got != "" {
			t.Errorf("got %s, want that there is room again", got)
		}
	})
	t.Run("messages", func(t *testing.T) {
		b := newBench(t, ingest.Config{Batch: ingest.BatchLimits{Messages: 3, PerStream: 1}}, allowAtomic)
		for n := 1; n <= 3; n++ {
			b.member("s.1", "x", n, "")
		}
		for n := 4; n <= 6; n++ {
			if got := b.member("s.1", "x", n, ""); got != large {
				t.Errorf("message %d: got %s, want %s", n, got, large)
			}
		}
		if got := b.member("s.1", "x", 7, "1"); got != large {
			t.Errorf("the last: got %s, want %s", got, large)
		}
		if _, gone := b.hooks(); gone != "x large" {
			t.Errorf("got %q as abandoned, want it once", gone)
		}
	})
	t.Run("messages and an end", func(t *testing.T) {
		b := newBench(t, ingest.Config{Batch: ingest.BatchLimits{Messages: 3}}, allowAtomic)
		for n := 1; n <= 3; n++ {
			b.member("s.1", "x", n, "")
		}
		if got := b.member("s.1", "x", 4, "eob"); got != committed(3, "x", 3) {
			t.Errorf("got %s, want the batch stored", got)
		}
	})
	t.Run("bytes", func(t *testing.T) {
		b := newBench(t, ingest.Config{Batch: ingest.BatchLimits{Bytes: 250, OpenBytes: 350}}, allowAtomic)
		b.member("s.1", "x", 1, "", "A", strings.Repeat("b", 80))
		if got, want := b.member("s.1", "x", 2, "", "A", strings.Repeat("b", 80)), refusal(400, 10199, "atomic publish batch is too large: 250 bytes"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		for _, id := range []string{"y", "z"} {
			if got := b.member("s.1", id, 1, "", "A", strings.Repeat("b", 80)); got != "" {
				t.Errorf("got %s for batch %s, want that there is room", got, id)
			}
		}
		if got := b.member("s.1", "z", 2, "1", "A", "b"); got != tooMany {
			t.Errorf("got %s for more bytes than there may be together, want %s", got, tooMany)
		}
		if got := b.member("s.1", "y", 2, "1"); got != committed(2, "y", 2) {
			t.Errorf("got %s, want the batch stored", got)
		}
	})
}

func TestAtomicIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t, box: newMailbox()}
		b.open(ingest.Config{}, &answering{change: allowAtomic}, ingest.Hooks{})
		defer b.ingest.Close()
		b.member("s.1", "x", 1, "")
		time.Sleep(6 * time.Second)
		b.member("s.1", "y", 1, "")
		b.member("s.1", "z", 1, "")
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if _, gone := b.hooks(); gone != "x timeout" {
			t.Errorf("got %q as abandoned after 11 seconds, want the first batch", gone)
		}
		if got := b.member("s.1", "w", 1, ""); got != "" {
			t.Errorf("got %s, want that there is room", got)
		}
		if got := b.member("s.1", "y", 2, ""); got != "" {
			t.Errorf("got %s, want that the second goes on", got)
		}
		if got := b.member("s.1", "x", 2, "1"); got != incomplete {
			t.Errorf("got %s, want %s", got, incomplete)
		}
		time.Sleep(9 * time.Second)
		if got := b.member("s.1", "y", 3, "1"); got != committed(3, "y", 3) {
			t.Errorf("got %s, want the batch stored", got)
		}
		if _, gone := b.hooks(); gone != "x timeout, z timeout" {
			t.Errorf("got %q as abandoned after 20 seconds, want two batches", gone)
		}
		time.Sleep(time.Second + time.Millisecond)
		synctest.Wait()
		if _, gone := b.hooks(); gone != "x timeout, z timeout, w timeout" {
			t.Errorf("got %q as abandoned after 21 seconds, want the last at its time", gone)
		}
		time.Sleep(time.Minute)
		b.member("s.1", "v", 1, "")
		time.Sleep(10*time.Second + time.Millisecond)
		synctest.Wait()
		if _, gone := b.hooks(); gone != "x timeout, z timeout, w timeout, v timeout" {
			t.Errorf("got %q as abandoned, want one that was begun later too", gone)
		}
	})
}

// Members that nobody is interested in get a sequence, and nobody is told of them.
func TestAtomicInterest(t *testing.T) {
	b := newBench(t, ingest.Config{}, allowAtomic, func(c *config.Stream) {
		c.Retention = config.InterestRetention
		c.Republish = &config.Republish{Source: ">", Destination: "out.>"}
	})
	r, err := b.log.Propose(t.Context(), &command.ConsumerCreate{Config: config.Consumer{
		Name: "c", Durable: "c", Ack: config.AckExplicit, FilterSubject: "s.2", MaxDeliver: -1, Replicas: 1,
	}})
	if err != nil || r.Code != 0 {
		t.Fatalf("create a consumer: %v, %v", r, err)
	}
	b.member("s.1", "x", 1, "")
	b.member("s.2", "x", 2, "")
	b.publish("s.3", "reply", "x", "Nats-Batch-Id", "x", "Nats-Batch-Sequence", "3", "Nats-Batch-Commit", "1")
	if got := b.next().subject; got != "out.s.2" {
		t.Errorf("got %s republished, want the message that is stored", got)
	}
	if got := b.next().payload; got != committed(3, "x", 3) {
		t.Errorf("got %s, want the batch stored", got)
	}
	b.quiet()
	if got, _ := b.hooks(); got != "s.2 2" {
		t.Errorf("got told of %q, want the message that is stored", got)
	}
}

// A change of the configuration ends what it does not allow.
func TestAtomicReconfigured(t *testing.T) {
	b := newBench(t, ingest.Config{}, allowAtomic)
	b.member("s.1", "x", 1, "")
	b.configure(func(c *config.Stream) { c.AllowTTL, c.AllowRollup = true, true })
	if got, want := b.member("s.1", "x", 2, "1"), refusal(400, 10174, "atomic publish is disabled"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	b.configure(allowAtomic)
	if got := b.member("s.1", "x", 3, "1"); got != incomplete {
		t.Errorf("got %s, want %s", got, incomplete)
	}
}
