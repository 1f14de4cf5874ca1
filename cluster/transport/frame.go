package transport

import "github.com/hashicorp/raft"

// newFrame is an empty frame, with memory of one that was written before.
func (t *Transport) newFrame(bytes int) *frame {
	f, _ := t.frames.Get().(*frame)
	if f == nil {
		f = &frame{}
	}
	f.bytes = bytes
	return f
}

// release takes back a frame that was written.
func (t *Transport) release(f *frame) {
	clear(f.bufs)
	f.bufs = f.bufs[:0]
	if cap(f.mem) <= chunkBytes+1<<10 {
		t.frames.Put(f)
	}
}

// fill makes it a frame whose body is what put appends and data, which is not copied.
func (f *frame) fill(k kind, bytes int, data []byte, put func([]byte) []byte) {
	f.mem = put(openFrame(f.mem[:0], k))
	sealFrame(f.mem, 0, len(data))
	f.bufs = append(f.bufs, f.mem)
	if len(data) > 0 {
		f.bufs = append(f.bufs, data)
	}
	f.bytes = bytes
}

// entryMemory is how many bytes of the frame an entry takes that are not written from where they are.
func entryMemory(e *raft.Log) int {
	n := entryHeadBytes
	for _, data := range [][]byte{e.Data, e.Extensions} {
		if len(data) <= copyBytes {
			n += len(data)
		}
	}
	return n
}

// fillAppend makes it a frame with entries, whose larger data is not copied.
func (f *frame) fillAppend(h *appendHead, entries []*raft.Log) {
	memory := headBytes + appendHeadBytes
	for _, e := range entries {
		memory += entryMemory(e)
	}
	if cap(f.mem) < memory {
		f.mem = make([]byte, 0, memory)
	}
	b := putAppendHead(openFrame(f.mem[:0], kindAppend), h, len(entries))
	from, outside := 0, 0 // from is where the memory begins that is not in bufs yet
	for _, e := range entries {
		b = putEntryHead(b, e)
		for _, data := range [][]byte{e.Data, e.Extensions} {
			if len(data) <= copyBytes {
				b = append(b, data...)
				continue
			}
			f.bufs = append(f.bufs, b[from:], data)
			from, outside = len(b), outside+len(data)
		}
	}
	if from < len(b) {
		f.bufs = append(f.bufs, b[from:])
	}
	sealFrame(b, 0, outside)
	f.mem = b
}
