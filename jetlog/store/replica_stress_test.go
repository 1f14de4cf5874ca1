package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/entries"
	"runnel/jetlog/seal"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
)

// TestReplicaTogether applies entries while the store is flushed, compacted and noted, checkpoints are taken and installed
// elsewhere, and somebody reads.
func TestReplicaTogether(t *testing.T) {
	g := newGroup(t, unlimited("S"), 1)
	m := g.members[0]
	other := create(t, m.store, unlimited("T"))
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error, 8)
	var running []chan struct{}
	run := func(do func(n int) error) {
		ended := make(chan struct{})
		running = append(running, ended)
		go func() {
			defer close(ended)
			for n := 0; ctx.Err() == nil; n++ {
				if err := do(n); err != nil {
					failed <- err
					return
				}
			}
		}()
	}
	run(func(int) error { return m.store.Flush() })
	run(func(int) error { return m.store.Compact() })
	run(func(n int) error {
		_, err := other.Propose(context.Background(), &command.Publish{Time: 1, Subject: "T.x", Payload: make([]byte, 100)})
		return err
	})
	run(func(n int) error { return m.stream.Entries().Set("CurrentTerm", fmt.Append(nil, n)) })
	run(func(int) error {
		_, err := m.stream.Read(1, jetlog.Filter{"S.x"}, 1000, 1<<20, func(*jetlog.Message) bool { return true })
		m.stream.Hash()
		m.stream.Entries().Durable()
		return err
	})
	to := newMember(t, vfs.NewMemory(), assigned(unlimited("S"), entries.Place{}))
	run(func(int) error {
		if err := install(m, to); err != nil && !errors.Is(err, store.ErrNoCheckpoint) {
			return err
		}
		index, hash := to.stream.Hash()
		if index > 0 && index != to.stream.Place().Index {
			return fmt.Errorf("hash %x at %d, place %d", hash, index, to.stream.Place().Index)
		}
		return nil
	})
	for i := range 400 {
		c := &command.Publish{Time: int64(i), Subject: "S.x", Payload: make([]byte, 200)}
		if i%7 == 0 {
			propose(t, m.stream, &command.Purge{Time: int64(i), Filter: "S.x", Keep: 100})
		}
		propose(t, m.stream, c)
	}
	cancel()
	for _, ended := range running {
		<-ended
	}
	close(failed)
	for err := range failed {
		t.Error(err)
	}
	if err := errors.Join(m.store.Flush(), install(m, to)); err != nil {
		t.Fatal(err)
	}
	if _, hash := to.stream.Hash(); hash != hashOf(m.stream) {
		t.Errorf("hash %x, want %x", hash, hashOf(m.stream))
	}
	closeStore(t, to.store)
	g.close()
}

// TestSealedReplica installs encrypted files: with the same key, with it as a former one, and without.
func TestSealedReplica(t *testing.T) {
	key, another := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	sealed := func(e seal.Encryption, place entries.Place) *member {
		m := &member{t: t, cfg: small(vfs.NewMemory())}
		m.cfg.Encryption = e
		m.store = open(t, m.cfg)
		var err error
		if m.stream, err = m.store.CreateAssigned(assigned(unlimited("S"), place)); err != nil {
			t.Fatal(err)
		}
		return m
	}
	from := sealed(seal.Encryption{Key: key}, birth())
	g := &group{t: t, members: []*member{from}, index: 1, term: 1, pack: 1}
	from.stream.SetProposer(g)
	publish(t, from.stream, 20)
	if err := from.store.Flush(); err != nil {
		t.Fatal(err)
	}
	publish(t, from.stream, 5)
	from.restart(from.cfg.FS)
	if from.stream.State().Messages != 25 {
		t.Errorf("%+v", from.stream.State())
	}
	for name, e := range map[string]seal.Encryption{
		"the same key": {Key: key}, "as a former one": {Key: another, Previous: [][]byte{key}}, "another key": {Key: another}, "none": {},
	} {
		to := sealed(e, entries.Place{})
		err := install(from, to)
		if known := name == "the same key" || name == "as a former one"; (err == nil) != known {
			t.Errorf("%s: %v", name, err)
		}
		if m, err := to.stream.Load(7); to.stream.Applied() > 0 && (err != nil || string(m.Payload) != "secret payload 6") {
			t.Errorf("%s: %q, %v", name, m.Payload, err)
		}
		closeStore(t, to.store)
	}
	closeStore(t, from.store)
}

// TestFullDiskOfReplica fills the disk: entries wait until there is room, a state that does not fit is refused.
func TestFullDiskOfReplica(t *testing.T) {
	from := newGroup(t, unlimited("S"), 1).members[0]
	for range 30 { // more than what the log prepares ahead, which it may give back
		propose(t, from.stream, &command.Publish{Time: 1, Subject: "S.x", Payload: make([]byte, 20_000)})
	}
	if err := from.store.Flush(); err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, from.store)
	fault := vfs.NewFault(vfs.NewMemory())
	to := newMember(t, fault, assigned(unlimited("S"), entries.Place{}))
	fault.SetRoom(1000)
	if err := install(from, to); !errors.Is(err, store.ErrFull) {
		t.Errorf("install: %v", err)
	}
	last := from.stream.Entries().Last()
	big := entries.Entry{Index: 1, Term: 1, Data: make([]byte, 50<<10)}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	var err error
	for n := 0; err == nil && n < 100; n++ {
		err = to.stream.Entries().Append(ctx, []entries.Entry{big})
		big.Index++
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("append: %v", err)
	}
	fault.Heal()
	fault.SetRoom(1 << 30)
	if err := to.stream.Entries().Delete(1, big.Index); err != nil {
		t.Error(err)
	}
	if err := install(from, to); err != nil || to.stream.Entries().Last() != 0 {
		t.Errorf("install: %v", err)
	}
	if e, err := from.stream.Entries().Get(last); err != nil || to.stream.Applied() < last && to.apply(e, nil) != nil {
		t.Errorf("apply: %v", err)
	}
	closeStore(t, to.store)
}
