package jetlog_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"runnel/headers"
	"runnel/jetlog"
	"runnel/jetlog/causes"
	"runnel/jetlog/codec"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/due"
	"runnel/jetlog/origin"
)

// sample returns a stream that has something in every part of a snapshot.
func sample(t testing.TB) (*jetlog.Stream, *jetlog.Memory) {
	t.Helper()
	cfg := unlimited()
	cfg.AllowTTL, cfg.DuplicateWindow, cfg.Metadata = true, time.Minute, map[string]string{"k": "v"}
	s, m := jetlog.New(42, cfg, 1000), jetlog.NewMemory()
	at := int64(2000)
	apply := func(c command.Command) { mustApply(t, s, m, c) }
	pub := func(subject, header string) {
		at += 10
		apply(&command.Publish{Time: at, Subject: subject, Header: []byte(header), Payload: []byte("p")})
	}
	pub("s.a", "NATS/1.0\r\nNats-TTL: 60\r\n\r\n")
	pub("s.b", "NATS/1.0\r\nNats-TTL: never\r\n\r\n")
	for range 6 {
		pub("s.a", "")
	}
	pub("s.c", "NATS/1.0\r\nNats-Msg-Id: id\r\n\r\n")
	create := func(c config.Consumer) {
		c.Ack, c.AckWait = config.AckExplicit, time.Second
		apply(&command.ConsumerCreate{Time: at, Config: c})
	}
	create(config.Consumer{Name: "c", MaxDeliver: 2, PriorityPolicy: config.PriorityPinned, PriorityGroups: []string{"g"}})
	create(config.Consumer{Name: "last", Deliver: config.DeliverLastPerSubject, FilterSubject: "s.>"})
	c := s.Consumer("c")
	apply(choose(s, m, c, 6, at))
	apply(&command.Ack{Time: at, Consumer: "c", Replies: []command.Reply{
		{Answer: command.Nak, Sequence: 2}, {Answer: command.Nak, Sequence: 1}, {Answer: command.Done, Sequence: 3},
	}})
	apply(choose(s, m, c, 1, at))
	apply(&command.Ack{Time: at, Consumer: "c", Replies: []command.Reply{
		{Answer: command.Nak, Sequence: 2}, {Answer: command.Nak, Sequence: 5},
	}})
	apply(&command.Pause{Time: at, Consumer: "last", Until: at + 5000})
	apply(&command.Pin{Time: at, Consumer: "c", Group: "g", ID: "me"})
	apply(&command.Delete{Time: at, Sequence: 4})
	update := c.Config()
	update.FilterSubject = "s.c"
	apply(&command.ConsumerCreate{Time: at, Config: update})
	if err := s.Check(m); err != nil {
		t.Fatal(err)
	}
	return s, m
}

// later returns the sample after what came with version 2 of the form.
func later(t testing.TB) (*jetlog.Stream, *jetlog.Memory) {
	t.Helper()
	s, m := sample(t)
	cfg, now := *s.Config(), s.Clock()
	cfg.AllowSchedules, cfg.AllowRollup, cfg.AllowAtomic = true, true, true
	mustApply(t, s, m, &command.Configure{Time: now, Config: cfg})
	for i, pattern := range []string{"@every 1h", "@hourly"} {
		header := headers.Build(headers.Field{Name: "Nats-Schedule", Value: pattern}, headers.Field{Name: "Nats-Schedule-Target", Value: "s.a"})
		subject := fmt.Sprintf("s.later.%d", i)
		mustApply(t, s, m, &command.Publish{Time: now, Subject: subject, Header: header, Fire: due.FirstFire(header, now)})
	}
	mustApply(t, s, m, &command.Copy{Time: now, From: s.State().Last + 1, Through: s.State().Last + 5})
	if err := s.Check(m); err != nil {
		t.Fatal(err)
	}
	return s, m
}

// sourced returns the sample after what came with version 3 of the form.
func sourced(t testing.TB) (*jetlog.Stream, *jetlog.Memory) {
	t.Helper()
	s, m := later(t)
	for i, source := range []string{"A 7 > > a.x first", "B 9 b.> c.> b.y second"} {
		header := headers.Build(headers.Field{Name: "Nats-Stream-Source", Value: source})
		subject := fmt.Sprintf("s.from.%d", i)
		mustApply(t, s, m, &command.Publish{Time: s.Clock(), Subject: subject, Header: header, Internal: true, Sourced: true})
	}
	if err := s.Check(m); err != nil {
		t.Fatal(err)
	}
	return s, m
}

