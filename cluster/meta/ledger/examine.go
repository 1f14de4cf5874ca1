package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"runtime/debug"

	"go.etcd.io/bbolt"

	"runnel/jetlog/vfs"
)

// The buckets of raft-boltdb with the entries and the values.
const (
	logs   = "logs"
	values = "conf"
)

// examine reads all of a database, so that nobody comes upon a page later that is not what it should be. Where the file ends
// early memory faults, which is made a panic like all that bolt finds.
func examine(path string) error {
	if there, err := pages(path); err != nil || !there {
		return err
	}
	return carefully(func() error {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		// Heads and tree are right by now: what still fails is not for what is in the file.
		db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
		if err != nil {
			return err
		}
		defer db.Close()
		return db.View(func(tx *bbolt.Tx) error {
			return tx.ForEach(func(name []byte, b *bbolt.Bucket) error { return walk(string(name), b) })
		})
	})
}

// Of the head that bolt writes with each transaction, in turn to one of the first two pages.
const (
	headBytes = 64
	headMagic = 0xed0cdaed
	headAt    = 16 // in its page
)

// head is where the tree begins, as of a transaction.
type head struct {
	pageBytes   uint32
	root, end   uint64 // pages
	transaction uint64
	valid       bool
}

func parseHead(b []byte) head {
	sum := fnv.New64a()
	_, _ = sum.Write(b[:headBytes-8]) // never fails
	return head{
		pageBytes: binary.NativeEndian.Uint32(b[8:]), transaction: binary.NativeEndian.Uint64(b[48:]),
		root: binary.NativeEndian.Uint64(b[16:]), end: binary.NativeEndian.Uint64(b[40:]),
		valid: binary.NativeEndian.Uint32(b) == headMagic && binary.NativeEndian.Uint64(b[56:]) == sum.Sum64(),
	}
}

// pages looks at heads and tree of a file. It is false if there is no file, or an empty one.
func pages(path string) (there bool, err error) {
	f, err := vfs.Disk{}.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil || size == 0 { // it is about to be made
		return false, err
	}
	h, err := heads(f)
	if err != nil {
		return false, err
	}
	t := tree{file: f, pageBytes: uint64(h.pageBytes), end: h.end, seen: make(map[uint64]bool)}
	return true, t.check(h.root, nil, nil)
}

// heads looks at both heads, and returns the newer one. Bolt is content with one: then the last transaction is forgotten, in which there may have
// been a vote. A head is smaller than what a disk writes at once, so that none is torn in a power cut.
func heads(f vfs.File) (head, error) {
	var all [2]head
	b := make([]byte, headBytes)
	for i := range all {
		if _, err := f.ReadAt(b, int64(i)*int64(all[0].pageBytes)+headAt); err != nil {
			return head{}, errors.Join(ErrDamaged, err)
		}
		if all[i] = parseHead(b); !all[i].valid {
			return head{}, fmt.Errorf("head %d: checksum does not match: %w", i+1, ErrDamaged)
		}
	}
	switch all[0].transaction - all[1].transaction {
	case 1:
		return all[0], nil
	case ^uint64(0):
		return all[1], nil
	}
	return head{}, fmt.Errorf("the heads are of transactions %d and %d: %w", all[0].transaction, all[1].transaction, ErrDamaged)
}

// walk reads a bucket. The entries of a log follow one another, and values belong to their keys: one whose key is another is missing
// where it should be, and nobody would know.
func walk(name string, b *bbolt.Bucket) error {
	sum, next := byte(0), uint64(0)
	return b.ForEach(func(key, value []byte) error {
		for _, c := range value {
			sum ^= c // so that each page of it is touched
		}
		if name == values {
			_, err := unseal(key, value)
			return err
		}
		if name != logs {
			return nil
		}
		if len(key) != 8 || next != 0 && binary.BigEndian.Uint64(key) != next {
			return fmt.Errorf("an entry has the key %x where %d was due: %w", key, next, ErrDamaged)
		}
		next = binary.BigEndian.Uint64(key) + 1
		return nil
	})
}
