package segment

import (
	"crypto/cipher"
	"encoding/binary"
	"hash/crc32"

	"github.com/klauspost/compress/s2"
)

// kind says what a chunk holds. The numbers stand in files.
type kind uint8

const (
	kindHeads      kind = 1 // of a block: everything but headers and payloads
	kindBodies     kind = 2 // of a block: headers and payloads
	kindPostings   kind = 3 // sequences of one subject
	kindDictionary kind = 4 // page of subjects
	kindSubjects   kind = 5 // index of the pages, and filters
	kindFacts      kind = 6 // page of facts
	kindFactIndex  kind = 7 // index of the pages, with their filters
	kindFooter     kind = 8
)

// Flags of a chunk.
const (
	flagCompressed = 1 // s2 block format
	flagSealed     = 2
)

// envelopeBytes is the length of what stands before the content of a chunk:
// kind, flags, two zeros, stored length, length once opened, CRC-32C.
const envelopeBytes = 16

// location is where a chunk lies, envelope included.
type location struct {
	offset uint64
	bytes  uint32
}

// frame writes and reads the chunks of one file. It is immutable.
type frame struct {
	seed uint32      // checksum of the file's id
	aead cipher.AEAD // nil: chunks are not sealed
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// newFrame returns the frame of the file with this id.
func newFrame(id FileID, aead cipher.AEAD) frame {
	return frame{seed: crc32.Checksum(id[:], castagnoli), aead: aead}
}

// checksum covers the file's id, the offset, the envelope and the content as stored: a chunk that the
// disk has put in another place is not valid there.
func (f *frame) checksum(offset uint64, chunk []byte) uint32 {
	var place [8]byte
	binary.LittleEndian.PutUint64(place[:], offset)
	sum := crc32.Update(f.seed, castagnoli, place[:])
	sum = crc32.Update(sum, castagnoli, chunk[:12])
	return crc32.Update(sum, castagnoli, chunk[envelopeBytes:])
}

// nonce is that of the chunk at offset; see Key.seal.
func nonce(offset uint64) []byte {
	n := make([]byte, 12)
	binary.LittleEndian.PutUint64(n[4:], offset)
	return n
}

// append adds the chunk that is to stand at offset. Content is what compression, if there was any, has
// made of raw bytes.
func (f *frame) append(dst []byte, offset uint64, k kind, content []byte, compressed bool, raw int) []byte {
	start, stored, flags := len(dst), len(content), byte(0)
	if compressed {
		flags |= flagCompressed
	}
	if f.aead != nil {
		flags |= flagSealed
		stored += f.aead.Overhead()
	}
	dst = append(dst, byte(k), flags, 0, 0)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(stored))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(raw))
	dst = append(dst, 0, 0, 0, 0)
	if f.aead == nil {
		dst = append(dst, content...)
	} else {
		dst = f.aead.Seal(dst, nonce(offset), content, dst[start:start+12])
	}
	binary.LittleEndian.PutUint32(dst[start+12:], f.checksum(offset, dst[start:]))
	return dst
}

// open returns the content of a chunk that was read at offset. It may be part of the chunk given, and
// may overwrite it. Errors are what a Corruption wraps.
func (f *frame) open(chunk []byte, offset uint64, k kind) ([]byte, error) {
	if len(chunk) < envelopeBytes {
		return nil, errLength
	}
	if f.checksum(offset, chunk) != binary.LittleEndian.Uint32(chunk[12:]) {
		return nil, errChecksum
	}
	flags, content := chunk[1], chunk[envelopeBytes:]
	raw := int(binary.LittleEndian.Uint32(chunk[8:]))
	// The checksum is right: what is wrong from here on was written so, or somebody made it fit.
	switch {
	case kind(chunk[0]) != k:
		return nil, errKind
	case flags&^(flagCompressed|flagSealed) != 0 || chunk[2] != 0 || chunk[3] != 0:
		return nil, errFlags
	case uint32(len(content)) != binary.LittleEndian.Uint32(chunk[4:]):
		return nil, errLength
	case (flags&flagSealed != 0) != (f.aead != nil):
		return nil, ErrSeal
	}
	if f.aead != nil {
		var err error
		content, err = f.aead.Open(content[:0], nonce(offset), content, chunk[:12])
		if err != nil {
			return nil, ErrSeal
		}
	}
	if flags&flagCompressed != 0 {
		return decompress(content, raw)
	}
	if len(content) != raw {
		return nil, errLength
	}
	return content, nil
}

// Compression is used where it makes chunks smaller by a sixteenth, and where what comes out is not so
// much larger than what went in that a small file could fill the memory.
const (
	compressGain  = 16
	compressFree  = 1 << 20 // bytes that any chunk may grow to
	compressRatio = 64      // times that a larger one may
)

// expands reports whether raw bytes are too many to come from so few that are stored.
func expands(stored, raw int) bool { return raw > compressFree && raw/compressRatio > stored }

// compress returns content in less space, or false if it is better left as it is. It uses scratch.
func compress(scratch, content []byte) ([]byte, bool) {
	most := s2.MaxEncodedLen(len(content))
	if most < 0 {
		return nil, false
	}
	if cap(scratch) < most {
		scratch = make([]byte, most)
	}
	small := s2.Encode(scratch[:most], content)
	if len(small) > len(content)-len(content)/compressGain || expands(len(small), len(content)) {
		return scratch, false
	}
	return small, true
}

// decompress is the reverse of compress. Nothing is allocated before the lengths are found to be plausible.
func decompress(content []byte, raw int) ([]byte, error) {
	n, err := s2.DecodedLen(content)
	if err != nil || n != raw || expands(len(content), raw) {
		return nil, errLength
	}
	b, err := s2.Decode(make([]byte, raw), content)
	if err != nil || len(b) != raw {
		return nil, errFormat
	}
	return b, nil
}