// numbered returns the sample after what came with version 4 of the form.
func numbered(t testing.TB) (*jetlog.Stream, *jetlog.Memory) {
	t.Helper()
	s, m := sourced(t)
	for i, producer := range []string{"orders", "bills"} {
		header := headers.Build(headers.Field{Name: "Runnel-Producer", Value: producer}, headers.Field{Name: "Runnel-Producer-Seq", Value: "41"})
		mustApply(t, s, m, &command.Publish{Time: s.Clock(), Subject: fmt.Sprintf("s.by.%d", i), Header: header})
	}
	mustApply(t, s, m, &command.ConsumerCreate{Time: s.Clock(), Config: config.Consumer{
		Name: "retries", Ack: config.AckExplicit, AckWait: time.Minute, FilterSubject: "s.by.*",
		Metadata: map[string]string{config.MetadataRetry: "fixed,delay=30s"},
	}})
	mustApply(t, s, m, &command.Deliver{
		Time: s.Clock() + 5, Consumer: "retries", Incarnation: s.Consumer("retries").Incarnation(), From: 1,
		Messages: []command.Delivery{{Sequence: s.State().Last - 1}, {Sequence: s.State().Last}},
	})
	mustApply(t, s, m, &command.Ack{
		Time: s.Clock() + 5, Consumer: "retries", Replies: []command.Reply{{Answer: command.Nak, Sequence: s.State().Last}},
	})
	if err := s.Check(m); err != nil {
		t.Fatal(err)
	}
	return s, m
}

// passedOver returns the sample after what came with version 5 of the form.
func passedOver(t testing.TB) (*jetlog.Stream, *jetlog.Memory) {
	t.Helper()
	s, m := numbered(t)
	mustApply(t, s, m, &command.ConsumerCreate{Time: s.Clock(), Config: config.Consumer{
		Name: "keyed", Ack: config.AckExplicit, AckWait: time.Minute, FilterSubject: "s.by.*",
		Metadata: map[string]string{config.MetadataKey: "token:3", config.MetadataFilter: `{"headers":{"Runnel-Producer":[{"exists":true}]}}`},
	}})
	last := s.State().Last
	mustApply(t, s, m, &command.Skip{
		Time: s.Clock(), Consumer: "keyed", Incarnation: s.Consumer("keyed").Incarnation(), UpTo: last, Passed: []uint64{last - 1, last},
	})
	mustApply(t, s, m, &command.Deliver{
		Time: s.Clock() + 5, Consumer: "keyed", Incarnation: s.Consumer("keyed").Incarnation(), From: 1, Messages: []command.Delivery{{Sequence: last}},
	})
	orders := causes.Source{ID: 9, Stream: "ORDERS", Consumer: "worker", Incarnation: 2}
	keyed := causes.Source{ID: s.ID(), Stream: "S", Consumer: "keyed", Incarnation: s.Consumer("keyed").Incarnation()}
	for i, cause := range []causes.Cause{{Source: orders, Sequence: 70}, {Source: orders, Sequence: 71}, {Source: keyed, Sequence: last}} {
		mustApply(t, s, m, &command.Publish{Time: s.Clock(), Subject: fmt.Sprintf("s.made.%d", i), Cause: &cause})
	}
	mustApply(t, s, m, &command.Paid{Time: s.Clock(), Source: orders, Sequences: []uint64{70}})
	if err := s.Check(m); err != nil {
		t.Fatal(err)
	}
	return s, m
}

// lettered returns the sample after all that came with version 5 of the form.
func lettered(t testing.TB) (*jetlog.Stream, *jetlog.Memory) {
	t.Helper()
	s, m := passedOver(t)
	now := s.Clock() + 10
	mustApply(t, s, m, &command.ConsumerCreate{Time: now, Config: config.Consumer{
		Name: "dead", Ack: config.AckExplicit, AckWait: time.Minute, FilterSubject: "s.a",
		Metadata: map[string]string{config.MetadataDeadLetter: "DEAD"},
	}})
	mustApply(t, s, m, choose(s, m, s.Consumer("dead"), 3, now))
	mustApply(t, s, m, &command.GiveUp{Time: now, Consumer: "dead", Messages: []command.GivenUp{{Sequence: 2, Text: "no such order"}, {Sequence: 1, Text: "no"}}})
	cfg := *s.Config()
	cfg.MaxMessages = int64(s.State().Messages) - 1
	mustApply(t, s, m, &command.Configure{Time: now + 1, Config: cfg})
	mustApply(t, s, m, &command.Handed{Time: now + 2, Consumer: "dead", Box: s.Consumer("dead").Letters().ID(), UpTo: 1})
	if err := s.Check(m); err != nil {
		t.Fatal(err)
	}
	return s, m
}

