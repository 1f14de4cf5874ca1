package ingest_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/store"
	"runnel/server/accounts"
	"runnel/server/jetstream/ingest"
)

var (
	unknown = refusal(400, 10208, "batch publish ID unknown")
	pattern = refusal(400, 10206, "batch publish pattern is invalid")
)

func allowFast(c *config.Stream) { c.AllowBatched, c.AllowTTL = true, true }

// fastReply is the reply subject of a message of a fast batch.
func fastReply(id string, flow any, gap string, seq, op any) string {
	return fmt.Sprintf("_IN.box.%s.%v.%s.%v.%v.$FI", id, flow, gap, seq, op)
}

// answers returns the payloads of all that was answered, which all go to the same subject.
func (b *bench) answers(to string) string {
	b.t.Helper()
	b.barrier()
	var all []string
	for len(b.box.arrived) > 0 {
		m := <-b.box.arrived
		if m.subject != to || m.header != "" {
			b.t.Errorf("got %v, want an answer to %s", m, to)
		}
		all = append(all, m.payload)
	}
	return strings.Join(all, " ")
}

func flowAck(seq, msgs int) string {
	return fmt.Sprintf(`{"type":"ack","seq":%d,"msgs":%d}`, seq, msgs)
}

func gap(want, got int) string {
	return fmt.Sprintf(`{"type":"gap","last_seq":%d,"seq":%d}`, want, got)
}

func stepError(seq, code, errCode int, text string) string {
	return fmt.Sprintf(`{"type":"err","seq":%d,"error":{"code":%d,"err_code":%d,"description":%q}}`, seq, code, errCode, text)
}

func wrongLast(step, seq int) string {
	return stepError(step, 400, 10071, fmt.Sprint("wrong last sequence: ", seq))
}

const (
	start = iota
	add
	commit
	end
	ping
)

