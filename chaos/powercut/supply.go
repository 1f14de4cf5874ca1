package powercut

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"runnel/cluster/meta"
	"runnel/cluster/meta/metatest"
	"runnel/jetlog/vfs"
)

// ErrNoPower is what everything fails with that is done to a disk without power.
var ErrNoPower = errors.New("the power is off")

// Supply is the power of one server: of its disk, and of the log of its meta group, which is kept apart. It is on from the
// beginning and goes off once. Many goroutines may use it.
type Supply struct {
	disk *vfs.Memory
	log  *metatest.Store

	alarm atomic.Pointer[alarm] // nil: for no point

	mu   sync.RWMutex // held by whoever does something to the disk; guards off
	off  bool
	dark chan struct{} // closed when it goes off
}

// NewSupply returns one with an empty disk.
func NewSupply() *Supply { return newSupply(vfs.NewMemory(), &metatest.Store{}) }

func newSupply(disk *vfs.Memory, log *metatest.Store) *Supply {
	return &Supply{disk: disk, log: log, dark: make(chan struct{})}
}

// do does something to the disk, or fails with ErrNoPower. It has been done wholly when the power goes off, or not at all.
func (s *Supply) do(f func() error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.off {
		return ErrNoPower
	}
	return f()
}

// Cut turns supplies off, all at the same instant, and returns one for each with what is left on the disks: choose is asked for
// each in turn. Who has no power already gets the same again only by chance.
func Cut(choose func(i int) vfs.Choice, supplies ...*Supply) []*Supply {
	for _, s := range supplies {
		s.mu.Lock()
	}
	left := make([]*Supply, len(supplies))
	for i, s := range supplies {
		if !s.off {
			close(s.dark)
		}
		s.off = true
		left[i] = newSupply(s.disk.PowerCut(choose(i)), s.log.Clone())
	}
	for _, s := range supplies {
		s.mu.Unlock()
	}
	return left
}

// FS is the disk.
func (s *Supply) FS() vfs.FS { return disk{s} }

// MetaLog is the log of the meta group, for server.Host. There is one, whatever the directory.
func (s *Supply) MetaLog(string) (meta.Store, error) { return log{s}, nil }

// disk is the disk as the server has it.
type disk struct{ s *Supply }

// get does something that has a result.
func get[T any](s *Supply, f func() (T, error)) (result T, err error) {
	err = s.do(func() error {
		result, err = f()
		return err
	})
	return result, err
}

func (d disk) open(f func(name string) (vfs.File, error), name string) (vfs.File, error) {
	opened, err := get(d.s, func() (vfs.File, error) { return f(name) })
	if err != nil {
		return nil, err
	}
	return file{d.s, opened, name}, nil
}

func (d disk) Create(name string) (made vfs.File, err error) {
	err = d.s.at(Create, name, func() error {
		made, err = d.s.disk.Create(name)
		return err
	})
	if err != nil {
		return nil, err
	}
	return file{d.s, made, name}, nil
}

func (d disk) Open(name string) (vfs.File, error) { return d.open(d.s.disk.Open, name) }

func (d disk) OpenReadWrite(name string) (vfs.File, error) {
	return d.open(d.s.disk.OpenReadWrite, name)
}

func (d disk) Rename(from, to string) error {
	return d.s.at(Rename, to, func() error { return d.s.disk.Rename(from, to) })
}

func (d disk) Remove(name string) error {
	return d.s.at(Remove, name, func() error { return d.s.disk.Remove(name) })
}

func (d disk) MkdirAll(dir string) error {
	return d.s.do(func() error { return d.s.disk.MkdirAll(dir) })
}

func (d disk) SyncDir(dir string) error {
	return d.s.at(SyncDir, dir, func() error { return d.s.disk.SyncDir(dir) })
}

func (d disk) List(dir string) ([]vfs.Entry, error) {
	return get(d.s, func() ([]vfs.Entry, error) { return d.s.disk.List(dir) })
}

func (d disk) Stat(name string) (vfs.Info, error) {
	return get(d.s, func() (vfs.Info, error) { return d.s.disk.Stat(name) })
}

func (d disk) Lock(dir string) (io.Closer, error) {
	return get(d.s, func() (io.Closer, error) { return d.s.disk.Lock(dir) })
}

func (d disk) FreeBytes(dir string) (int64, error) {
	return get(d.s, func() (int64, error) { return d.s.disk.FreeBytes(dir) })
}

// file is an open file.
type file struct {
	s    *Supply
	f    vfs.File
	name string
}

func (f file) ReadAt(b []byte, at int64) (int, error) {
	return get(f.s, func() (int, error) { return f.f.ReadAt(b, at) })
}

func (f file) WriteAt(b []byte, at int64) (n int, err error) {
	err = f.s.at(Write, f.name, func() error {
		n, err = f.f.WriteAt(b, at)
		return err
	})
	return n, err
}

func (f file) Sync() error               { return f.s.at(Sync, f.name, f.f.Sync) }
func (f file) SyncData() error           { return f.s.at(Sync, f.name, f.f.SyncData) }
func (f file) Truncate(size int64) error { return f.s.do(func() error { return f.f.Truncate(size) }) }
func (f file) Size() (int64, error)      { return get(f.s, f.f.Size) }
func (f file) Close() error              { return f.f.Close() } // it does nothing to the disk

// log is the log of the meta group as the server has it.
type log struct{ s *Supply }

func (l log) FirstIndex() (uint64, error) { return get(l.s, l.s.log.FirstIndex) }
func (l log) LastIndex() (uint64, error)  { return get(l.s, l.s.log.LastIndex) }
func (l log) Close() error                { return nil } // it is opened again

func (l log) GetLog(index uint64, out *raft.Log) error {
	return l.s.do(func() error { return l.s.log.GetLog(index, out) })
}

func (l log) StoreLog(entry *raft.Log) error { return l.StoreLogs([]*raft.Log{entry}) }

func (l log) StoreLogs(entries []*raft.Log) error {
	return l.s.at(Decide, "", func() error { return l.s.log.StoreLogs(entries) })
}

func (l log) DeleteRange(first, last uint64) error {
	return l.s.do(func() error { return l.s.log.DeleteRange(first, last) })
}

func (l log) Set(key, value []byte) error {
	return l.s.do(func() error { return l.s.log.Set(key, value) })
}

func (l log) Get(key []byte) ([]byte, error) {
	return get(l.s, func() ([]byte, error) { return l.s.log.Get(key) })
}

func (l log) SetUint64(key []byte, value uint64) error {
	return l.s.do(func() error { return l.s.log.SetUint64(key, value) })
}

func (l log) GetUint64(key []byte) (uint64, error) {
	return get(l.s, func() (uint64, error) { return l.s.log.GetUint64(key) })
}
