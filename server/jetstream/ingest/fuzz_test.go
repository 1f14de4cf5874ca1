package ingest_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"runnel/jetlog/config"
	"runnel/server/accounts"
	"runnel/server/jetstream/ingest"
)

// FuzzTake publishes anything, as two messages, and checks that each gets answers that are JSON or nothing, that
// what is said to be stored is, and that nothing open is left.
func FuzzTake(f *testing.F) {
	f.Add("s.a", "reply", "", "x", uint8(0))
	f.Add("s.a", fastReply("x", 3, "ok", 1, 0), "Nats-Batch-Id: x\r\nNats-Batch-Sequence: 1", "x", uint8(1))
	f.Add("s.a", fastReply("x", 3, "fail", 2, 1), "Nats-Expected-Last-Sequence: 0", "", uint8(2))
	f.Add("s.a", "reply", "Nats-Batch-Id: x\r\nNats-Batch-Sequence: 1\r\nNats-Batch-Commit: eob", "x", uint8(3))
	f.Add("s.a", "reply", "Nats-Batch-Id: x\r\nNats-Batch-Sequence: 2\r\nNats-Batch-Commit: 1", "x", uint8(7))
	f.Add("s.a", "reply", "Nats-Msg-Id: a\r\nNats-TTL: 1s\r\nNats-Rollup: all\r\nNats-Incr: 1", "", uint8(15))
	f.Add("s.a", "reply", "Nats-Schedule: @every 1s\r\nNats-Schedule-Target: s.b\r\nNats-Request-Info: {}", "", uint8(31))
	f.Add("s.a", "reply", "Nats-Required-Api-Level: 1\r\nNats-Batch-Id: \xff\r\nNats-Batch-Sequence: 1", "", uint8(63))
	f.Fuzz(func(t *testing.T, subject, reply, fields, payload string, flags uint8) {
		if strings.Contains(subject, ",") {
			return // it stands between the messages of which the hooks tell
		}
		b := &bench{t: t, box: newMailbox(), account: new(accounts.Account)}
		log := &answering{change: func(c *config.Stream) {
			c.AllowAtomic, c.AllowBatched, c.AllowTTL = flags&1 != 0, flags&2 != 0, flags&4 != 0
			c.AllowCounter, c.AllowSchedules = flags&8 != 0, flags&16 != 0
			c.MaxMessageBytes = int32(flags)
			if flags&32 != 0 {
				c.Republish = &config.Republish{Source: ">", Destination: "out.>"}
			}
		}}
		b.open(ingest.Config{Ackers: 1, QueueMessages: 10}, log, ingest.Hooks{})
		header := []byte(nil)
		if fields != "" {
			header = []byte("NATS/1.0\r\n" + fields + "\r\n\r\n")
		}
		for range 2 {
			b.stream.Take([]byte(subject), []byte(reply), header, []byte(payload))
			b.stream.Flush()
		}
		if err := b.stream.Barrier(context.Background()); err != nil {
			t.Fatal(err)
		}
		b.ingest.Close()
		stored, _ := b.hooks()
		if n := uint64(len(strings.Split(stored, ", "))); stored != "" && n != log.last || stored == "" && log.last != 0 {
			t.Errorf("got told of %q, want %d messages", stored, log.last)
		}
		for len(b.box.arrived) > 0 {
			m := <-b.box.arrived
			if m.subject == reply && m.payload != "" && !json.Valid([]byte(m.payload)) && flags&32 == 0 {
				t.Errorf("got %q as an answer, want JSON", m.payload)
			}
		}
	})
}

// FuzzFastReply checks that a reply subject that makes sense says the same when it is written again.
func FuzzFastReply(f *testing.F) {
	for _, reply := range []string{
		fastReply("x", 3, "ok", 1, 0), fastReply("x", -3, "fail", 2, 4), fastReply("x", 70000, "fail", 1, 2),
		"x.$FI", ".$FI", "$FI", "", "a.b.1.ok.1.00.$FI", "..1.ok.1.1.$FI", "a.b.1.ok.18446744073709551615.1.$FI",
	} {
		f.Add(reply)
	}
	f.Fuzz(func(t *testing.T, reply string) {
		batch, flow, gapOK, sequence, operation, ok := ingest.ParseFastReply(reply)
		if !ok {
			return
		}
		mode := "fail"
		if gapOK {
			mode = "ok"
		}
		again := fastReply(batch, flow, mode, sequence, operation)
		b, f, g, s, o, ok := ingest.ParseFastReply(again)
		if !ok || b != batch || f != flow || g != gapOK || s != sequence || o != operation {
			t.Errorf("%q: got %v %v %v %v %v %v from %q", reply, b, f, g, s, o, ok, again)
		}
		if sequence == 0 || flow < 1 || flow > 65535 || batch == "" || strings.Contains(batch, ".") {
			t.Errorf("%q: got batch %q, flow %d, sequence %d", reply, batch, flow, sequence)
		}
	})
}
