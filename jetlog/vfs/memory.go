package vfs

import (
	"io"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// Memory is a file system in memory that knows what is safe and what is not, and so can show what a
// power cut (PowerCut) or the end of the process (Kill) leaves behind. Make one with NewMemory.
type Memory struct {
	mu    sync.Mutex // guards everything below, all nodes and their contents included
	root  *node
	locks map[*node]bool // directories that are claimed
}

// node is a file or a directory. It lives on without a name while a handle or an older state of a
// directory refers to it.
type node struct {
	content // of a file

	dir     bool
	names   map[string]*node // as every reader sees them
	safe    map[string]*node // as of the last SyncDir
	pending []naming         // what leads from safe to names, oldest first
}

// naming is the part of a change that concerns one name: it then stands for the node, or for nothing.
type naming struct {
	of   *change
	name string
	node *node
}

// change is one operation on names. A power cut undoes it as a whole, apart from what is safe already:
// of a rename between two directories one half may be.
type change struct{ _ byte } // not empty: each one needs an address of its own

// NewMemory returns an empty file system.
func NewMemory() *Memory { return &Memory{root: newDir(), locks: map[*node]bool{}} }

func newDir() *node {
	return &node{dir: true, names: map[string]*node{}, safe: map[string]*node{}}
}

// set lets name stand for another node (nil: for nothing) in directory n, as part of c.
func (n *node) set(c *change, name string, other *node) {
	if other == nil {
		delete(n.names, name)
	} else {
		n.names[name] = other
	}
	n.pending = append(n.pending, naming{of: c, name: name, node: other})
}

func pathError(op, name string, err error) error {
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// split returns the elements of a path.
func split(name string) []string {
	name = strings.Trim(filepath.ToSlash(filepath.Clean(name)), "/")
	if name == "." || name == "" {
		return nil
	}
	return strings.Split(name, "/")
}

// find returns the node of a path, or nil.
func (m *Memory) find(elements []string) *node {
	n := m.root
	for _, e := range elements {
		if !n.dir || n.names[e] == nil {
			return nil
		}
		n = n.names[e]
	}
	return n
}

// place returns the directory that name is in and its last element.
func (m *Memory) place(op, name string) (dir *node, last string, err error) {
	elements := split(name)
	if len(elements) == 0 {
		return nil, "", pathError(op, name, syscall.EINVAL)
	}
	dir = m.find(elements[:len(elements)-1])
	if dir == nil || !dir.dir {
		return nil, "", pathError(op, name, fs.ErrNotExist)
	}
	return dir, elements[len(elements)-1], nil
}

// findDir returns a directory that must exist.
func (m *Memory) findDir(op, name string) (*node, error) {
	switch n := m.find(split(name)); {
	case n == nil:
		return nil, pathError(op, name, fs.ErrNotExist)
	case !n.dir:
		return nil, pathError(op, name, syscall.ENOTDIR)
	default:
		return n, nil
	}
}

// Create implements FS.
func (m *Memory) Create(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.create(name)
}

func (m *Memory) create(name string) (File, error) {
	dir, last, err := m.place("open", name)
	if err != nil {
		return nil, err
	}
	n := dir.names[last]
	switch {
	case n == nil:
		n = &node{content: content{sizes: []int64{0}}}
		dir.set(&change{}, last, n)
	case n.dir:
		return nil, pathError("open", name, syscall.EISDIR)
	default:
		n.truncate(0)
	}
	return &memoryFile{fs: m, node: n, name: name, writable: true}, nil
}

// Open implements FS.
func (m *Memory) Open(name string) (File, error) { return m.open(name, false) }

// OpenReadWrite implements FS.
func (m *Memory) OpenReadWrite(name string) (File, error) { return m.open(name, true) }

func (m *Memory) open(name string, writable bool) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch n := m.find(split(name)); {
	case n == nil:
		return nil, pathError("open", name, fs.ErrNotExist)
	case n.dir:
		return nil, pathError("open", name, syscall.EISDIR)
	default:
		return &memoryFile{fs: m, node: n, name: name, writable: writable}, nil
	}
}

// Rename implements FS.
func (m *Memory) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	fromDir, fromName, err := m.place("rename", from)
	if err != nil {
		return err
	}
	toDir, toName, err := m.place("rename", to)
	if err != nil {
		return err
	}
	n, old := fromDir.names[fromName], toDir.names[toName]
	switch {
	case n == nil:
		return pathError("rename", from, fs.ErrNotExist)
	case n == old:
		return nil
	case n.dir && m.holds(n, toDir):
		return pathError("rename", to, syscall.EINVAL)
	case old != nil && (n.dir || old.dir):
		return pathError("rename", to, fs.ErrExist)
	}
	c := &change{}
	toDir.set(c, toName, n)
	fromDir.set(c, fromName, nil)
	return nil
}