func TestFastBatch(t *testing.T) {
	expect := []string{"Nats-Expected-Last-Sequence", "999"}
	type step struct {
		seq, op int
		fields  []string
		want    string
	}
	and := func(parts ...string) string { return strings.Join(parts, " ") }
	tests := map[string]struct {
		gap   string
		flow  int
		steps []step
		last  uint64 // of the stream afterwards
	}{
		"acknowledged in threes": {"fail", 3, []step{
			{1, start, nil, flowAck(0, 3)},
			{2, add, nil, ""},
			{3, add, nil, flowAck(3, 3)},
			{4, add, nil, ""},
			{5, commit, nil, committed(5, "x", 5)},
			{6, add, nil, unknown},
		}, 5},
		"a commit is no flow acknowledgement": {"fail", 2, []step{
			{1, start, nil, flowAck(0, 2)},
			{2, commit, nil, committed(2, "x", 2)},
		}, 2},
		"one at a time": {"fail", 1, []step{
			{1, start, nil, and(flowAck(0, 1), flowAck(1, 1))},
			{2, add, nil, flowAck(2, 1)},
		}, 2},
		"an end that is not stored": {"fail", 3, []step{
			{1, start, nil, flowAck(0, 3)},
			{2, add, nil, ""},
			{3, end, nil, committed(2, "x", 2)},
			{4, end, nil, unknown},
		}, 2},
		"a single message": {"fail", 3, []step{
			{1, commit, nil, committed(1, "x", 1)},
			{1, end, nil, pattern},
			{2, commit, nil, unknown},
		}, 1},
		"started twice": {"fail", 2, []step{
			{1, start, nil, flowAck(0, 2)},
			{1, start, nil, and(gap(2, 1), committed(1, "x", 1))},
			{2, commit, nil, unknown},
		}, 1},
		"a gap": {"fail", 2, []step{
			{1, start, nil, flowAck(0, 2)},
			{2, add, nil, flowAck(2, 2)},
			{5, add, nil, and(gap(3, 5), committed(2, "x", 2))},
			{6, add, nil, unknown},
		}, 2},
		"a gap before a commit": {"fail", 2, []step{
			{1, start, nil, flowAck(0, 2)},
			{4, commit, nil, and(gap(2, 4), committed(1, "x", 1))},
		}, 1},
		"a gap before an end": {"fail", 2, []step{
			{1, start, nil, flowAck(0, 2)},
			{4, end, nil, and(gap(2, 4), committed(1, "x", 1))},
		}, 1},
		"a repetition": {"fail", 9, []step{
			{1, start, nil, flowAck(0, 9)},
			{2, add, nil, ""},
			{2, add, nil, and(gap(3, 2), committed(2, "x", 2))},
		}, 2},
		"a gap that may be": {"ok", 2, []step{
			{1, start, nil, flowAck(0, 2)},
			{2, add, nil, flowAck(2, 2)},
			{5, add, nil, and(gap(3, 5), flowAck(5, 2))},
			{6, add, nil, ""},
			{4, add, nil, and(gap(7, 4), committed(4, "x", 6))},
			{7, add, nil, unknown},
		}, 4},
		"a gap that may be before an end": {"ok", 2, []step{
			{1, start, nil, flowAck(0, 2)},
			{4, end, nil, and(gap(2, 4), committed(1, "x", 3))},
		}, 1},
		"a gap that may be before a commit": {"ok", 2, []step{
			{1, start, nil, flowAck(0, 2)},
			{4, commit, nil, and(gap(2, 4), committed(2, "x", 4))},
		}, 2},
		"pings": {"fail", 2, []step{
			{1, start, nil, flowAck(0, 2)},
			{1, ping, nil, flowAck(0, 2)},
			{2, add, nil, flowAck(2, 2)},
			{3, add, nil, ""},
			{3, ping, nil, flowAck(2, 2)},
			{2, ping, nil, flowAck(2, 2)},
			{4, add, nil, flowAck(4, 2)},
			{5, ping, nil, and(gap(5, 6), committed(4, "x", 4))},
			{5, ping, nil, unknown},
		}, 4},
		"a ping after a gap that may be": {"ok", 5, []step{
			{1, start, nil, flowAck(0, 5)},
			{4, ping, nil, and(gap(2, 5), flowAck(0, 5))},
			{5, add, nil, flowAck(5, 5)},
			{6, commit, nil, committed(3, "x", 6)},
		}, 3},
		"a refusal": {"fail", 1, []step{
			{1, start, nil, and(flowAck(0, 1), flowAck(1, 1))},
			{2, add, expect, and(wrongLast(2, 1), committed(1, "x", 1))},
			{3, add, nil, unknown},
		}, 1},
		"a refusal that may be": {"ok", 1, []step{
			{1, start, nil, and(flowAck(0, 1), flowAck(1, 1))},
			{2, add, expect, wrongLast(2, 1)},
			{3, add, []string{"Nats-TTL", "x"}, stepError(3, 400, 10165, "invalid per-message TTL")},
			{5, add, nil, and(gap(4, 5), flowAck(5, 1))},
			{6, commit, expect, and(wrongLast(6, 2), committed(2, "x", 5))},
			{7, commit, nil, unknown},
		}, 2},
		"the first is refused": {"fail", 1, []step{
			{1, start, expect, and(flowAck(0, 1), refusal(400, 10071, "wrong last sequence: 0"))},
			{2, add, nil, unknown},
		}, 0},
		"the last is refused": {"fail", 5, []step{
			{1, start, nil, flowAck(0, 5)},
			{2, commit, expect, and(wrongLast(2, 1), committed(1, "x", 1))},
		}, 1},
		"duplicates count": {"fail", 1, []step{
			{1, start, []string{"Nats-Msg-Id", "A"}, and(flowAck(0, 1), flowAck(1, 1))},
			{2, add, []string{"Nats-Msg-Id", "A"}, flowAck(2, 1)},
			{3, add, []string{"Nats-Msg-Id", "B"}, flowAck(3, 1)},
			{4, commit, []string{"Nats-Msg-Id", "B"}, committed(2, "x", 4)},
		}, 2},
		"headers of the other kind mean nothing": {"fail", 9, []step{
			{1, start, []string{"Nats-Batch-Id", "A", "Nats-Batch-Sequence", "1"}, flowAck(0, 9)},
			{2, commit, []string{"Nats-Batch-Id", "A", "Nats-Batch-Sequence", "2"}, committed(2, "x", 2)},
		}, 2},
		"a level that there is not": {"fail", 9, []step{
			{1, start, []string{"Nats-Required-Api-Level", "9"}, refusal(412, 10185, "JetStream minimum api level required")},
			{1, start, []string{"Nats-Required-Api-Level", "4"}, flowAck(0, 9)},
		}, 1},
		"a message that is too large": {"ok", 9, []step{
			{1, start, nil, flowAck(0, 9)},
			{2, add, []string{"A", strings.Repeat("b", 300)}, refusal(400, 10054, "message size exceeds maximum allowed")},
			{3, add, nil, gap(2, 3)},
		}, 2},
		"no flow": {"fail", 0, []step{{1, start, nil, flowAck(0, 10)}}, 1},
		"much":    {"fail", 70000, []step{{1, start, nil, flowAck(0, 500)}}, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, ingest.Config{}, allowFast, func(c *config.Stream) { c.MaxMessageBytes = 250 })
			for i, s := range test.steps {
				reply := fastReply("x", test.flow, test.gap, s.seq, s.op)
				b.publish("s.1", reply, "x", s.fields...)
				if got := b.answers(reply); got != s.want {
					t.Errorf("step %d: got %s, want %s", i+1, got, s.want)
				}
			}
			if got := b.log.State().Last; got != test.last {
				t.Errorf("got last sequence %d, want %d", got, test.last)
			}
		})
	}
}

