package rescue

import (
	"encoding/hex"
	"fmt"

	"runnel/jetlog"
	"runnel/jetlog/store"
)

// Findings are what a check of a store has found.
type Findings struct {
	Store    string           `json:"store"` // its id
	Streams  []StreamFindings `json:"streams"`
	Files    int              `json:"files"`
	Bytes    int64            `json:"bytes"`    // of the files
	Replayed int              `json:"replayed"` // commands that are in the log only
	Notes    []string         `json:"notes,omitempty"`
	Problems []string         `json:"problems,omitempty"`
}

// StreamFindings are what a check has found about a stream.
type StreamFindings struct {
	ID        uint64            `json:"id"`
	Account   string            `json:"account"`
	Name      string            `json:"name"`
	First     uint64            `json:"first_seq"`
	Last      uint64            `json:"last_seq"`
	Messages  uint64            `json:"messages"`
	Bytes     uint64            `json:"bytes"`
	Published uint64            `json:"published"` // sequences that were given
	Removed   map[string]uint64 `json:"removed,omitempty"`
	Consumers int               `json:"consumers"`
	Files     int               `json:"files"`
	Problem   string            `json:"problem,omitempty"`
}

// Check verifies the store in a directory that nobody has open, and changes nothing: it recovers the
// store as Open does, into memory; then it verifies every checksum, and every invariant of every stream,
// by reading all messages. An error means that it could not be checked at all.
func Check(cfg store.Config) (*Findings, error) {
	s, report, err := store.Inspect(cfg)
	if err != nil {
		return nil, err
	}
	defer s.Close() // nothing of it lasts
	id := s.ID()
	f := &Findings{Store: hex.EncodeToString(id[:]), Replayed: report.Replayed}
	f.note(report)
	for _, e := range s.Files() {
		f.Files++
		f.Bytes += e.Bytes
		if err := s.ScrubFile(e); err != nil {
			f.Problems = append(f.Problems, err.Error())
		}
	}
	for _, t := range s.Streams() {
		x := findings(t)
		if x.Problem != "" {
			f.Problems = append(f.Problems, x.Problem)
		}
		f.Streams = append(f.Streams, x)
	}
	return f, nil
}

// note adds what opening the store has found.
func (f *Findings) note(r *store.Report) {
	if r.Manifest != nil {
		f.Notes = append(f.Notes, fmt.Sprintf("%s at %d: %d bytes at the end are not whole and would be cut off", r.Manifest.File, r.Manifest.Offset, r.Manifest.Bytes))
	}
	if r.Torn != nil {
		f.Notes = append(f.Notes, r.Torn.String())
	}
	f.Notes = append(f.Notes, r.Notes...)
	for _, name := range r.Aside {
		f.Notes = append(f.Notes, "not of this store, would be set aside: "+name)
	}
	for _, d := range r.Damage {
		if d.Harmless {
			f.Notes = append(f.Notes, "without consequence: "+d.String())
		} else {
			f.Problems = append(f.Problems, d.String())
		}
	}
}

// findings checks a stream.
func findings(t *store.Stream) StreamFindings {
	x := StreamFindings{ID: t.ID(), Account: t.Account(), Name: t.Name(), Removed: map[string]uint64{}}
	err := t.Err()
	if err == nil {
		err = t.Check()
	}
	if err != nil {
		x.Problem = fmt.Sprintf("stream %q: %v", t.Name(), err)
	}
	_ = t.View(func(s *jetlog.Stream, _ jetlog.Messages) error {
		state := s.State()
		x.First, x.Last, x.Messages, x.Bytes = state.First, state.Last, state.Messages, state.Bytes
		x.Published, x.Consumers = s.Published(), len(s.Consumers())
		for r := jetlog.LimitMessages; r <= jetlog.Lost; r++ {
			if n := s.Removed(r); n > 0 {
				x.Removed[r.String()] = n
			}
		}
		return nil
	})
	if body := t.Inside().Body; body != nil {
		x.Files = len(body.Parts)
	}
	return x
}
