// Package checkpoint is how a replica gets to another server: a description of it, and files that are fetched.
package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"runnel/jetlog/manifest"
)

// ErrDamaged is the error for a description, or a file, that is not what was written.
var ErrDamaged = errors.New("what describes a replica, or a file of it, is damaged")

// version is the first byte of a description.
const version = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// File is a file of a stream, as it goes from one server to another.
type File struct {
	ID       string // hexadecimal; no two files have the same, and it stays when a file is copied
	Bytes    int64
	Checksum uint32 // of the file's footer, which has those of the rest
}

// FileOf describes a file of a catalog.
func FileOf(f *manifest.File) File {
	return File{ID: f.ID.String(), Bytes: f.Bytes, Checksum: f.Checksum}
}

// Encode describes a replica: a row of the manifest with what it says of its files. The checksum comes first.
func Encode(row *manifest.Stream, files []manifest.File) []byte {
	e := manifest.Edit{Files: files, Streams: []manifest.StreamEdit{{Stream: *row, Created: true, Advanced: true, Changed: row.Pages}}}
	out := e.Append([]byte{0, 0, 0, 0, version})
	binary.LittleEndian.PutUint32(out, crc32.Checksum(out[4:], castagnoli))
	return out
}

// Decode returns what Encode was given. It keeps the data.
func Decode(data []byte) (row *manifest.StreamEdit, files []manifest.File, err error) {
	if len(data) < 5 || crc32.Checksum(data[4:], castagnoli) != binary.LittleEndian.Uint32(data) {
		return nil, nil, ErrDamaged
	}
	if data[4] != version {
		return nil, nil, fmt.Errorf("description of a replica of version %d, this program knows %d: %w", data[4], version, manifest.ErrNewer)
	}
	e, err := manifest.ReadEdit(data[5:])
	if err != nil {
		return nil, nil, fmt.Errorf("description of a replica: %w", err)
	}
	if len(e.Streams) != 1 || len(e.Deleted) > 0 {
		return nil, nil, fmt.Errorf("%d streams: %w", len(e.Streams), ErrDamaged)
	}
	row = &e.Streams[0]
	if !row.Created || !row.Advanced || row.Replica == nil || !covered(row.Parts, e.Files) {
		return nil, nil, fmt.Errorf("a part is missing: %w", ErrDamaged)
	}
	return row, e.Files, nil
}

// covered reports whether parts and files are the same, in the same order.
func covered(parts []manifest.Part, files []manifest.File) bool {
	if len(parts) != len(files) {
		return false
	}
	for i := range parts {
		if parts[i].File != files[i].Number || files[i].Bytes < 0 {
			return false
		}
	}
	return true
}
