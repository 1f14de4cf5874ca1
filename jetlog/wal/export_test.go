package wal

import "errors"

// Lengths of the parts of a segment.
const (
	SegmentHeader = segmentHeader
	BatchHeader   = batchHeader
	RecordHeader  = recordHeader
)

// SegmentName is the name of the file of a segment.
func SegmentName(number uint64) string { return segmentName(number) }

// BuildBatch is a batch as a test wants it.
type BuildBatch struct {
	Sequence, Synced uint64
	Previous         uint32 // 0: of the batch before it in the segment
	Closing          bool
	Records          []Record
}

// BuildSegment makes a segment by hand. It returns the checksum of the last batch too.
func BuildSegment(number uint64, id [16]byte, size int, previous uint32, batches ...BuildBatch) ([]byte, uint32) {
	file := make([]byte, size)
	putSegmentHeader(file, number, id, int64(size))
	at := int64(segmentHeader)
	for _, x := range batches {
		var b batch
		b.begin(&segment{number: number}, at, x.Sequence)
		for i := range x.Records {
			b.add(&x.Records[i], x.Records[i].Payload, 0)
		}
		if x.Previous != 0 {
			previous = x.Previous
		}
		flags := uint32(0)
		if x.Closing {
			flags = batchClosing
		}
		previous = b.seal(x.Synced, previous, flags)
		copy(file[at:], b.buf)
		at = b.end()
	}
	return file, previous
}

// SetVersion gives a segment another format version, with a valid checksum.
func SetVersion(file []byte, version uint8) {
	file[8] = version
	sum := headerChecksum(file)
	file[40], file[41], file[42], file[43] = byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24)
}

// EncodeRecord is a record as it stands in a segment.
func EncodeRecord(r Record, flags uint8, segment uint64, offset int64) []byte {
	b, _ := appendRecord(nil, &r, r.Payload, flags, segment, offset)
	return b
}

// DecodeRecord reads a record.
func DecodeRecord(b []byte, segment uint64, offset int64) (r Record, flags uint8, bytes int, ok bool) {
	s, ok := decodeRecord(b, segment, offset)
	return s.Record, s.flags, s.bytes, ok
}

// Recover does what Open does before anything runs, and ends there.
func Recover(cfg Config) (*Recovered, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	l := &Log{cfg: cfg, maker: maker{fs: cfg.FS, dir: cfg.Dir, id: cfg.ID, bytes: cfg.SegmentBytes}}
	r, _, err := l.recover()
	return r, errors.Join(err, l.segments.close())
}
