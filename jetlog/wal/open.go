package wal

import "slices"

// recover reads what is there and prepares the log to go on. It returns the checksum of the last batch.
func (l *Log) recover() (*Recovered, uint32, error) {
	r := recovery{maker: l.maker, ready: l.cfg.Ready, batchBytes: l.cfg.BatchBytes, damaged: map[uint64]bool{}}
	if err := r.recover(); err != nil {
		return nil, 0, err
	}
	var at int64 // where to go on in the last used segment; 0: in a new one
	switch n := r.used - 1; {
	case r.last > r.synced:
		if err := r.prove(); err != nil {
			return nil, 0, err
		}
		at = r.segments[r.used-1].end
	case n >= 0 && r.clean():
		at = r.segments[n].closing
	}
	if err := l.adoptUsed(&r, at); err != nil {
		return nil, 0, err
	}
	if err := l.adoptReady(&r); err != nil {
		return nil, 0, err
	}
	l.queue.next = r.last + 1
	l.acked.Store(r.last)
	l.synced.Store(r.last)
	l.written.Store(r.last)
	recovered := &Recovered{
		Last: Position(r.last), Torn: r.torn, Damage: r.damage, Notes: r.notes,
		fs: l.cfg.FS, cipher: l.cfg.Cipher,
	}
	for _, s := range r.segments[:r.used] {
		recovered.parts = append(recovered.parts, part{path: s.path, number: s.number, end: s.end, holes: s.holes})
	}
	return recovered, r.checksum, nil
}

// adoptUsed takes over the segments with records; the log goes on in the last one, if at is not 0.
//
// The last one with batches says how far the positions have come: it stays until a later one does.
func (l *Log) adoptUsed(r *recovery, at int64) error {
	tail := r.tail()
	for i, s := range r.segments[:r.used] {
		x := &segment{
			number: s.number, path: s.path, bytes: s.bytes, groups: s.groups, last: Position(s.last), retired: i < tail,
			damaged: r.damaged[s.number], pinned: r.damaged[s.number],
		}
		l.segments.used = append(l.segments.used, x)
		l.segments.next = s.number + 1
		if i < r.used-1 || at == 0 {
			continue
		}
		f, err := l.cfg.FS.OpenReadWrite(s.path)
		if err != nil {
			return err
		}
		x.file = f
		l.queue.segment, l.queue.offset = x, at
	}
	return nil
}

// adoptReady takes over the segments that nothing was written to. Those whose number does not follow, since
// one before them is missing or has to be made again, lose it, the last one first.
func (l *Log) adoptReady(r *recovery) error {
	l.segments.spares = r.spares
	ready := r.segments[r.used:]
	if r.used == 0 {
		l.segments.next = 1
		if len(ready) > 0 {
			l.segments.next = ready[0].number
		}
	}
	follow := 0
	for follow < len(ready) && l.fits(ready[follow]) {
		f, err := l.cfg.FS.OpenReadWrite(ready[follow].path)
		if err != nil {
			return err
		}
		s := ready[follow]
		l.segments.ready = append(l.segments.ready, &segment{
			number: s.number, path: s.path, bytes: s.bytes, file: f, groups: map[uint64]Position{},
		})
		l.segments.next++
		follow++
	}
	for _, s := range slices.Backward(ready[follow:]) {
		if s.bytes != l.maker.bytes {
			if err := l.maker.remove(s.path); err != nil {
				return err
			}
			continue
		}
		spare, err := l.maker.putAside(s.path, s.number)
		if err != nil {
			return err
		}
		if !slices.Contains(l.segments.spares, spare) { // it may have replaced one
			l.segments.spares = append(l.segments.spares, spare)
		}
	}
	return nil
}

// fits reports whether a segment that nothing was written to can be the next one.
func (l *Log) fits(s *scanned) bool {
	return !s.unfit && s.number == l.segments.next && s.bytes == l.maker.bytes
}
