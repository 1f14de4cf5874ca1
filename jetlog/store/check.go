package store

import (
	"encoding/hex"
	"fmt"
	"io/fs"

	"runnel/jetlog"
	"runnel/jetlog/manifest"
	"runnel/jetlog/shadow"
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

// Inspect opens the store in a directory that nobody has open so that nothing of it changes: whatever is done
// to it is forgotten when it is closed.
func Inspect(cfg Config) (*Store, *Report, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, nil, err
	}
	if err := mustExist(cfg); err != nil {
		return nil, nil, err
	}
	cfg.FS, cfg.ScrubBytes, cfg.ReserveBytes = shadow.New(cfg.FS), -1, -1
	cfg.FlushBytes, cfg.FlushAge, cfg.LogBytes = 1<<50, 1<<62, 1<<40
	return Open(cfg)
}

// mustExist refuses a directory without a store, where Open would begin one.
func mustExist(cfg Config) error {
	numbers, err := manifest.Numbers(cfg.FS, cfg.Dir)
	if err == nil && len(numbers) == 0 {
		err = fmt.Errorf("%s has no manifest, so it is no store: %w", cfg.Dir, fs.ErrNotExist)
	}
	return err
}

// Check verifies the store in a directory that nobody has open, and changes nothing: it recovers the
// store as Open does, into memory; then it verifies every checksum, and every invariant of every stream,
// by reading all messages. An error means that it could not be checked at all.
func Check(cfg Config) (*Findings, error) {
	s, report, err := Inspect(cfg)
	if err != nil {
		return nil, err
	}
	defer s.Close() // nothing of it lasts
	id := s.ID()
	f := &Findings{Store: hex.EncodeToString(id[:]), Replayed: report.Replayed}
	f.note(report)
	for e, ok := s.after(0); ok; e, ok = s.after(e.Number) {
		f.Files++
		f.Bytes += e.Bytes
		if err := s.scrub(e); err != nil {
			f.Problems = append(f.Problems, err.Error())
		}
	}
	for _, t := range s.Streams() {
		x := t.findings()
		if x.Problem != "" {
			f.Problems = append(f.Problems, x.Problem)
		}
		f.Streams = append(f.Streams, x)
	}
	return f, nil
}

// note adds what opening the store has found.
func (f *Findings) note(r *Report) {
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
func (t *Stream) findings() StreamFindings {
	x := StreamFindings{ID: t.id, Account: t.account, Name: t.name, Removed: map[string]uint64{}}
	err := t.Err()
	if err == nil {
		err = t.Check()
	}
	if err != nil {
		x.Problem = fmt.Sprintf("stream %q: %v", t.name, err)
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
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.body != nil {
		x.Files = len(t.body.Parts)
	}
	return x
}
