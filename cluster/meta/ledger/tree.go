package ledger

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"runnel/jetlog/vfs"
)

// tree reads the pages of a database. Bolt does that too when it looks for those that are free, but in a goroutine that ends the process
// if the keys of a page are not those between which it stands.
//
// A page begins with its number (8), flags (2), how many elements it has (2) and how many pages more it takes (4). Then the elements
// stand, 16 bytes each: of a branch where the key is, from the element on (4), how long it is (4), and the page below (8); of a leaf flags (4),
// where the key is (4), how long it (4) and the value behind it (4) are.
type tree struct {
	file      vfs.File
	pageBytes uint64
	end       uint64 // pages from there on are not used
	seen      map[uint64]bool
}

const (
	pageHeadBytes = 16
	elementBytes  = 16

	branchPage = 1
	leafPage   = 2
	leafBucket = 1 // flag of an element: its value begins with the root of a bucket, or with 0 if the bucket is in the value
)

// page reads a page, which nobody has read before.
func (t *tree) page(id uint64) ([]byte, error) {
	head := make([]byte, pageHeadBytes)
	if id >= t.end {
		return nil, fmt.Errorf("page %d is behind the end: %w", id, ErrDamaged)
	}
	if _, err := t.file.ReadAt(head, int64(id*t.pageBytes)); err != nil {
		return nil, fmt.Errorf("page %d: %w: %w", id, ErrDamaged, err)
	}
	more := uint64(binary.NativeEndian.Uint32(head[12:]))
	for i := id; i <= id+more; i++ {
		if i < 2 || i >= t.end || t.seen[i] {
			return nil, fmt.Errorf("page %d, of %d more, has page %d, which is behind the end or has other things: %w", id, more, i, ErrDamaged)
		}
		t.seen[i] = true
	}
	b := make([]byte, (more+1)*t.pageBytes)
	if _, err := t.file.ReadAt(b, int64(id*t.pageBytes)); err != nil {
		return nil, fmt.Errorf("page %d: %w: %w", id, ErrDamaged, err)
	}
	return b, nil
}

// part is a part of a page, nil if it is not in it.
func part(page []byte, at, length uint64) []byte {
	if at+length > uint64(len(page)) {
		return nil
	}
	return page[at : at+length : at+length]
}

// check reads a page and all below it. Its keys ascend, are not before from, and before to unless that is nil.
func (t *tree) check(id uint64, from, to []byte) error {
	page, err := t.page(id)
	if err != nil {
		return err
	}
	kind, count := binary.NativeEndian.Uint16(page[8:]), uint64(binary.NativeEndian.Uint16(page[10:]))
	if kind != branchPage && kind != leafPage || pageHeadBytes+count*elementBytes > uint64(len(page)) {
		return fmt.Errorf("page %d has the flags %#x and %d elements: %w", id, kind, count, ErrDamaged)
	}
	var keys [][]byte
	for i := range count {
		key := keyOf(page, kind, i)
		if key == nil || bytes.Compare(key, from) < 0 || i > 0 && bytes.Equal(key, from) || to != nil && bytes.Compare(key, to) >= 0 {
			return fmt.Errorf("page %d, element %d: key %x is not between %x and %x: %w", id, i, key, from, to, ErrDamaged)
		}
		keys, from = append(keys, key), key
	}
	for i := range count {
		next := to
		if i+1 < count {
			next = keys[i+1]
		}
		if err := t.below(page, kind, i, keys[i], next); err != nil {
			return err
		}
	}
	return nil
}

// keyOf is the key of an element, nil if it is not in the page.
func keyOf(page []byte, kind uint16, i uint64) []byte {
	at := pageHeadBytes + i*elementBytes
	where := page[at:]
	if kind == leafPage {
		where = where[4:]
	}
	return part(page, at+uint64(binary.NativeEndian.Uint32(where)), uint64(binary.NativeEndian.Uint32(where[4:])))
}

// below reads what an element has below it, whose keys are from its own to next.
func (t *tree) below(page []byte, kind uint16, i uint64, key, next []byte) error {
	at := pageHeadBytes + i*elementBytes
	element := page[at : at+elementBytes]
	if kind == branchPage {
		return t.check(binary.NativeEndian.Uint64(element[8:]), key, next)
	}
	size := uint64(binary.NativeEndian.Uint32(element[12:]))
	value := part(page, at+uint64(binary.NativeEndian.Uint32(element[4:]))+uint64(len(key)), size)
	if value == nil {
		return fmt.Errorf("value of key %x has %d bytes, which are not all in its page: %w", key, size, ErrDamaged)
	}
	if binary.NativeEndian.Uint32(element)&leafBucket == 0 {
		return nil
	}
	if size < 8 {
		return fmt.Errorf("bucket %x has %d bytes: %w", key, size, ErrDamaged)
	}
	if root := binary.NativeEndian.Uint64(value); root != 0 {
		return t.check(root, nil, nil)
	}
	return nil
}