// TestGolden opens the snapshots of every version that was released, and sees that the newest is still
// what this program makes of the same commands.
func TestGolden(t *testing.T) {
	s, m := sample(t)
	newest, _ := lettered(t)
	fourth, _ := numbered(t) // with nothing passed over it is still that
	third, _ := sourced(t)   // and this without producers
	for name, now := range map[string][]byte{"stream-5": newest.AppendSnapshot(nil), "stream-4": fourth.AppendSnapshot(nil), "stream-3": third.AppendSnapshot(nil), "memory-1": m.AppendSnapshot(nil)} {
		file := filepath.Join("testdata", "golden", name)
		if *update {
			if err := os.WriteFile(file, now, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		golden, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(golden, now) {
			t.Errorf("%s: the form has changed: got\n%q\nwant\n%q", name, now, golden)
		}
	}
	stream, _ := os.ReadFile("testdata/golden/stream-2")
	before, err := jetlog.Restore(stream)
	if err != nil {
		t.Fatal(err)
	}
	if s, _ := later(t); before.Hash() != s.Hash() || before.Origin("A > >") != (origin.Position{}) {
		t.Errorf("restored of version 2: hash %x, origin %v", before.Hash(), before.Origin("A > >"))
	}
	stream, _ = os.ReadFile("testdata/golden/stream-1")
	body, _ := os.ReadFile("testdata/golden/memory-1")
	old, err := jetlog.Restore(stream)
	if err != nil {
		t.Fatal(err)
	}
	memory, err := jetlog.RestoreMemory(body)
	if err != nil {
		t.Fatal(err)
	}
	if err := old.Check(memory); err != nil {
		t.Error(err)
	}
	if old.Hash() != s.Hash() || old.ID() != 42 || old.Created() != 1000 || old.Applied() != s.Applied() {
		t.Errorf("restored: hash %x, id %d, created %d, applied %d", old.Hash(), old.ID(), old.Created(), old.Applied())
	}
	if got := describe(old.Consumer("c")); got != describe(s.Consumer("c")) {
		t.Errorf("restored: got %s, want %s", got, describe(s.Consumer("c")))
	}
	if id, since := old.Consumer("c").Pinned("g"); id != "me" || since != s.Clock() {
		t.Errorf("restored: pinned to %q since %d", id, since)
	}
}

func TestRestoreRefuses(t *testing.T) {
	s, m := sample(t)
	stream, body := s.AppendSnapshot(nil), m.AppendSnapshot(nil)
	for n := range stream {
		if _, err := jetlog.Restore(stream[:n]); err == nil {
			t.Errorf("restored from %d of %d bytes", n, len(stream))
		}
	}
	for n := range body {
		if _, err := jetlog.RestoreMemory(body[:n]); err == nil {
			t.Errorf("a body is restored from %d of %d bytes", n, len(body))
		}
	}
	newer, zero := bytes.Clone(stream), bytes.Clone(stream)
	newer[0], zero[0] = 6, 0
	tests := []struct {
		name string
		data []byte
		is   error
		text string
	}{
		{"later version", newer, jetlog.ErrNewer, "snapshot of version 6, this program knows up to 5"},
		{"version 0", zero, codec.ErrDamaged, "a version is 0"},
		{"bytes too many", append(bytes.Clone(stream), 1), codec.ErrDamaged, "1 bytes too many"},
		{"consumers out of order", bytes.ReplaceAll(stream, []byte("\x04last"), []byte("\x04a-st")), nil, `"c" and "a-st"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := jetlog.Restore(tt.data)
			if err == nil || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %v, want %q", err, tt.text)
			}
		})
	}
	body[0] = 2
	if _, err := jetlog.RestoreMemory(body); !errors.Is(err, jetlog.ErrNewer) {
		t.Errorf("a later body: got %v", err)
	}
}

func FuzzRestore(f *testing.F) {
	s, _ := sample(f)
	f.Add(s.AppendSnapshot(nil))
	newest, _ := lettered(f)
	f.Add(newest.AppendSnapshot(nil))
	f.Add(jetlog.New(1, unlimited(), 5).AppendSnapshot(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := jetlog.Restore(data)
		if err != nil {
			return
		}
		form := s.AppendSnapshot(nil)
		again, err := jetlog.Restore(form)
		if err != nil {
			t.Fatalf("what was restored is written as %q: %v", form, err)
		}
		if !bytes.Equal(again.AppendSnapshot(nil), form) {
			t.Fatal("what was restored has two forms")
		}
	})
}

func FuzzRestoreMemory(f *testing.F) {
	_, m := sample(f)
	f.Add(m.AppendSnapshot(nil))
	f.Add(jetlog.NewMemory().AppendSnapshot(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := jetlog.RestoreMemory(data)
		if err != nil {
			return
		}
		form := m.AppendSnapshot(nil)
		again, err := jetlog.RestoreMemory(form)
		if err != nil || !bytes.Equal(again.AppendSnapshot(nil), form) {
			t.Fatalf("what was restored is written as %q: %v", form, err)
		}
	})
}
