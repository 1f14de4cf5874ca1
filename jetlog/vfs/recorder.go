package vfs

import (
	"slices"
	"sync"
)

// Recorder is a file system around another that notes every operation. Make one with NewRecorder.
type Recorder struct {
	wrapper

	mu  sync.Mutex // guards ops
	ops []Op
}

// NewRecorder returns a file system around another. If step is not nil it is called before each
// operation, by the goroutine that asks for it: so a test sees each state that a power cut could meet.
// step must not use the recorder's file system itself, but may use the one below.
func NewRecorder(fs FS, step func(Op)) *Recorder {
	r := &Recorder{wrapper: wrapper{fs: fs}}
	r.before = func(op Op, _ File) (int, error) {
		r.note(op)
		if step != nil {
			step(op)
		}
		return 0, nil
	}
	return r
}

func (r *Recorder) note(op Op) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops = append(r.ops, op)
}

// Ops returns the operations so far, in the order in which they were asked for.
func (r *Recorder) Ops() []Op {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.ops)
}
