package store_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"

	"runnel/headers"
	"runnel/jetlog/command"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
)

// promises is what a store has answered, and what it was asked: what must be there after a crash, and
// what may.
type promises struct {
	mu      sync.Mutex
	streams map[string]*promised
	deleted map[string]bool // names of streams that were asked to go
}

type promised struct {
	created bool
	stored  map[uint64]string // payloads by sequence
	asked   map[uint64]bool   // deletes that were asked for
	gone    map[uint64]bool   // and answered
}

func newPromises() *promises {
	return &promises{streams: map[string]*promised{}, deleted: map[string]bool{}}
}

func (p *promises) note(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do()
}

func (p *promises) of(name string) *promised {
	if p.streams[name] == nil {
		p.streams[name] = &promised{stored: map[uint64]string{}, asked: map[uint64]bool{}, gone: map[uint64]bool{}}
	}
	return p.streams[name]
}

// copy returns the promises so far.
func (p *promises) copy() *promises {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := newPromises()
	for name, s := range p.streams {
		d := c.of(name)
		d.created = s.created
		maps.Copy(d.stored, s.stored)
		for seq := range s.asked {
			d.asked[seq] = true
		}
		for seq := range s.gone {
			d.gone[seq] = true
		}
	}
	for name := range p.deleted {
		c.deleted[name] = true
	}
	return c
}

