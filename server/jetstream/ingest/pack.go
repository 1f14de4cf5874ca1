package ingest

import (
	"context"
	"errors"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/store"
)

// The bounds of a pack.
const (
	packMessages = 256
	packBytes    = 256 << 10 // but for a message that is larger by itself
)

// pack is messages that go to the log together. It belongs to drain until it is started, then to the log.
type pack struct {
	stream    *Stream
	publishes []command.Publish
	records   []*record
	bytes     int
}

// Answer implements store.Answers.
func (p *pack) Answer(i int, result jetlog.Result, err error) {
	r := p.records[i]
	r.result, r.err = result, err
}

// Answered implements store.Answers: the acker answers everybody, where the commands were applied.
func (p *pack) Answered() store.Flusher {
	a := p.stream.acker
	a.file(p.records...)
	p.stream.ingest.releasePack(p)
	return a
}

// fits reports whether a record of so many bytes goes into the pack with the others.
func (p *pack) fits(bytes int) bool {
	return p == nil || len(p.records) < packMessages && p.bytes+bytes <= packBytes
}

// add puts a message that is to be stored behind others that go to the log. It may wait if the message does not fit.
func (s *Stream) add(r *record, c command.Publish) {
	if !s.drained.pack.fits(r.bytes()) {
		s.dispatch(true)
	}
	p := s.drained.pack
	if p == nil {
		p = s.ingest.pack(s)
		s.drained.pack = p
	}
	r.started = true
	p.records, p.publishes = append(p.records, r), append(p.publishes, c)
	p.bytes += r.bytes()
	s.drained.started++
}

// dispatch gives the log what add has put together. It is false when the log would have to be waited for, which is
// done only if patient.
func (s *Stream) dispatch(patient bool) bool {
	p := s.drained.pack
	if p == nil {
		return true
	}
	ctx := s.ingest.never
	if patient {
		ctx = s.ctx
	}
	err := s.log.StartAll(ctx, p.publishes, p)
	if !patient && errors.Is(err, context.Canceled) {
		return false
	}
	s.drained.pack = nil
	if err != nil {
		s.fail(p, err)
	}
	s.settleQueue()
	return true
}

// fail ends messages that the log has not taken. They keep their places among the answers.
func (s *Stream) fail(p *pack, err error) {
	first := s.drained.started - uint64(len(p.records))
	for i, r := range p.records {
		r.err, r.target = err, first+uint64(i)
		if b := r.step.batch; b != nil && !b.gapOK {
			b.held = false
			s.endFast(b)
		}
	}
	s.acker.push(p.records...)
	s.ingest.releasePack(p)
}

// pack returns an empty pack.
func (g *Ingest) pack(s *Stream) *pack {
	p, ok := g.packs.Get().(*pack)
	if !ok {
		p = &pack{}
	}
	p.stream = s
	return p
}

// releasePack takes a pack back whose records have gone elsewhere.
func (g *Ingest) releasePack(p *pack) {
	clear(p.publishes)
	clear(p.records)
	*p = pack{publishes: p.publishes[:0], records: p.records[:0]}
	g.packs.Put(p)
}
