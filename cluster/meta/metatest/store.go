// Package metatest has what simulations of clusters need: the log of a meta group in memory, which can be as it would be
// after a crash.
package metatest

import (
	"bytes"
	"errors"
	"maps"
	"sync"

	"github.com/hashicorp/raft"
)

// Store is the log, term and vote of a meta group in memory. What a call has stored when it returns is there after a crash, and nothing
// else. The zero Store is empty; it may be used by any number of goroutines.
type Store struct {
	// Before, if not nil, is called before each change, which is not made if it returns an error.
	Before func() error

	mu      sync.Mutex // guards everything below
	first   uint64     // 0, 0 when empty
	last    uint64
	entries map[uint64]raft.Log
	values  map[string][]byte
	numbers map[string]uint64
}

// errNotFound has the text that raft looks for.
var errNotFound = errors.New("not found")

// Clone returns what a crash would leave now.
func (s *Store) Clone() *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Store{first: s.first, last: s.last, entries: maps.Clone(s.entries), values: maps.Clone(s.values), numbers: maps.Clone(s.numbers)}
}

// change makes a change.
func (s *Store) change(f func()) error {
	if s.Before != nil {
		if err := s.Before(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entries == nil {
		s.entries, s.values, s.numbers = make(map[uint64]raft.Log), make(map[string][]byte), make(map[string]uint64)
	}
	f()
	return nil
}

// FirstIndex is the first entry there is, 0 for none.
func (s *Store) FirstIndex() (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first, nil
}

// LastIndex is the last entry there is, 0 for none.
func (s *Store) LastIndex() (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, nil
}

// GetLog reads an entry.
func (s *Store) GetLog(index uint64, l *raft.Log) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.entries[index]
	if !ok {
		return raft.ErrLogNotFound
	}
	*l = e
	return nil
}

// StoreLog appends an entry.
func (s *Store) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

// StoreLogs appends entries.
func (s *Store) StoreLogs(logs []*raft.Log) error {
	return s.change(func() {
		for _, l := range logs {
			e := *l
			e.Data = bytes.Clone(l.Data)
			s.entries[l.Index] = e
			if s.first == 0 {
				s.first = l.Index
			}
			s.last = max(s.last, l.Index)
		}
	})
}

// DeleteRange removes entries at one of the ends.
func (s *Store) DeleteRange(first, last uint64) error {
	return s.change(func() {
		for i := first; i <= last; i++ {
			delete(s.entries, i)
		}
		if first <= s.first {
			s.first = last + 1
		}
		if last >= s.last {
			s.last = first - 1
		}
		if s.first > s.last {
			s.first, s.last = 0, 0
		}
	})
}

// Set keeps a value.
func (s *Store) Set(key, value []byte) error {
	return s.change(func() { s.values[string(key)] = bytes.Clone(value) })
}

// Get returns a value.
func (s *Store) Get(key []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, ok := s.values[string(key)]; ok {
		return v, nil
	}
	return nil, errNotFound
}

// SetUint64 keeps a number.
func (s *Store) SetUint64(key []byte, value uint64) error {
	return s.change(func() { s.numbers[string(key)] = value })
}

// GetUint64 returns a number.
func (s *Store) GetUint64(key []byte) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, ok := s.numbers[string(key)]; ok {
		return v, nil
	}
	return 0, errNotFound
}

// Close does nothing: what was stored stays for the next who opens it.
func (s *Store) Close() error { return nil }
