package store_test

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"runnel/jetlog/vfs"
)

// rawLog is the least that makes records safe: one buffer that everybody appends to, one goroutine that writes and
// syncs what has come together meanwhile, into files that are filled with zeros and used again. It has no recovery, no
// limits and no errors. It is the control of benchmarks: no log that syncs can cost much less.
type rawLog struct {
	b     testing.TB
	files []vfs.File
	ended chan struct{}

	mu     sync.Mutex // guards everything below
	work   sync.Cond
	buffer []byte
	done   []func()
	closed bool
}

const (
	rawLogHeader   = 28 // checksum, length, group, index, kind, padding
	rawLogFileSize = 64 << 20
)

func newRawLog(b testing.TB) *rawLog {
	b.Helper()
	l := &rawLog{b: b, ended: make(chan struct{})}
	l.work.L = &l.mu
	dir := b.TempDir()
	for _, name := range []string{"1", "2"} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, rawLogFileSize), 0o600); err != nil {
			b.Fatal(err)
		}
		f, err := vfs.Disk{}.OpenReadWrite(filepath.Join(dir, name))
		if err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
		l.files = append(l.files, f)
	}
	go l.run()
	return l
}

// append adds a record; done is called by the goroutine that writes once it is safe.
func (l *rawLog) append(group, index uint64, payload []byte, done func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	from := len(l.buffer)
	var header [rawLogHeader]byte
	binary.LittleEndian.PutUint32(header[4:], uint32(len(payload)))
	binary.LittleEndian.PutUint64(header[8:], group)
	binary.LittleEndian.PutUint64(header[16:], index)
	l.buffer = append(append(l.buffer, header[:]...), payload...)
	checksum := crc32.Checksum(l.buffer[from+4:], castagnoli)
	binary.LittleEndian.PutUint32(l.buffer[from:], checksum)
	l.done = append(l.done, done)
	if len(l.done) == 1 {
		l.work.Signal()
	}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (l *rawLog) run() {
	defer close(l.ended)
	var buffer []byte
	var done []func()
	file, at := 0, int64(0)
	for l.take(&buffer, &done) {
		if at+int64(len(buffer)) > rawLogFileSize {
			file, at = 1-file, 0
		}
		if _, err := l.files[file].WriteAt(buffer, at); err != nil {
			l.b.Error(err)
		}
		if err := l.files[file].SyncData(); err != nil {
			l.b.Error(err)
		}
		at += int64(len(buffer))
		for i, f := range done {
			f()
			done[i] = nil
		}
	}
}

// take exchanges empty buffers for full ones. It is false at the end.
func (l *rawLog) take(buffer *[]byte, done *[]func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.done) == 0 && !l.closed {
		l.work.Wait()
	}
	l.buffer, *buffer = (*buffer)[:0], l.buffer
	l.done, *done = (*done)[:0], l.done
	return len(*done) > 0
}

func (l *rawLog) close() {
	l.mu.Lock()
	l.closed = true
	l.work.Signal()
	l.mu.Unlock()
	<-l.ended
	for _, f := range l.files {
		if err := f.Close(); err != nil {
			l.b.Error(err)
		}
	}
}
