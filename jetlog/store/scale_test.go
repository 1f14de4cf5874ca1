package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/entries"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
)

// TestScale makes a stream the first replica of a group, lets a second one join, and makes it one without a group
// again, with a restart at each point.
func TestScale(t *testing.T) {
	for _, storage := range []config.Storage{config.FileStorage, config.MemoryStorage} {
		t.Run(fmt.Sprint("storage ", storage), func(t *testing.T) { scale(t, storage) })
	}
}

func scale(t *testing.T, storage config.Storage) {
	cfg := unlimited("S")
	cfg.Storage, cfg.DuplicateWindow = storage, 1e12
	first := &member{t: t, cfg: small(vfs.NewMemory())}
	first.store = open(t, first.cfg)
	solo := assigned(cfg, birth())
	solo.Place = nil
	var err error
	if first.stream, err = first.store.CreateAssigned(solo); err != nil {
		t.Fatal(err)
	}
	publish(t, first.stream, 30)
	once := &command.Publish{Time: 1, Subject: "S.id", Header: []byte("NATS/1.0\r\nNats-Msg-Id: once\r\n\r\n")}
	propose(t, first.stream, once)
	propose(t, first.stream, &command.Delete{Time: 1, Sequence: 7})
	if err := first.store.ToReplica(first.stream, birth()); err != nil {
		t.Fatal(err)
	}
	if _, err := first.stream.Propose(context.Background(), once); !errors.Is(err, store.ErrNotLeader) {
		t.Errorf("nobody leads: %v", err)
	}
	first.restart(first.cfg.FS.(*vfs.Memory).PowerCut(vfs.Lose))
	if place := first.stream.Place(); !first.stream.Replicated() || place.Index != 1 || string(place.Configuration) != "a, b, c" {
		t.Fatalf("a replica: %v, %+v", first.stream.Replicated(), place)
	}
	second := newMember(t, vfs.NewMemory(), assigned(cfg, entries.Place{}))
	if err := install(first, second); err != nil {
		t.Fatal(err)
	}
	g := &group{t: t, members: []*member{first, second}, index: 1, term: 1, pack: 1}
	first.stream.SetProposer(g)
	if r := propose(t, first.stream, once); !r.Duplicate || r.Sequence != 31 {
		t.Errorf("the message id is forgotten: %+v", r)
	}
	publish(t, first.stream, 10)
	g.agree("two")
	second.restart(second.cfg.FS)
	g.agree("opened again")
	if err := first.store.ToSolo(first.stream); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if first.stream.Replicated() || first.stream.Entries() != nil || hashOf(first.stream) != hashOf(second.stream) {
			t.Fatalf("replicated %v, hash %x, want %x", first.stream.Replicated(), hashOf(first.stream), hashOf(second.stream))
		}
		closeStore(t, first.store)
		first.store = open(t, first.cfg)
		first.stream = first.store.StreamByID(groupID)
	}
	if r := propose(t, first.stream, once); !r.Duplicate {
		t.Errorf("the message id is forgotten: %+v", r)
	}
	publish(t, first.stream, 3)
	hash := hashOf(first.stream)
	closeStore(t, first.store)
	first.store = open(t, first.cfg)
	if first.stream = first.store.StreamByID(groupID); hashOf(first.stream) != hash || first.stream.State().Messages != 43 {
		t.Errorf("%+v", first.stream.State())
	}
	if err := first.store.ToReplica(first.stream, entries.Place{Index: 1, Term: 9}); err != nil {
		t.Fatal(err)
	}
	first.restart(first.cfg.FS)
	if first.stream.Entries().Last() != 0 || first.stream.Applied() != 1 || hashOf(first.stream) != hash {
		t.Errorf("entries of its first group: up to %d, applied %d", first.stream.Entries().Last(), first.stream.Applied())
	}
	g.close()
}

// TestScaleIsRefused asks for what cannot be.
func TestScaleIsRefused(t *testing.T) {
	m := newMember(t, vfs.NewMemory(), assigned(unlimited("S"), entries.Place{}))
	defer closeStore(t, m.store)
	if err := m.store.ToSolo(m.stream); !errors.Is(err, store.ErrNoCheckpoint) {
		t.Errorf("without a state: %v", err)
	}
	solo := create(t, m.store, unlimited("T"))
	if err := m.store.ToSolo(solo); err == nil {
		t.Error("without a group")
	}
	if err := m.store.ToReplica(m.stream, birth()); err == nil {
		t.Error("of a group already")
	}
	if _, err := m.store.Wipe(solo); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("wipe: %v", err)
	}
	if _, err := solo.Checkpoint(); err == nil {
		t.Error("a checkpoint without a group")
	}
	if _, _, _, err := solo.OpenFile("x"); err == nil {
		t.Error("a file without a group")
	}
	if err := solo.ApplyEntry(2, 1, nil, nil); err == nil {
		t.Error("an entry without a group")
	}
	if err := solo.Install(context.Background(), nil, birth(), nil); err == nil {
		t.Error("install without a group")
	}
	solo.ApplyConfiguration(2, 1, nil)
	solo.SetProposer(nil)
	publish(t, solo, 1)
}

// TestScaleBusy makes a stream a replica while commands are on their way: all are carried out before.
func TestScaleBusy(t *testing.T) {
	m := &member{t: t, cfg: small(vfs.NewMemory())}
	m.store = open(t, m.cfg)
	solo := assigned(unlimited("S"), birth())
	solo.Place = nil
	var err error
	if m.stream, err = m.store.CreateAssigned(solo); err != nil {
		t.Fatal(err)
	}
	answers := make(chan error, 300)
	for range cap(answers) {
		c := &command.Publish{Time: 1, Subject: "S.x", Payload: make([]byte, 500)}
		if err := m.stream.Start(context.Background(), c, func(_ jetlog.Result, err error) { answers <- err }); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.store.ToReplica(m.stream, birth()); err != nil {
		t.Fatal(err)
	}
	if len(answers) != cap(answers) {
		t.Errorf("%d answers, want %d", len(answers), cap(answers))
	}
	for range len(answers) {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	m.restart(m.cfg.FS.(*vfs.Memory).PowerCut(vfs.Lose))
	if m.stream.State().Messages != 300 {
		t.Errorf("%+v", m.stream.State())
	}
	closeStore(t, m.store)
}

// TestIdleAfterGroup fills the log while a stream is idle that has left its group, with a restart between: what its group
// had does not keep the log.
func TestIdleAfterGroup(t *testing.T) {
	g := newGroup(t, unlimited("S"), 1)
	m := g.members[0]
	publish(t, m.stream, 3)
	if err := m.store.ToSolo(m.stream); err != nil {
		t.Fatal(err)
	}
	m.store.Close()
	m.store = open(t, m.cfg)
	busy := create(t, m.store, unlimited("T"))
	for i := range 300 {
		propose(t, busy, &command.Publish{Time: 1, Subject: "T.x", Payload: make([]byte, 8000)})
		if i%20 == 0 {
			if err := m.store.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	closeStore(t, m.store)
}
