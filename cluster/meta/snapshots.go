package meta

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/hashicorp/raft"

	"runnel/jetlog/vfs"
)

// snapshotFile has the last snapshot: magic, length of the header in four bytes, big endian, the header in JSON, the state,
// and the CRC-32C of all that in four bytes.
const (
	snapshotFile  = "snapshot"
	snapshotMagic = "RNLMETA1"
)

// snapshots is raft's SnapshotStore. It has one snapshot, which is small: it is read and written as a whole, so that one
// may be replaced while somebody reads it.
type snapshots struct {
	disk vfs.FS
	dir  string
}

// snapshotHeader is what raft wants to know about a snapshot.
type snapshotHeader struct {
	Index              uint64 `json:"index"`
	Term               uint64 `json:"term"`
	Configuration      []byte `json:"configuration"`
	ConfigurationIndex uint64 `json:"configuration_index"`
}

// sink takes a snapshot that is being made or received.
type sink struct {
	bytes.Buffer
	store  *snapshots
	header snapshotHeader
	done   bool
}

// Create begins a snapshot.
func (s *snapshots) Create(version raft.SnapshotVersion, index, term uint64, configuration raft.Configuration, configurationIndex uint64, _ raft.Transport) (raft.SnapshotSink, error) {
	if version != 1 {
		return nil, fmt.Errorf("a snapshot in version %d of raft's format, known is 1", version)
	}
	return &sink{store: s, header: snapshotHeader{
		Index: index, Term: term, Configuration: raft.EncodeConfiguration(configuration), ConfigurationIndex: configurationIndex,
	}}, nil
}

// ID returns the name of the snapshot.
func (s *sink) ID() string { return s.header.id() }

// Cancel forgets what was written.
func (s *sink) Cancel() error {
	s.done = true
	return nil
}

// Close makes the snapshot durable, in the place of the one before.
func (s *sink) Close() error {
	if s.done {
		return nil
	}
	s.done = true
	header, err := json.Marshal(&s.header)
	if err != nil {
		return fmt.Errorf("write a snapshot: %w", err)
	}
	b := binary.BigEndian.AppendUint32([]byte(snapshotMagic), uint32(len(header)))
	b = append(append(b, header...), s.Bytes()...)
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
	if err := writeFile(s.store.disk, s.store.dir, snapshotFile, b); err != nil {
		return fmt.Errorf("write a snapshot: %w", err)
	}
	return nil
}

// id is the name of a snapshot.
func (h *snapshotHeader) id() string { return fmt.Sprintf("%d-%d", h.Term, h.Index) }

// List returns the snapshot if there is one. A damaged one is an error: the log does not have what is in it any more.
func (s *snapshots) List() ([]*raft.SnapshotMeta, error) {
	header, state, err := s.read()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []*raft.SnapshotMeta{header.meta(len(state))}, nil
}

// Open returns the snapshot of a name.
func (s *snapshots) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	header, state, err := s.read()
	if err != nil {
		return nil, nil, err
	}
	if header.id() != id {
		return nil, nil, fmt.Errorf("the snapshot %s was replaced by %s", id, header.id())
	}
	return header.meta(len(state)), io.NopCloser(bytes.NewReader(state)), nil
}

// meta is the snapshot as raft describes it.
func (h *snapshotHeader) meta(size int) *raft.SnapshotMeta {
	return &raft.SnapshotMeta{
		Version: 1, ID: h.id(), Index: h.Index, Term: h.Term,
		Configuration: raft.DecodeConfiguration(h.Configuration), ConfigurationIndex: h.ConfigurationIndex, Size: int64(size),
	}
}

// read returns the snapshot, whole and undamaged.
func (s *snapshots) read() (*snapshotHeader, []byte, error) {
	name := filepath.Join(s.dir, snapshotFile)
	b, err := readFile(s.disk, name)
	if err != nil {
		return nil, nil, fmt.Errorf("read a snapshot: %w", err)
	}
	header, state, err := splitSnapshot(b)
	if err != nil {
		return nil, nil, fmt.Errorf("%s is damaged (%w): the server has to join as a new one, with an empty directory", name, err)
	}
	return header, state, nil
}

// splitSnapshot parts a file into header and state.
func splitSnapshot(b []byte) (*snapshotHeader, []byte, error) {
	const front = len(snapshotMagic) + 4
	if len(b) < front+4 || string(b[:len(snapshotMagic)]) != snapshotMagic {
		return nil, nil, errors.New("it is not a snapshot")
	}
	body, sum := b[:len(b)-4], binary.BigEndian.Uint32(b[len(b)-4:])
	if crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)) != sum {
		return nil, nil, errors.New("the checksum is wrong")
	}
	n := int64(binary.BigEndian.Uint32(body[len(snapshotMagic):front]))
	if n > int64(len(body)-front) {
		return nil, nil, errors.New("the header is cut off")
	}
	var h snapshotHeader
	if err := json.Unmarshal(body[front:int64(front)+n], &h); err != nil {
		return nil, nil, err
	}
	return &h, body[int64(front)+n:], nil
}
