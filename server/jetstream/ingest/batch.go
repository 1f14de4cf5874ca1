package ingest

import (
	"time"

	"runnel/headers"
	"runnel/server/jetstream/api"
)

// BatchLimits bound what publishers have open in batches. Zero values mean the defaults.
type BatchLimits struct {
	PerStream int // open atomic batches of a stream; default 50
	Total     int // open atomic batches of the server; default 1,000
	Messages  int // messages of an atomic batch; default 1,000
	Bytes     int // subjects, headers and payloads of an atomic batch, which is one record of the log; default 12 MiB
	OpenBytes int // the same of all open atomic batches of the server; default 128 MiB

	FastPerStream int // open fast batches of a stream; default 1,000
	FastTotal     int // open fast batches of the server; default 50,000

	Timeout time.Duration // between two messages of a batch of either kind; default 10 s
}

func (l *BatchLimits) fill() {
	for _, d := range []struct {
		value    *int
		fallback int
	}{
		{&l.PerStream, 50},
		{&l.Total, 1000},
		{&l.Messages, 1000},
		{&l.Bytes, 12 << 20},
		{&l.OpenBytes, 128 << 20},
		{&l.FastPerStream, 1000},
		{&l.FastTotal, 50_000},
	} {
		if *d.value <= 0 {
			*d.value = d.fallback
		}
	}
	if l.Timeout <= 0 {
		l.Timeout = 10 * time.Second
	}
}

// batchIDMax is the longest id of a batch, in bytes.
const batchIDMax = 64

// watch sees to it that idle batches are noticed, if there are open ones.
func (s *Stream) watch() {
	if s.drained.timer == nil {
		s.drained.timer = time.AfterFunc(s.ingest.cfg.Batch.Timeout, s.tick)
	}
}

// tick asks drain to look for idle batches.
func (s *Stream) tick() {
	r := s.ingest.record(s)
	r.task = idling
	if !s.enqueue(r) {
		s.ingest.release(r)
	}
}

// expire ends the batches that have been idle for too long, and looks again when the next may be.
func (s *Stream) expire() {
	d := &s.drained
	timeout := s.ingest.cfg.Batch.Timeout
	now := s.ingest.cfg.Clock()
	next := timeout
	for _, b := range d.atomic {
		if left := timeout - now.Sub(b.active); left > 0 {
			next = min(next, left)
			continue
		}
		s.abandon(b, idle)
	}
	for _, b := range d.fast {
		if left := timeout - now.Sub(b.active); left > 0 {
			next = min(next, left)
		} else if !b.held {
			s.endFast(b)
		}
	}
	if len(d.atomic)+len(d.fast) == 0 {
		d.timer = nil
		return
	}
	d.timer.Reset(next)
}

// dropLevel takes the level of the API that a member of a batch has required out of its header.
func (*Stream) dropLevel(r *record, m *marks) {
	if m.level {
		r.header = headers.Delete(r.header, api.LevelHeader)
	}
}

// forgetBatches ends what is open when the stream does.
func (s *Stream) forgetBatches() {
	if s.drained.timer != nil {
		s.drained.timer.Stop()
	}
	for _, b := range s.drained.atomic {
		s.removeAtomic(b)
	}
	for _, b := range s.drained.fast {
		s.endFast(b)
	}
}
