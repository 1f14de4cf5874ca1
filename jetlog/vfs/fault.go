package vfs

import (
	"path/filepath"
	"sync"
	"syscall"
)

// Fault is a file system around another whose operations fail as it is told. Make one with NewFault;
// until told otherwise it fails nothing.
//
// A write that fails has written its first half. A sync that fails leaves the file looking clean,
// where the file system below can show that (Memory): later syncs succeed and what was written before is
// still not safe.
type Fault struct {
	wrapper

	mu       sync.Mutex // guards everything below
	rules    []*Rule
	flips    []flip
	failed   int
	readOnly bool
	scarce   bool  // room counts
	room     int64 // bytes that files may still grow
}

// Rule says which operations fail. The zero value lets the very next one fail, with EIO, once.
type Rule struct {
	Kinds Kind   // the kinds it is about; 0 means all
	Name  string // pattern of the last element of the name (filepath.Match); empty means any
	After int    // so many of these operations still succeed
	Times int    // so many fail then; 0 means one, a negative number all
	Err   error  // what they fail with; nil means EIO
}

// flip is a bit that the disk has lost.
type flip struct {
	name   string
	offset int64
	mask   byte
}

// NewFault returns a file system around another.
func NewFault(fs FS) *Fault {
	f := &Fault{wrapper: wrapper{fs: fs}}
	f.before, f.read = f.judge, f.flip
	return f
}

// Fail adds a rule. Rules count for themselves; the first that applies decides.
func (f *Fault) Fail(r Rule) {
	if r.Kinds == 0 {
		r.Kinds = OpsAll
	}
	if r.Times == 0 {
		r.Times = 1
	}
	if r.Err == nil {
		r.Err = syscall.EIO
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = append(f.rules, &r)
}

// Flip lets reads of the byte at offset, in files whose last element of the name matches, find the bits
// in mask inverted.
func (f *Fault) Flip(name string, offset int64, mask byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.flips = append(f.flips, flip{name: name, offset: offset, mask: mask})
}

// SetRoom lets files grow by so many bytes altogether before there is no space. Writing in place needs
// none; removing and cutting files gives theirs back. Each file counts with its length, whatever it holds.
func (f *Fault) SetRoom(bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.scarce, f.room = true, bytes
}

// SetReadOnly lets everything that changes something fail with EROFS, or no longer.
func (f *Fault) SetReadOnly(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readOnly = on
}

// Heal ends all faults.
func (f *Fault) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules, f.flips, f.readOnly, f.scarce = nil, nil, false, false
}

// Failed is how many operations were made to fail so far.
func (f *Fault) Failed() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

// judge decides whether an operation fails.
func (f *Fault) judge(op Op, file File) (part int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if part, err = f.refuse(op, file); err != nil {
		f.failed++
		return part, pathError(op.Kind.String(), op.Name, err)
	}
	return 0, nil
}

func (f *Fault) refuse(op Op, file File) (part int, err error) {
	for _, r := range f.rules {
		if r.Kinds&op.Kind == 0 || !matches(r.Name, op.Name) {
			continue
		}
		if r.After > 0 {
			r.After--
			continue
		}
		if r.Times != 0 {
			r.Times--
			return op.Bytes / 2, r.Err
		}
	}
	if f.readOnly && op.Kind&(OpsWrite|OpOpenReadWrite|OpLock) != 0 {
		return 0, syscall.EROFS
	}
	if f.scarce {
		return f.take(op, file)
	}
	return 0, nil
}

// take counts the room that an operation needs or gives back.
func (f *Fault) take(op Op, file File) (part int, err error) {
	var now, then int64 // length of the file before and after
	switch op.Kind {
	case OpWriteAt:
		then = op.Offset + int64(op.Bytes)
	case OpTruncate:
		then = op.Offset
	case OpCreate, OpRemove:
		if info, err := f.fs.Stat(op.Name); err == nil {
			now = info.Bytes
		}
	default:
		return 0, nil
	}
	if file != nil {
		if now, err = file.Size(); err != nil {
			return 0, err
		}
	}
	if op.Kind == OpWriteAt {
		then = max(now, then)
	}
	if grows := then - now; grows > f.room {
		part = op.Bytes - int(min(grows-f.room, int64(op.Bytes)))
		if part > 0 {
			f.room -= max(0, op.Offset+int64(part)-now)
		}
		return part, syscall.ENOSPC
	}
	f.room -= then - now
	return 0, nil
}

// FreeBytes implements FS: it knows about SetRoom.
func (f *Fault) FreeBytes(dir string) (int64, error) {
	n, err := f.wrapper.FreeBytes(dir)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil && f.scarce {
		n = min(n, f.room)
	}
	return n, err
}

// flip changes what was read.
func (f *Fault) flip(op Op, b []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, x := range f.flips {
		if at := x.offset - op.Offset; at >= 0 && at < int64(len(b)) && matches(x.name, op.Name) {
			b[at] ^= x.mask
		}
	}
}

// matches reports whether a pattern, if there is one, matches the last element of a name.
func matches(pattern, name string) bool {
	if pattern == "" {
		return true
	}
	ok, err := filepath.Match(pattern, filepath.Base(name))
	return ok && err == nil
}
