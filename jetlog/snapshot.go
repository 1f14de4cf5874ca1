package jetlog

import (
	"errors"
	"fmt"

	"runnel/jetlog/codec"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/deadlines"
)

// snapshotVersion is the first byte of a snapshot.
//
// Version 2 has schedules, the bytes of lost messages and chores at the end, version 3 sources behind them, version 4
// producers and what consumers with policies note, version 5 messages that were passed over, causes and letters. A snapshot is
// of a version above 3 only if it has some of these, so that older programs read the others.
const snapshotVersion = 5

// version returns the version of the form that a snapshot needs.
func (s *Stream) version() byte {
	if len(s.passing()) > 0 || s.causes.Len() > 0 || s.lettering > 0 {
		return 5
	}
	if s.producers.Len() > 0 || len(s.noting()) > 0 {
		return 4
	}
	return 3
}

// ErrNewer is wrapped by the error for a snapshot of a later version: it was written by a newer
// program, nothing is wrong with it.
var ErrNewer = command.ErrNewer

var errSnapshot = errors.New("not a sound snapshot")

// AppendSnapshot appends the whole state of the stream, apart from the bodies of its messages. Equal
// states give equal bytes. docs/format/snapshot.md is the page for it.
func (s *Stream) AppendSnapshot(out []byte) []byte {
	version := s.version()
	out = append(out, version)
	out = codec.AppendUint(out, s.id)
	out = codec.AppendInt(out, s.created)
	out = command.AppendConfig(out, &s.config)
	out = codec.AppendUint(out, s.state.First)
	out = codec.AppendUint(out, s.state.Last)
	out = codec.AppendInt(out, s.state.FirstTime)
	out = codec.AppendInt(out, s.state.LastTime)
	out = codec.AppendUint(out, s.state.Messages)
	out = codec.AppendUint(out, s.state.Bytes)
	out = codec.AppendInt(out, s.clock)
	out = codec.AppendUint(out, s.published)
	out = codec.AppendUint(out, uint64(len(s.removed)))
	for _, n := range s.removed {
		out = codec.AppendUint(out, n)
	}
	out = codec.AppendUint(out, s.applied)
	out = codec.AppendUint(out, s.hash)
	out = codec.AppendUint(out, s.aged)
	out = codec.AppendBytes(out, s.lastID)
	out = appendDeadlines(out, s.ttl.Sorted())
	out = codec.AppendUint(out, s.incarnations)
	out = codec.AppendUint(out, uint64(len(s.consumers)))
	for _, c := range s.consumers {
		out = c.appendSnapshot(out)
	}
	out = s.schedules.AppendSnapshot(out)
	out = codec.AppendUint(out, s.lostBytes)
	out = s.appendChores(out)
	out = s.origins.AppendSnapshot(out)
	if version >= 4 {
		out = s.producers.AppendSnapshot(out)
		out = s.appendAllNotes(out)
	}
	if version >= 5 {
		out = s.appendAllPassed(out)
		out = s.causes.AppendSnapshot(out)
		out = s.appendLetters(out)
	}
	return out
}

// appendDeadlines appends deadlines in their order, times as differences.
func appendDeadlines(out []byte, list []deadlines.Deadline) []byte {
	out = codec.AppendUint(out, uint64(len(list)))
	last := int64(0)
	for _, d := range list {
		out = codec.AppendUint(codec.AppendInt(out, d.At-last), d.Sequence)
		last = d.At
	}
	return out
}

// Restore returns the stream of a snapshot. It goes on exactly as the one that the snapshot was
// taken of, with a body that has the same messages.
func Restore(data []byte) (*Stream, error) {
	r := codec.NewReader(data)
	version := r.Byte()
	if version > snapshotVersion {
		return nil, fmt.Errorf("snapshot of version %d, this program knows up to %d: %w", version, snapshotVersion, ErrNewer)
	} else if version < 1 && r.Err() == nil {
		r.Fail("a version is 0")
	}
	s := New(r.Uint(), config.Stream{}, r.Int())
	command.ReadConfig(&r, &s.config)
	s.state = State{First: r.Uint(), Last: r.Uint(), FirstTime: r.Int(), LastTime: r.Int(), Messages: r.Uint(), Bytes: r.Uint()}
	s.clock, s.published = r.Int(), r.Uint()
	// A later reason that this program does not know would make the counters wrong.
	if n := r.Count(1); n > len(s.removed) {
		return nil, fmt.Errorf("snapshot with %d reasons of removal: %w", n, ErrNewer)
	} else if n <= len(s.removed) {
		for i := range n {
			s.removed[i] = r.Uint()
		}
	}
	s.applied, s.hash, s.aged = r.Uint(), r.Uint(), r.Uint()
	s.lastID = append(s.lastID, r.Bytes()...)
	s.ttl = deadlines.Of(readDeadlines(&r))
	s.incarnations = r.Uint()
	for range r.Count(minConsumerBytes) {
		c, err := readConsumer(&r, s.consumers[max(len(s.consumers)-1, 0):]...)
		if err != nil {
			return nil, err
		}
		if n := len(s.consumers); n > 0 && s.consumers[n-1].name >= c.name {
			return nil, fmt.Errorf("consumers %q and %q: %w", s.consumers[n-1].name, c.name, errSnapshot)
		}
		s.consumers = append(s.consumers, c)
		s.enter(c)
		s.lettering += c.lettered()
		if c.stray {
			s.strays++
		}
	}
	sound := true
	if version >= 2 {
		sound = s.schedules.Restore(&r)
		s.lostBytes = r.Uint()
		s.readChores(&r)
	}
	if version >= 3 {
		sound = s.origins.Restore(&r) && sound
	}
	if version >= 4 {
		sound = s.producers.Restore(&r) && s.readAllNotes(&r) && sound
	}
	if version >= 5 {
		sound = s.readAllPassed(&r) && s.causes.Restore(&r) && s.readLetters(&r) && sound
	}
	sound = sound && (version >= 4 || len(s.noting()) == 0) && (version >= 5 || s.lettering == 0)
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	if !sound {
		return nil, fmt.Errorf("schedules, sources, producers, notes, messages that were passed over, causes or letters are not in order: %w", errSnapshot)
	}
	if s.state.First > s.state.Last+1 {
		return nil, fmt.Errorf("first sequence %d and last %d: %w", s.state.First, s.state.Last, errSnapshot)
	}
	return s, nil
}

func readDeadlines(r *codec.Reader) deadlines.Heap {
	var list deadlines.Heap
	last := int64(0)
	for range r.Count(2) {
		last += r.Int()
		list = append(list, deadlines.Deadline{At: last, Sequence: r.Uint()})
	}
	list.Rebuild()
	return list
}