func TestFastReplies(t *testing.T) {
	b := newBench(t, ingest.Config{}, allowFast)
	long := strings.Repeat("i", 64)
	for reply, want := range map[string]string{
		fastReply("x", 5, "huh", 1, 0):        pattern,
		fastReply("x", 5, "fail", 0, 0):       pattern,
		fastReply("x", 5, "fail", "x", 0):     pattern,
		fastReply("x", 5, "fail", -1, 0):      pattern,
		fastReply("x", 5, "fail", 1, 5):       pattern,
		fastReply("x", 5, "fail", 1, ""):      pattern,
		fastReply("x", 5, "fail", 2, 0):       pattern,
		fastReply("", 5, "fail", 1, 0):        pattern,
		"x.5.fail.1.0.$FI":                    pattern,
		"a.$FI":                               pattern,
		".$FI":                                pattern,
		fastReply(long+"i", 5, "fail", 1, 0):  refusal(400, 10207, "batch publish ID is invalid"),
		fastReply("u", 5, "ok", 2, add):       unknown,
		fastReply("u", 5, "ok", 2, ping):      unknown,
		fastReply(long, 5, "fail", 1, commit): "", // the sequence depends on the order
		fastReply("y", "abc", "fail", 1, "2"): "",
		fastReply("z", -1, "ok", 1, "02"):     "",
	} {
		b.publish("s.1", reply, "x")
		if got := b.answers(reply); got != want && (want != "" || !strings.Contains(got, `"count":1}`)) {
			t.Errorf("%s: got %s, want %s", reply, got, want)
		}
	}
	b.configure(func(c *config.Stream) { c.AllowTTL = true })
	reply := fastReply("x", 5, "huh", 1, 0)
	b.publish("s.1", reply, "x")
	if got, want := b.answers(reply), refusal(400, 10205, "batch publish is disabled"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestFastWithoutAcks(t *testing.T) {
	b := newBench(t, ingest.Config{}, allowFast, func(c *config.Stream) { c.NoAck = true })
	b.publish("s.1", fastReply("x", 1, "fail", 1, start), "x")
	b.quiet()
	reply := fastReply("x", 1, "fail", 2, commit)
	b.publish("s.1", reply, "x")
	if got := b.answers(reply); got != committed(2, "x", 2) {
		t.Errorf("got %s, want the end acknowledged", got)
	}
}

// The batches of a stream share the acknowledgements, and come to their share by and by.
func TestFastFlow(t *testing.T) {
	b := newBench(t, ingest.Config{}, allowFast)
	run := func(id string, flow, from, to int) string {
		var acks []string
		for n := from; n <= to; n++ {
			op := add
			if n == 1 {
				op = start
			}
			b.publish("s.1", fastReply(id, flow, "fail", n, op), "x")
		}
		b.barrier()
		for len(b.box.arrived) > 0 {
			m := <-b.box.arrived
			acks = append(acks, strings.NewReplacer(`{"type":"ack","seq":`, "", `,"msgs":`, "/", "}", "").Replace(m.payload))
		}
		return strings.Join(acks, " ")
	}
	if got, want := run("a", 500, 1, 1100), "0/500 500/500 1000/500"; got != want {
		t.Errorf("first batch: got %s, want %s", got, want)
	}
	if got, want := run("b", 1000, 1, 800), "0/1 1/2 3/4 7/8 15/16 31/32 63/64 127/128 255/250 505/250 755/250"; got != want {
		t.Errorf("second batch: got %s, want %s", got, want)
	}
	if got, want := run("a", 500, 1101, 2100), "1500/250 1750/250 2000/250"; got != want {
		t.Errorf("the first batch beside the second: got %s, want %s", got, want)
	}
	if got, want := run("c", 100, 1, 330), "0/1 1/2 3/4 7/8 15/16 31/32 63/64 127/100 227/100 327/100"; got != want {
		t.Errorf("third batch: got %s, want %s", got, want)
	}
	b.publish("s.1", fastReply("b", 1000, "fail", 801, commit), "x")
	b.publish("s.1", fastReply("c", 1000, "fail", 331, commit), "x")
	b.barrier()
	<-b.box.arrived
	<-b.box.arrived
	if got, want := run("a", 500, 2101, 3300), "2250/500 2750/500 3250/500"; got != want {
		t.Errorf("the first batch alone again: got %s, want %s", got, want)
	}
}

func TestFastLimits(t *testing.T) {
	b := newBench(t, ingest.Config{Batch: ingest.BatchLimits{FastPerStream: 2, FastTotal: 3}}, allowFast)
	other, err := b.store.Create("A", streamConfig(allowFast, func(c *config.Stream) { c.Name = "T" }))
	if err != nil {
		t.Fatal(err)
	}
	s := b.ingest.Open(b.account, other, ingest.Hooks{})
	full := refusal(429, 10211, "batch publish too many inflight")
	b.publish("s.1", fastReply("a", 9, "fail", 1, start), "x")
	b.publish("s.1", fastReply("b", 9, "fail", 1, start), "x")
	for _, want := range []string{flowAck(0, 9), flowAck(0, 1), flowAck(1, 2)} {
		if got := b.next().payload; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	reply := fastReply("c", 9, "fail", 1, start)
	b.publish("s.1", reply, "x")
	if got := b.answers(reply); got != full {
		t.Errorf("third batch of the stream: got %s, want %s", got, full)
	}
	s.Take([]byte("s.1"), []byte(reply), nil, nil)
	s.Flush()
	if got, want := b.next().payload, flowAck(0, 9); got != want {
		t.Errorf("first batch of another stream: got %s, want %s", got, want)
	}
	s.Take([]byte("s.1"), []byte(fastReply("d", 9, "fail", 1, start)), nil, nil)
	s.Flush()
	if got, want := b.next().payload, strings.Replace(full, `"S"`, `"T"`, 1); got != want {
		t.Errorf("fourth batch of the server: got %s, want %s", got, want)
	}
	s.Close()
	b.publish("s.1", fastReply("a", 9, "fail", 2, end), "x")
	b.next()
	b.publish("s.1", reply, "x")
	if got, want := b.answers(reply), flowAck(0, 1)+" "+flowAck(1, 2); got != want {
		t.Errorf("got %s, want that there is room again", got)
	}
}

func TestFastIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t, box: newMailbox()}
		b.open(ingest.Config{}, &answering{change: allowFast}, ingest.Hooks{})
		defer b.ingest.Close()
		send := func(id string, seq, op int) string {
			reply := fastReply(id, 5, "fail", seq, op)
			b.publish("s.1", reply, "x")
			return b.answers(reply)
		}
		send("x", 1, start)
		send("y", 1, start)
		time.Sleep(9 * time.Second)
		send("x", 1, ping)
		time.Sleep(2 * time.Second)
		if got := send("y", 2, add); got != unknown {
			t.Errorf("got %s after 11 seconds, want %s", got, unknown)
		}
		if got := send("x", 2, commit); got != committed(3, "x", 2) {
			t.Errorf("got %s, want that the ping has kept the batch", got)
		}
		if _, gone := b.hooks(); gone != "" {
			t.Errorf("got %q as abandoned, want nothing: what was sent is stored", gone)
		}
	})
}

