package manifest

import (
	"runnel/jetlog/vfs"
)

// Recode decodes a record of the manifest and encodes it again.
func Recode(data []byte) ([]byte, error) {
	e, err := ReadEdit(data)
	if err != nil {
		return nil, err
	}
	return e.Append(nil), nil
}

// ApplyEdit decodes a record and carries it out in a catalog that has nothing.
func ApplyEdit(data []byte) error {
	e, err := ReadEdit(data)
	if err != nil {
		return err
	}
	return NewCatalog([2]uint64{}).Apply(e)
}

// SampleEdit is a record that has something of everything.
func SampleEdit() []byte {
	key := [2]uint64{1, 2}
	e := &Edit{Key: &key, NextStream: 9, NextFile: 4, Deleted: []uint64{3}, Files: []File{{Number: 3, ID: [16]byte{7}, Bytes: 99, Checksum: 5}}}
	s := StreamEdit{Created: true, Advanced: true, Cleared: []uint64{8}, Changed: map[uint64]*Page{1: {1: 6}, 4: {}}}
	s.Stream = Stream{ID: 8, Account: "A", Snapshot: []byte("state"), Applied: 5, Purged: 2, Forgot: -1, Floor: 3}
	s.Parts = []Part{{File: 3, Purged: 1, IDTime: 77, Removed: Unknown}}
	e.Streams = []StreamEdit{s}
	return e.Append(nil)
}

// SampleReplica is a record with a stream whose commands come from a group.
func SampleReplica() []byte {
	e := &Edit{}
	s := StreamEdit{Created: true, Advanced: true}
	s.Stream = Stream{ID: FirstAssigned + 3, Account: "A", Snapshot: []byte("state"), Noted: 16}
	s.Replica = &Replica{Index: 7, Term: 3, Configuration: []byte("members"), Begin: 17, Key: [2]uint64{1, 1 << 63}}
	e.Streams = []StreamEdit{s}
	return e.Append(nil)
}

// LoadManifest reads a manifest with the given content.
func LoadManifest(content []byte) error {
	fs := vfs.NewMemory()
	m := New(fs, "/", [16]byte{}, nil)
	f, err := fs.Create(m.path(1))
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(content, 0); err != nil {
		return err
	}
	_, _, err = m.Load(NewCatalog([2]uint64{}))
	return err
}

// SampleManifest is a manifest with two records.
func SampleManifest() ([]byte, error) {
	fs := vfs.NewMemory()
	m := New(fs, "/", [16]byte{1, 2, 3, 4}, nil)
	if err := m.Create(NewCatalog([2]uint64{5, 6})); err != nil {
		return nil, err
	}
	e, err := ReadEdit(SampleEdit())
	if err != nil {
		return nil, err
	}
	if err := m.Append(e); err != nil {
		return nil, err
	}
	return readAll(fs, m.path(1))
}
