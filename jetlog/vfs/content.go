package vfs

import (
	"fmt"
	"io"
	"io/fs"
	"syscall"
)

// pageBytes is the unit in which a system writes back what it caches; sectorBytes the one in which a
// device writes.
const (
	pageBytes   = 4096
	sectorBytes = 512
)

// versionsMax bounds what is remembered of a page that is written again and again without a sync. The
// oldest unsafe versions are forgotten first; a power cut then has fewer states to choose from.
const versionsMax = 8

// pageData is one version of a page. It never changes, so that copies of the file system share it; nil
// is a page of zeros.
type pageData *[pageBytes]byte

// page is a page of a file. versions[0] is safe, the last one is what readers see; each of the others
// was seen once and may have been written back. Without versions it is zeros, and safe.
type page struct {
	versions []pageData
	dirty    bool // the next sync makes the last version safe
}

// content is what is in a file. It belongs to the Memory that has the file, under its mutex.
//
// A page with several versions that is not dirty looks clean although it is not safe: a sync failed.
type content struct {
	pages []page
	dirty []int   // the pages marked so
	sizes []int64 // as versions of a page: the first is safe, the last is seen

	sizeDirty bool
}

func (c *content) size() int64 { return c.sizes[len(c.sizes)-1] }

func (p *page) last() pageData {
	if len(p.versions) == 0 {
		return nil
	}
	return p.versions[len(p.versions)-1]
}

// write gives page i a new version, with b at offset at.
func (c *content) write(i, at int, b []byte) {
	for len(c.pages) <= i {
		c.pages = append(c.pages, page{})
	}
	p := &c.pages[i]
	var data pageData
	if len(b) < pageBytes || !zeros(b) {
		data = new([pageBytes]byte)
		if old := p.last(); old != nil {
			*data = *old
		}
		copy(data[at:], b)
	}
	if len(p.versions) == 0 {
		if data == nil {
			return
		}
		p.versions = append(p.versions, nil)
	}
	if len(p.versions) > versionsMax {
		p.versions = append(p.versions[:1], p.versions[2:]...)
	}
	p.versions = append(p.versions, data)
	if !p.dirty {
		p.dirty = true
		c.dirty = append(c.dirty, i)
	}
}

func zeros(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

func (c *content) writeAt(b []byte, offset int64) {
	end := offset + int64(len(b))
	for len(b) > 0 {
		at := int(offset % pageBytes)
		n := min(len(b), pageBytes-at)
		c.write(int(offset/pageBytes), at, b[:n])
		b, offset = b[n:], offset+int64(n)
	}
	if end > c.size() {
		c.resize(end)
	}
}

func (c *content) resize(size int64) {
	if len(c.sizes) > versionsMax {
		c.sizes = append(c.sizes[:1], c.sizes[2:]...)
	}
	c.sizes = append(c.sizes, size)
	c.sizeDirty = true
}

// truncate cuts or extends. What lies behind the end of a file is zeros.
func (c *content) truncate(size int64) {
	for offset := size; offset < c.size() && offset < int64(len(c.pages))*pageBytes; {
		at := int(offset % pageBytes)
		if i := int(offset / pageBytes); c.pages[i].last() != nil {
			c.write(i, at, make([]byte, pageBytes-at))
		}
		offset += int64(pageBytes - at)
	}
	if size != c.size() {
		c.resize(size)
	}
}

func (c *content) readAt(b []byte, offset int64) int {
	b = b[:max(0, min(int64(len(b)), c.size()-offset))]
	for done := 0; done < len(b); {
		i, at := int((offset+int64(done))/pageBytes), int((offset+int64(done))%pageBytes)
		part := b[done:min(len(b), done+pageBytes-at)]
		var data pageData
		if i < len(c.pages) {
			data = c.pages[i].last()
		}
		if data == nil {
			clear(part)
		} else {
			copy(part, data[at:])
		}
		done += len(part)
	}
	return len(b)
}

// sync makes safe what is dirty.
func (c *content) sync() {
	for _, i := range c.dirty {
		p := &c.pages[i]
		p.versions, p.dirty = []pageData{p.last()}, false
	}
	c.dirty = c.dirty[:0]
	if c.sizeDirty {
		c.sizes, c.sizeDirty = []int64{c.size()}, false
	}
}

// forget is what a failed sync may do: all looks clean, nothing is safer than it was.
func (c *content) forget() {
	for _, i := range c.dirty {
		c.pages[i].dirty = false
	}
	c.dirty, c.sizeDirty = c.dirty[:0], false
}

// memoryFile is a handle of a file in Memory.
type memoryFile struct {
	fs       *Memory
	node     *node
	name     string
	writable bool
	closed   bool // guarded by fs.mu
}

// use runs do with the file system locked, if the handle is good for it.
func (f *memoryFile) use(op string, writes bool, do func(*content)) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	switch {
	case f.closed:
		return pathError(op, f.name, fs.ErrClosed)
	case writes && !f.writable:
		return pathError(op, f.name, syscall.EBADF)
	}
	do(&f.node.content)
	return nil
}

// ReadAt implements File.
func (f *memoryFile) ReadAt(b []byte, offset int64) (n int, err error) {
	if offset < 0 {
		return 0, pathError("read", f.name, fmt.Errorf("negative offset %d", offset))
	}
	err = f.use("read", false, func(c *content) { n = c.readAt(b, offset) })
	if err == nil && n < len(b) {
		err = io.EOF
	}
	return n, err
}

// WriteAt implements File.
func (f *memoryFile) WriteAt(b []byte, offset int64) (n int, err error) {
	if offset < 0 {
		return 0, pathError("write", f.name, fmt.Errorf("negative offset %d", offset))
	}
	if err := f.use("write", true, func(c *content) { c.writeAt(b, offset) }); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Sync implements File.
func (f *memoryFile) Sync() error { return f.use("sync", false, (*content).sync) }

// SyncData implements File.
func (f *memoryFile) SyncData() error { return f.use("sync", false, (*content).sync) }

// forget lets the file look as after a sync that failed.
func (f *memoryFile) forget() { _ = f.use("sync", false, (*content).forget) }

// Truncate implements File.
func (f *memoryFile) Truncate(size int64) error {
	if size < 0 {
		return pathError("truncate", f.name, fmt.Errorf("negative size %d", size))
	}
	return f.use("truncate", true, func(c *content) { c.truncate(size) })
}

// Size implements File.
func (f *memoryFile) Size() (size int64, err error) {
	err = f.use("stat", false, func(c *content) { size = c.size() })
	return size, err
}

// Close implements File.
func (f *memoryFile) Close() error {
	return f.use("close", false, func(*content) { f.closed = true })
}
