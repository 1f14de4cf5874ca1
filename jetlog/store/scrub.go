package store

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"runnel/jetlog/layer"
	"runnel/jetlog/manifest"
	"runnel/jetlog/segment"
)

// scrubber is the goroutine that verifies files again and again, one at a time, at a bounded rate.
func (s *Store) scrubber() {
	timer := time.NewTimer(time.Minute)
	defer timer.Stop()
	last := uint64(0)
	for {
		select {
		case <-s.stop:
			return
		case <-timer.C:
		}
		pause := time.Minute
		if e, ok := s.after(last); ok {
			_ = s.ScrubFile(e) // Damage tells
			last = e.Number
			pause = max(time.Second, time.Duration(float64(e.Bytes)/float64(s.cfg.ScrubBytes)*float64(time.Second)))
		} else {
			last = 0
		}
		timer.Reset(pause)
	}
}

// after returns the file with the next number.
func (s *Store) after(number uint64) (next manifest.File, ok bool) {
	s.edits.Lock()
	defer s.edits.Unlock()
	for n, f := range s.files {
		if n > number && (!ok || n < next.Number) && f.Failure == nil {
			next, ok = f.File, true
		}
	}
	return next, ok
}

// Scrub verifies all files now: every checksum, and everything that they say about themselves. It
// returns what is damaged, as Damage does from then on.
func (s *Store) Scrub() error {
	var errs []error
	for _, e := range s.Files() {
		errs = append(errs, s.ScrubFile(e))
	}
	return errors.Join(errs...)
}

// Scrub verifies the files of the stream, until ctx ends. Harm tells what is found.
func (t *Stream) Scrub(ctx context.Context) {
	for _, p := range t.files() {
		if ctx.Err() == nil {
			_ = t.store.ScrubFile(p.File.File)
		}
	}
}

// ScrubFile verifies a file through a handle of its own and past all caches.
func (s *Store) ScrubFile(e manifest.File) error {
	_, keys := s.seal.SegmentKeys()
	f, err := segment.Open(s.cfg.FS, s.segmentPath(e.Number), segment.Config{Keys: keys})
	if err == nil {
		err = errors.Join(f.Verify(), f.Close())
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) && !s.listed(e.Number) {
		return nil
	}
	for _, t := range s.Streams() {
		has := func(p *layer.Part) bool { return p.File.Number == e.Number }
		if slices.ContainsFunc(t.files(), has) && segment.Concerns(err, t.id) {
			t.harmed(err)
		}
	}
	s.damaged(err)
	return err
}

// listed reports whether a file is still in use.
func (s *Store) listed(number uint64) bool {
	s.edits.Lock()
	defer s.edits.Unlock()
	return s.files[number] != nil
}