// slow is a log whose answers are given by hand, in order.
type slow struct {
	answering
	started chan struct{}
	waiting []func()
}

func (l *slow) Start(_ context.Context, c command.Command, done func(jetlog.Result, error)) error {
	r, err := l.result(c)
	l.waiting = append(l.waiting, func() { done(r, err) })
	l.started <- struct{}{}
	return nil
}

func (l *slow) StartAll(ctx context.Context, publishes []command.Publish, a store.Answers) error {
	return startAll(ctx, l.Start, publishes, a)
}

// Behind a message that may be refused nothing of its batch may be stored before its result; others go on.
func TestFastHolds(t *testing.T) {
	for _, refused := range []bool{false, true} {
		t.Run(fmt.Sprint("refused ", refused), func(t *testing.T) {
			b := &bench{t: t, box: newMailbox(), account: new(accounts.Account)}
			log := &slow{started: make(chan struct{}, 10), answering: answering{change: allowFast}}
			log.answer = func(c command.Command) (jetlog.Result, error) {
				if refused && len(c.(*command.Publish).Header) > 0 {
					return jetlog.Result{Code: config.WrongLastSequence, Detail: "7"}, nil
				}
				return jetlog.Result{}, nil
			}
			b.open(ingest.Config{}, log, ingest.Hooks{})
			send := func(seq, op int, fields ...string) {
				b.publish("s.1", fastReply("x", 9, "fail", seq, op), "x", fields...)
			}
			send(1, start)
			send(2, add, "Nats-Expected-Last-Sequence", "1")
			send(3, add)
			send(4, add, "Nats-Expected-Last-Sequence", "3")
			send(5, commit)
			b.publish("s.1", "other", "x")
			for range 3 {
				<-log.started
			}
			reached := make(chan error)
			go func() { reached <- b.stream.Barrier(context.Background()) }()
			for len(log.waiting) > 0 {
				select {
				case <-log.started:
					t.Fatal("a message was stored before the result of the one before")
				case <-reached:
					t.Fatal("the barrier was reached while messages were parked")
				default:
				}
				next := log.waiting
				log.waiting = nil
				for _, done := range next {
					done()
				}
				if refused {
					break
				}
				if n := map[int]int{3: 2, 2: 1, 1: 0}[len(next)]; n > 0 {
					for range n {
						<-log.started
					}
				}
			}
			if err := <-reached; err != nil {
				t.Error(err)
			}
			var got []string
			for len(b.box.arrived) > 0 {
				got = append(got, (<-b.box.arrived).payload)
			}
			want := []string{flowAck(0, 9), `{"stream":"S","seq":3}`, committed(6, "x", 5)}
			if refused {
				want = []string{
					flowAck(0, 9), wrongLast(2, 7), committed(1, "x", 1), ok2, unknown, unknown, unknown,
				}
				// What is left of the batch and the other message know nothing of one another.
				if len(got) == len(want) {
					slices.Sort(got[3:])
					slices.Sort(want[3:])
				}
			}
			if strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("got %s, want %s", got, want)
			}
			b.ingest.Close()
		})
	}
}