// kept returns how a store breaks the promises, nil if it does not.
func (p *promises) kept(s *store.Store) error {
	var errs []error
	for name, want := range p.streams {
		stream := s.Stream("A", name)
		if stream == nil {
			if want.created && !p.deleted[name] {
				errs = append(errs, fmt.Errorf("stream %s is not there", name))
			}
			continue
		}
		if err := stream.Err(); err != nil {
			errs = append(errs, err)
			continue
		}
		if s, err := stream.Subject(name + ".a"); err != nil || s.Count != stream.State().Messages {
			errs = append(errs, fmt.Errorf("%s has %d messages on its subject, of %d (%v)", name, s.Count, stream.State().Messages, err))
		}
		for seq, payload := range want.stored {
			m, err := stream.Load(seq)
			switch {
			case err != nil:
				errs = append(errs, err)
			case m.Sequence == 0 && !want.asked[seq]:
				errs = append(errs, fmt.Errorf("message %d of %s is not there", seq, name))
			case m.Sequence != 0 && (string(m.Payload) != payload || want.gone[seq]):
				errs = append(errs, fmt.Errorf("message %d of %s is %q, want %q, gone: %v", seq, name, m.Payload, payload, want.gone[seq]))
			}
		}
		if err := stream.Check(); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// scenario does a little of everything with a store until something fails.
func scenario(fs vfs.FS, p *promises) error {
	s, _, err := store.Open(small(fs))
	if err != nil {
		return err
	}
	defer s.Close()
	for round := range 2 {
		for _, name := range []string{"S", "T"} {
			if err := p.round(s, name, round); err != nil {
				return err
			}
		}
		if err := s.Flush(); err != nil {
			return err
		}
	}
	for i := range 4 { // four small files become one
		if err := p.publish(s.Stream("A", "S"), fmt.Sprint("more ", i)); err != nil {
			return err
		}
		if err := s.Flush(); err != nil {
			return err
		}
	}
	if err := p.remove(s.Stream("A", "S"), 2); err != nil {
		return err
	}
	if err := s.Compact(); err != nil {
		return err
	}
	p.note(func() { p.deleted["T"] = true })
	if err := s.Delete(s.Stream("A", "T")); err != nil {
		return err
	}
	if err := p.publish(s.Stream("A", "S"), "last"); err != nil {
		return err
	}
	return s.Close()
}

// manyFiles does what makes facts move into files of their own.
func manyFiles(fs vfs.FS, p *promises) error {
	cfg := small(fs)
	cfg.SegmentBytes = 1 << 8
	s, _, err := store.Open(cfg)
	if err != nil {
		return err
	}
	defer s.Close()
	for i := range 10 {
		if err := p.round(s, "S", i); err != nil {
			return err
		}
		if err := s.Flush(); err != nil {
			return err
		}
		if i%3 == 2 {
			if err := s.Compact(); err != nil {
				return err
			}
		}
	}
	return s.Close()
}

func (p *promises) round(s *store.Store, name string, round int) error {
	stream := s.Stream("A", name)
	if stream == nil {
		var err error
		if stream, err = s.Create("A", unlimited(name)); err != nil {
			return err
		}
		p.note(func() { p.of(name).created = true })
	}
	for i := range 3 {
		if err := p.publish(stream, fmt.Sprint(name, round, i)); err != nil {
			return err
		}
	}
	return p.remove(stream, uint64(3*round+1))
}

func (p *promises) publish(stream *store.Stream, payload string) error {
	id := headers.Build(headers.Field{Name: "Nats-Msg-Id", Value: payload})
	r, err := stream.Propose(context.Background(), &command.Publish{Time: 1, Subject: stream.Name() + ".a", Header: id, Payload: []byte(payload)})
	if err == nil {
		p.note(func() { p.of(stream.Name()).stored[r.Sequence] = payload })
	}
	return err
}

func (p *promises) remove(stream *store.Stream, seq uint64) error {
	p.note(func() { p.of(stream.Name()).asked[seq] = true })
	r, err := stream.Propose(context.Background(), &command.Delete{Time: 1, Sequence: seq})
	if err == nil && r.Code == 0 {
		p.note(func() { p.of(stream.Name()).gone[seq] = true })
	}
	return err
}

// recovers opens what a crash has left and checks the promises, before and after some more commands
// and a second crash in which everything that was not synced is lost.
func recovers(t *testing.T, what string, fs *vfs.Memory, p *promises) {
	t.Helper()
	s, report, err := store.Open(small(fs))
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if len(report.Halted) > 0 {
		t.Fatalf("%s: %v", what, report.Halted[0].Err())
	}
	if err := p.kept(s); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	hash := map[string]uint64{}
	for _, stream := range s.Streams() {
		if err := p.publish(stream, "after the crash"); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		hash[stream.Name()] = hashOf(stream)
	}
	again := open(t, small(fs.PowerCut(vfs.Lose)))
	if err := p.kept(again); err != nil {
		t.Fatalf("%s, acknowledged, power cut: %v", what, err)
	}
	for _, stream := range again.Streams() {
		if got := hashOf(stream); got != hash[stream.Name()] {
			t.Fatalf("%s: hash of %s is %x, want %x", what, stream.Name(), got, hash[stream.Name()])
		}
	}
	for _, s := range []*store.Store{s, again} {
		if err := s.Close(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

// TestPowerCuts cuts the power before each thing that the scenario does to the disk.
func TestPowerCuts(t *testing.T) {
	for name, scenario := range map[string]func(vfs.FS, *promises) error{"a little of everything": scenario, "many files": manyFiles} {
		t.Run(name, func(t *testing.T) { cutPower(t, scenario) })
	}
}

func cutPower(t *testing.T, scenario func(vfs.FS, *promises) error) {
	cuts := []vfs.Choice{vfs.Lose, vfs.Keep}
	for seed := range uint64(cutSeeds) {
		cuts = append(cuts, vfs.Random(seed))
	}
	type crash struct {
		at string
		fs *vfs.Memory
		p  *promises
	}
	for i, cut := range cuts {
		var mu sync.Mutex
		var crashes []crash
		memory, p, n := vfs.NewMemory(), newPromises(), 0
		fs := vfs.NewRecorder(memory, func(op vfs.Op) {
			mu.Lock()
			defer mu.Unlock()
			if op.Kind&(vfs.OpsSync|vfs.OpRename|vfs.OpRemove) == 0 {
				return
			}
			if n++; (n+i)%cutEvery != 0 {
				return
			}
			seen := p.copy()
			crashes = append(crashes, crash{fmt.Sprintf("cut %d before operation %d, %s", i, n, op), memory.PowerCut(cut), seen})
		})
		if err := scenario(fs, p); err != nil {
			t.Fatal(err)
		}
		for _, c := range crashes {
			recovers(t, c.at, c.fs, c.p)
		}
	}
}

// TestKills ends the process at each of these points: what was written is there, but no safer.
func TestKills(t *testing.T) {
	var mu sync.Mutex
	memory, p, n := vfs.NewMemory(), newPromises(), 0
	var crashes []func()
	fs := vfs.NewRecorder(memory, func(op vfs.Op) {
		mu.Lock()
		defer mu.Unlock()
		if op.Kind&vfs.OpsWrite == 0 {
			return
		}
		if n++; n%(3*cutEvery) != 0 {
			return
		}
		seen, left, at := p.copy(), memory.Kill(), fmt.Sprintf("killed before operation %d, %s", n, op)
		crashes = append(crashes, func() { recovers(t, at, left, seen) })
	})
	if err := scenario(fs, p); err != nil {
		t.Fatal(err)
	}
	for _, check := range crashes {
		check()
	}
}

// TestFailures lets the first operation fail, then the second, and so on, until the scenario meets no
// failure. What was answered must be there, however the process ends then.
func TestFailures(t *testing.T) {
	for _, kinds := range []vfs.Kind{vfs.OpsWrite | vfs.OpsSync, vfs.OpsAll} {
		for n := 0; ; n += failEvery {
			memory, p := vfs.NewMemory(), newPromises()
			fault := vfs.NewFault(memory)
			fault.Fail(vfs.Rule{Kinds: kinds, After: n})
			err := scenario(fault, p)
			if fault.Failed() == 0 {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
			what := fmt.Sprintf("operation %d failed (%v)", n, err)
			recovers(t, what+", power cut", memory.PowerCut(vfs.Lose), p.copy())
			recovers(t, what, memory.Kill(), p.copy())
		}
	}
}
