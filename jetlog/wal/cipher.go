package wal

// sealing is the encrypted payloads of one Append, made before its batch is known, so that others need not
// wait for it.
type sealing struct {
	buf  []byte
	ends []int // where each payload ends in buf
}

// seal encrypts payloads. The result belongs back into the pool.
func (l *Log) seal(records []Record) *sealing {
	s, _ := l.pool.Get().(*sealing)
	if s == nil || cap(s.buf) > 2*l.cfg.BatchBytes { // not to keep an unusually large one
		s = &sealing{}
	}
	s.buf, s.ends = s.buf[:0], s.ends[:0]
	var bound [recordHeader]byte
	for i := range records {
		putRecordHeader(bound[:], &records[i], 0, recordSealed)
		s.buf = l.cfg.Cipher.Seal(s.buf, records[i].Payload, bound[recordBound:recordBoundEnd])
		s.ends = append(s.ends, len(s.buf))
	}
	return s
}

func (s *sealing) payload(i int) []byte {
	from := 0
	if i > 0 {
		from = s.ends[i-1]
	}
	return s.buf[from:s.ends[i]]
}