// What is said about a batch is said when everything before it is stored, not when it comes.
func TestFastOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t, box: newMailbox()}
		log := &slow{started: make(chan struct{}, 10), answering: answering{change: allowFast}}
		b.open(ingest.Config{}, log, ingest.Hooks{})
		for seq, op := range []int{start, add, ping, end} {
			b.publish("s.1", fastReply("x", 2, "ok", []int{1, 2, 2, 3}[seq], op), "x")
		}
		b.publish("s.1", fastReply("y", 1, "fail", 1, start), "x")
		b.publish("s.1", fastReply("y", 1, "fail", 3, add), "x")
		synctest.Wait()
		if len(b.box.arrived) != 0 {
			t.Fatalf("got %v before anything is stored, want nothing", b.next())
		}
		for i, want := range [][]string{
			{flowAck(0, 2)},
			{flowAck(2, 2), flowAck(2, 2), committed(2, "x", 2)},
			{flowAck(0, 1), flowAck(1, 1), gap(2, 3), committed(3, "y", 1)},
		} {
			log.waiting[i]()
			synctest.Wait()
			for _, w := range want {
				if got := b.next().payload; got != w {
					t.Errorf("after message %d is stored: got %s, want %s", i+1, got, w)
				}
			}
		}
		if len(b.box.arrived) != 0 {
			t.Errorf("got %v, want no more", b.next())
		}
		b.ingest.Close()
	})
}