// holds reports whether inner is dir or somewhere below it.
func (m *Memory) holds(dir, inner *node) bool {
	if dir == inner {
		return true
	}
	for _, n := range dir.names {
		if n.dir && m.holds(n, inner) {
			return true
		}
	}
	return false
}

// Remove implements FS.
func (m *Memory) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, last, err := m.place("remove", name)
	if err != nil {
		return err
	}
	n := dir.names[last]
	switch {
	case n == nil:
		return pathError("remove", name, fs.ErrNotExist)
	case n.dir && len(n.names) > 0:
		return pathError("remove", name, syscall.ENOTEMPTY)
	}
	dir.set(&change{}, last, nil)
	return nil
}

// MkdirAll implements FS.
func (m *Memory) MkdirAll(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.root
	for _, e := range split(dir) {
		next := n.names[e]
		if next == nil {
			next = newDir()
			n.set(&change{}, e, next)
		}
		if !next.dir {
			return pathError("mkdir", dir, syscall.ENOTDIR)
		}
		n = next
	}
	return nil
}

// List implements FS.
func (m *Memory) List(dir string) ([]Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.findDir("open", dir)
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, 0, len(n.names))
	for _, name := range slices.Sorted(maps.Keys(n.names)) {
		entries = append(entries, Entry{Name: name, Dir: n.names[name].dir})
	}
	return entries, nil
}

// Stat implements FS.
func (m *Memory) Stat(name string) (Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch n := m.find(split(name)); {
	case n == nil:
		return Info{}, pathError("stat", name, fs.ErrNotExist)
	case n.dir:
		return Info{Dir: true}, nil
	default:
		return Info{Bytes: n.size()}, nil
	}
}

// SyncDir implements FS.
func (m *Memory) SyncDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.findDir("sync", dir)
	if err != nil {
		return err
	}
	n.safe, n.pending = maps.Clone(n.names), nil
	return nil
}

// Lock implements FS. The result of PowerCut and Kill has no locks.
func (m *Memory) Lock(dir string) (io.Closer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.findDir("lock", dir)
	if err != nil {
		return nil, err
	}
	if m.locks[n] {
		return nil, pathError("lock", dir, ErrLocked)
	}
	if n.names[lockName] == nil {
		if _, err := m.create(filepath.Join(dir, lockName)); err != nil {
			return nil, err
		}
	}
	m.locks[n] = true
	return &memoryLock{fs: m, dir: n}, nil
}

type memoryLock struct {
	fs   *Memory
	dir  *node
	once sync.Once
}

// Close gives the directory back.
func (l *memoryLock) Close() error {
	l.once.Do(func() {
		l.fs.mu.Lock()
		defer l.fs.mu.Unlock()
		delete(l.fs.locks, l.dir)
	})
	return nil
}

// FreeBytes implements FS: there is always room. Fault makes it scarce.
func (m *Memory) FreeBytes(dir string) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.findDir("free space of", dir); err != nil {
		return 0, err
	}
	return math.MaxInt64, nil
}
