// Package ledger keeps raft's log, term and vote in one file, and notices when that is not what was written to it.
//
// The file is a database of raft-boltdb. That has no checksums but those of its head: it takes changed bytes for true, and ends the process
// where a page is not what it should be. So each entry and each value has a checksum here, and when the file is opened all of
// it is read before raft is. What is damaged is refused: a server that does not know how it has voted must not vote.
package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

// ErrDamaged says that the file does not hold what was written to it. Nothing in it can be trusted.
var ErrDamaged = errors.New("the file is damaged")

// Store is an open file. Its methods may be called by any number of goroutines. What a call has stored when it returns is on the disk.
type Store struct {
	bolt *raftboltdb.BoltStore

	mu     sync.Mutex // guards what follows, and the order of changes of the log
	marked time.Time  // when the mark was set last
}

// The mark is a value of our own: the log goes at least as far. It is set now and then, in another place of the file than entries are, so that a part of the
// file that is an old one is noticed.
const (
	keyMark   = "Mark"
	markEvery = time.Second
)

// Open opens the file, or makes it, and reads all of it. The error wraps ErrDamaged if that is not what was written.
func Open(path string) (*Store, error) {
	if err := examine(path); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	// Which pages are free is found out each time: a list of that would be one more thing that may be wrong, and unnoticed.
	bolt, err := raftboltdb.New(raftboltdb.Options{Path: path, BoltOptions: &bbolt.Options{NoFreelistSync: true}})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	s := &Store{bolt: bolt}
	if err := s.verify(); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, errors.Join(err, s.Close()))
	}
	return s, nil
}

// verify reads every entry. The values have been looked at already, see walk.
func (s *Store) verify() error {
	first, err := s.FirstIndex()
	if err != nil {
		return err
	}
	last, err := s.LastIndex()
	if err != nil {
		return err
	}
	for i := first; i <= last && i > 0; i++ {
		if err := s.GetLog(i, new(raft.Log)); err != nil {
			return fmt.Errorf("entry %d of %d to %d: %w", i, first, last, errors.Join(ErrDamaged, err))
		}
	}
	mark, err := s.GetUint64([]byte(keyMark))
	if errors.Is(err, raftboltdb.ErrKeyNotFound) {
		return nil
	}
	if err == nil && mark > last {
		err = fmt.Errorf("the log ends with entry %d, and went to %d at least: %w", last, mark, ErrDamaged)
	}
	return err
}

// mark notes how far the log goes.
func (s *Store) mark(last uint64) error {
	s.marked = time.Now()
	return s.SetUint64([]byte(keyMark), last)
}

// carefully does something with the database, and returns an error where that panics.
func carefully(do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, r)
		}
	}()
	return do()
}

// FirstIndex is the first entry there is, 0 for none.
func (s *Store) FirstIndex() (index uint64, err error) {
	err = carefully(func() error {
		index, err = s.bolt.FirstIndex()
		return err
	})
	return index, err
}

// LastIndex is the last entry there is, 0 for none.
func (s *Store) LastIndex() (index uint64, err error) {
	err = carefully(func() error {
		index, err = s.bolt.LastIndex()
		return err
	})
	return index, err
}

var table = crc32.MakeTable(crc32.Castagnoli)

// sealBytes is the size of a checksum.
const sealBytes = 4

// sealOf is the checksum of an entry.
func sealOf(l *raft.Log) []byte {
	var head [8 + 8 + 1]byte
	binary.LittleEndian.PutUint64(head[:], l.Index)
	binary.LittleEndian.PutUint64(head[8:], l.Term)
	head[16] = byte(l.Type)
	return binary.LittleEndian.AppendUint32(nil, crc32.Update(crc32.Checksum(head[:], table), table, l.Data))
}

// StoreLog appends an entry.
func (s *Store) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

// StoreLogs appends entries. They are as they were afterwards; their extensions, which nobody uses, are not kept.
func (s *Store) StoreLogs(logs []*raft.Log) error {
	sealed := make([]*raft.Log, len(logs))
	for i, l := range logs {
		e := *l
		e.Extensions = sealOf(l)
		sealed[i] = &e
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err := carefully(func() error { return s.bolt.StoreLogs(sealed) })
	if err == nil && len(logs) > 0 && time.Since(s.marked) >= markEvery {
		err = s.mark(logs[len(logs)-1].Index)
	}
	return err
}

// GetLog reads an entry.
func (s *Store) GetLog(index uint64, l *raft.Log) error {
	return carefully(func() error {
		if err := s.bolt.GetLog(index, l); err != nil {
			return err
		}
		seal := l.Extensions
		l.Extensions = nil
		if l.Index != index || string(seal) != string(sealOf(l)) {
			return fmt.Errorf("entry %d: checksum does not match: %w", index, ErrDamaged)
		}
		return nil
	})
}

// DeleteRange removes entries at one of the ends.
func (s *Store) DeleteRange(first, last uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	end, err := s.LastIndex()
	if err == nil && last >= end { // nothing is left, or it becomes shorter
		err = s.mark(0)
	}
	if err != nil {
		return err
	}
	return carefully(func() error { return s.bolt.DeleteRange(first, last) })
}

// seal is the checksum of a value.
func seal(key, value []byte) []byte {
	return binary.LittleEndian.AppendUint32(nil, crc32.Update(crc32.Checksum(key, table), table, value))
}

// unseal returns a value without its checksum.
func unseal(key, sealed []byte) ([]byte, error) {
	n := len(sealed) - sealBytes
	if n < 0 || string(sealed[n:]) != string(seal(key, sealed[:n])) {
		return nil, fmt.Errorf("value %q: checksum does not match: %w", key, ErrDamaged)
	}
	return sealed[:n], nil
}

// Set keeps a value.
func (s *Store) Set(key, value []byte) error {
	sealed := append(append(make([]byte, 0, len(value)+sealBytes), value...), seal(key, value)...)
	return carefully(func() error { return s.bolt.Set(key, sealed) })
}

// Get returns a value.
func (s *Store) Get(key []byte) (value []byte, err error) {
	err = carefully(func() error {
		sealed, err := s.bolt.Get(key)
		if err != nil {
			return err
		}
		value, err = unseal(key, sealed)
		return err
	})
	return value, err
}

// SetUint64 keeps a number.
func (s *Store) SetUint64(key []byte, value uint64) error {
	return s.Set(key, binary.BigEndian.AppendUint64(nil, value))
}

// GetUint64 returns a number.
func (s *Store) GetUint64(key []byte) (uint64, error) {
	b, err := s.Get(key)
	if err == nil && len(b) != 8 {
		err = fmt.Errorf("value %s has %d bytes and is no number: %w", key, len(b), ErrDamaged)
	}
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(b), nil
}

// Close closes the file.
func (s *Store) Close() error { return carefully(s.bolt.Close) }