// Only a message that the stream may refuse holds up those behind it.
func TestFastCertain(t *testing.T) {
	discardNew := func(c *config.Stream) { c.Discard, c.MaxMessages, c.MaxBytes = config.DiscardNew, 10_000, 100<<20 }
	tests := map[string]struct {
		fields []string
		change func(*config.Stream)
		state  jetlog.State
		holds  bool
	}{
		"nothing":           {},
		"other headers":     {fields: []string{"A", "b", "Nats-Msg-Id", "m", "Nats-Batch-Id", "x"}},
		"its stream":        {fields: []string{"Nats-Expected-Stream", "S"}},
		"another stream":    {fields: []string{"Nats-Expected-Stream", "T"}, holds: true},
		"a TTL":             {fields: []string{"Nats-TTL", "1m0s"}},
		"seconds":           {fields: []string{"Nats-TTL", "5"}},
		"no TTL":            {fields: []string{"Nats-TTL", "0"}, holds: true},
		"too short a TTL":   {fields: []string{"Nats-TTL", "1ms"}, holds: true},
		"a bad TTL":         {fields: []string{"Nats-TTL", "x"}, holds: true},
		"TTLs not allowed":  {fields: []string{"Nats-TTL", "5"}, change: func(c *config.Stream) { c.AllowTTL = false }, holds: true},
		"an expectation":    {fields: []string{"Nats-Expected-Last-Sequence", "0"}, holds: true},
		"an unknown header": {fields: []string{"Nats-Some-Day", "0"}, holds: true},
		"room":              {change: discardNew},
		"few messages left": {change: discardNew, state: jetlog.State{Messages: 6000}, holds: true},
		"few bytes left":    {change: discardNew, state: jetlog.State{Bytes: 90 << 20}, holds: true},
		"old ones give way": {change: func(c *config.Stream) { c.MaxMessages = 10 }, state: jetlog.State{Messages: 10}},
		"per subject": {change: func(c *config.Stream) {
			c.Discard, c.MaxPerSubject, c.DiscardNewPerSubject = config.DiscardNew, 9, true
		}, holds: true},
		"sealed":   {change: func(c *config.Stream) { c.Sealed = true }, holds: true},
		"counters": {change: func(c *config.Stream) { c.AllowCounter = true }, holds: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &bench{t: t, box: newMailbox()}
				log := &slow{started: make(chan struct{}, 10)}
				log.change, log.state = func(c *config.Stream) {
					allowFast(c)
					if test.change != nil {
						test.change(c)
					}
				}, test.state
				b.open(ingest.Config{}, log, ingest.Hooks{})
				b.publish("s.1", fastReply("x", 9, "fail", 1, start), "x", test.fields...)
				b.publish("s.1", fastReply("x", 9, "fail", 2, add), "x")
				synctest.Wait()
				if got := len(log.waiting) == 1; got != test.holds {
					t.Errorf("got %d messages in the log before a result, want that it holds: %t", len(log.waiting), test.holds)
				}
				for len(log.waiting) > 0 {
					next := log.waiting
					log.waiting = nil
					for _, done := range next {
						done()
					}
					synctest.Wait()
				}
				if got := log.last; got != 2 {
					t.Errorf("got %d messages stored, want both", got)
				}
				b.ingest.Close()
			})
		})
	}
}

