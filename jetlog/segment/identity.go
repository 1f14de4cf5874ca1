package segment

import (
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
)

// FileID is a random number that no other file has.
type FileID [16]byte

// String is the id in hexadecimal digits.
func (id FileID) String() string { return hex.EncodeToString(id[:]) }

const (
	magic         = "RNLSEG"
	version       = 1
	identityBytes = 32
	headerBytes   = identityBytes + 4      // identity, CRC-32C
	trailerBytes  = identityBytes + 12 + 4 // identity, place of the footer, CRC-32C
)

// identity says what a file is. It stands in the header and again in the trailer: opening needs the
// trailer alone, and what is left of a file that has lost it can still be read.
type identity struct {
	version byte
	cipher  Cipher // 0: not sealed
	key     KeyID
	file    FileID
}

// append codes an identity.
func (i identity) append(dst []byte) []byte {
	dst = append(dst, magic...)
	dst = append(dst, i.version, byte(i.cipher))
	dst = append(dst, i.key[:]...)
	return append(dst, i.file[:]...)
}

// parseIdentity reads an identity whose checksum stands at the end of b. All versions agree on this: the
// identity, whatever else, the checksum.
func parseIdentity(b []byte) (identity, error) {
	if string(b[:len(magic)]) != magic {
		return identity{}, errMagic
	}
	end := len(b) - 4
	if crc32.Checksum(b[:end], castagnoli) != binary.LittleEndian.Uint32(b[end:]) {
		return identity{}, errChecksum
	}
	i := identity{version: b[6], cipher: Cipher(b[7]), key: KeyID(b[8:16]), file: FileID(b[16:32])}
	if i.version > version {
		return identity{}, ErrNewer
	}
	return i, nil
}

// appendChecksum adds the checksum of what begins at start.
func appendChecksum(dst []byte, start int) []byte {
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

// appendHeader adds the header of a file.
func appendHeader(dst []byte, i identity) []byte {
	start := len(dst)
	return appendChecksum(i.append(dst), start)
}

// appendTrailer adds the trailer of a file.
func appendTrailer(dst []byte, i identity, footer location) []byte {
	start := len(dst)
	dst = i.append(dst)
	dst = binary.LittleEndian.AppendUint64(dst, footer.offset)
	dst = binary.LittleEndian.AppendUint32(dst, footer.bytes)
	return appendChecksum(dst, start)
}

// parseTrailer reads the end of a file that has size bytes. The footer ends where the trailer begins.
func parseTrailer(b []byte, size uint64) (identity, location, error) {
	i, err := parseIdentity(b)
	if err != nil {
		return i, location{}, err
	}
	footer := location{
		offset: binary.LittleEndian.Uint64(b[identityBytes:]),
		bytes:  binary.LittleEndian.Uint32(b[identityBytes+8:]),
	}
	end := size - trailerBytes
	if footer.offset < headerBytes || footer.offset > end || end-footer.offset != uint64(footer.bytes) {
		return i, location{}, errPlace
	}
	return i, footer, nil
}

// frame returns how the file's chunks are read, with the one of the keys that it is sealed with.
func (i identity) frame(keys []*Key) (frame, error) {
	if i.cipher == 0 {
		return newFrame(i.file, nil), nil
	}
	for _, k := range keys {
		if k != nil && k.id == i.key {
			aead, err := k.seal(i.cipher, i.file)
			return newFrame(i.file, aead), err
		}
	}
	return frame{}, ErrKey
}
