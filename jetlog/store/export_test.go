package store

import (
	"runnel/jetlog/vfs"
)

// ReadEdit decodes a record of the manifest and encodes it again.
func ReadEdit(data []byte) ([]byte, error) {
	e, err := readEdit(data)
	if err != nil {
		return nil, err
	}
	return e.append(nil), nil
}

// ApplyEdit decodes a record and carries it out in a catalog that has nothing.
func ApplyEdit(data []byte) error {
	e, err := readEdit(data)
	if err != nil {
		return err
	}
	return newCatalog(hashKey{}).apply(e)
}

// SampleEdit is a record that has something of everything.
func SampleEdit() []byte {
	key := hashKey{1, 2}
	e := &edit{key: &key, nextStream: 9, nextFile: 4, deleted: []uint64{3}, files: []fileEntry{{number: 3, id: [16]byte{7}, bytes: 99, checksum: 5}}}
	s := streamEdit{created: true, advanced: true, cleared: []uint64{8}, changed: map[uint64]*page{1: {1: 6}, 4: {}}}
	s.streamEntry = streamEntry{id: 8, account: "A", snapshot: []byte("state"), applied: 5, purged: 2, forgot: -1, floor: 3}
	s.parts = []partEntry{{file: 3, purged: 1, idTime: 77, removed: unknown}}
	e.streams = []streamEdit{s}
	return e.append(nil)
}

// LoadManifest reads a manifest with the given content.
func LoadManifest(content []byte) error {
	fs := vfs.NewMemory()
	m := &manifest{fs: fs, dir: "/"}
	f, err := fs.Create(m.path(1))
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(content, 0); err != nil {
		return err
	}
	_, _, err = m.load(newCatalog(hashKey{}))
	return err
}

// SampleManifest is a manifest with two records.
func SampleManifest() ([]byte, error) {
	fs := vfs.NewMemory()
	m := &manifest{fs: fs, dir: "/", id: [16]byte{1, 2, 3, 4}}
	if err := m.create(newCatalog(hashKey{5, 6})); err != nil {
		return nil, err
	}
	e, err := readEdit(SampleEdit())
	if err != nil {
		return nil, err
	}
	if err := m.append(e); err != nil {
		return nil, err
	}
	return readAll(fs, m.path(1))
}

// Sum is the hash of a string under a key of two words.
func Sum(a, b uint64, s string) [16]byte { return hashKey{a, b}.sum(s) }

// Set gives tests the set of removed sequences.
type Set struct{ removed }

// NewSet returns an empty set.
func NewSet() *Set { return &Set{*newRemoved()} }

// Change puts one sequence in, or all up to it.
func (s *Set) Change(seq uint64, all bool) {
	if all {
		s.raise(seq)
	} else {
		s.add(seq)
	}
}

// Has, Next, Prev and Each ask it.
func (s *Set) Has(seq uint64) bool { return s.has(seq) }

// Next returns the first sequence >= seq that is not in it.
func (s *Set) Next(seq uint64) uint64 { return s.next(seq) }

// Prev returns the last one <= seq.
func (s *Set) Prev(seq uint64) uint64 { return s.prev(seq) }

// Each calls visit with those above the floor.
func (s *Set) Each(from, to uint64, visit func(uint64) bool) { s.each(from, to, visit) }

// Floor is up to where all are in it.
func (s *Set) Floor() uint64 { return s.floor }