// A result that nobody could foresee ends a batch too, whatever of it is on its way.
func TestFastFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t, box: newMailbox()}
		log := &slow{started: make(chan struct{}, 10), answering: answering{change: allowFast}}
		b.open(ingest.Config{}, log, ingest.Hooks{})
		log.answer = func(c command.Command) (jetlog.Result, error) {
			if string(c.(*command.Publish).Payload) == "bad" {
				return jetlog.Result{}, fmt.Errorf("disk")
			}
			return jetlog.Result{}, nil
		}
		send := func(seq, op int, payload string) { b.publish("s.1", fastReply("x", 9, "fail", seq, op), payload) }
		b.publish("s.1", fastReply("y", 9, "fail", 1, start), "bad")
		b.publish("s.1", fastReply("y", 9, "fail", 2, add), "x")
		b.publish("s.1", fastReply("y", 9, "fail", 3, commit), "x")
		synctest.Wait()
		for _, done := range log.waiting {
			done()
		}
		log.waiting = nil
		for i, w := range []string{flowAck(0, 9), refusal(503, 10077, "disk"), unknown} {
			if got := b.next().payload; got != w {
				t.Errorf("answer %d to a batch whose first message fails: got %s, want %s", i+1, got, w)
			}
		}
		send(1, start, "x")
		send(2, add, "bad")
		send(3, add, "x")
		synctest.Wait()
		for _, done := range log.waiting {
			done()
		}
		log.waiting = nil
		synctest.Wait()
		send(4, add, "x")
		b.barrier()
		want := []string{flowAck(0, 9), stepError(2, 503, 10077, "disk"), committed(3, "x", 1), unknown}
		for i, w := range want {
			if got := b.next().payload; got != w {
				t.Errorf("answer %d: got %s, want %s", i+1, got, w)
			}
		}
		b.quiet()
		b.ingest.Close()
	})
}

// A batch whose publisher waits for a result is not idle, whatever the log takes for it.
func TestFastHeldIsNotIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t, box: newMailbox()}
		log := &slow{started: make(chan struct{}, 10), answering: answering{change: allowFast}}
		b.open(ingest.Config{QueueMessages: 2}, log, ingest.Hooks{})
		b.publish("s.1", fastReply("x", 9, "fail", 1, start), "x", "Nats-Rollup", "sub")
		synctest.Wait()
		b.publish("s.1", fastReply("x", 9, "fail", 2, add), "x")
		synctest.Wait()
		b.publish("s.1", fastReply("x", 9, "fail", 3, add), "x")
		synctest.Wait()
		if b.publish("s.1", fastReply("x", 9, "fail", 4, add), "x") {
			t.Error("a queue of 2 took a message, with 2 parked")
		}
		if got := b.next().header; !strings.Contains(got, "429") {
			t.Errorf("got %q, want a 429 status", got)
		}
		time.Sleep(time.Minute)
		log.waiting[0]()
		synctest.Wait()
		if !b.publish("s.1", fastReply("x", 9, "fail", 4, commit), "x") {
			t.Error("no message is taken although nothing is parked")
		}
		synctest.Wait()
		for _, done := range log.waiting[1:] {
			done()
		}
		for _, w := range []string{flowAck(0, 9), committed(4, "x", 4)} {
			if got := b.next().payload; got != w {
				t.Errorf("got %s, want %s", got, w)
			}
		}
		b.ingest.Close()
	})
}

// In a stream that may be full every message may be refused.
func TestFastFullStream(t *testing.T) {
	b := newBench(t, ingest.Config{}, allowFast, func(c *config.Stream) { c.MaxMessages, c.Discard = 3, config.DiscardNew })
	for seq := 1; seq <= 6; seq++ {
		op := add
		if seq == 1 {
			op = start
		}
		b.publish("s.1", fastReply("x", 9, "fail", seq, op), "x")
	}
	b.barrier()
	want := []string{
		flowAck(0, 9), stepError(4, 503, 10077, "maximum messages exceeded"), committed(3, "x", 3), unknown, unknown,
	}
	for i, w := range want {
		if got := b.next().payload; got != w {
			t.Errorf("answer %d: got %s, want %s", i+1, got, w)
		}
	}
}
