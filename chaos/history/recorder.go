package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

const (
	// waitingMax is how many operations wait for the file at most; whoever records more waits too.
	waitingMax = 4096
	// writeBytes is how much is written to the file at once.
	writeBytes = 256 << 10
	// flushEvery is how long an operation stays in the buffer at most.
	flushEvery = time.Second
)

// Recorder writes the operations of a run to a file while they happen. Its memory is bounded. All methods
// may be called from many goroutines at the same time.
//
// One goroutine owns the file. The first error of writing ends the writing, not the run: what is recorded
// after it is counted, and Close tells both.
type Recorder struct {
	start   time.Time
	waiting chan Operation
	done    chan struct{} // closed when the goroutine has gone

	mu     sync.RWMutex // guards closed; held while sending, so that nothing is sent after Close
	closed bool

	err error // what the goroutine left; read after done
}

// Create makes a recorder that writes to the file at path, and empties that if it exists. The run begins now.
func Create(path string) (*Recorder, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("create the history: %w", err)
	}
	return NewRecorder(f), nil
}

// NewRecorder makes a recorder that writes to w and closes it in the end. The run begins now.
func NewRecorder(w io.WriteCloser) *Recorder {
	r := &Recorder{start: time.Now(), waiting: make(chan Operation, waitingMax), done: make(chan struct{})}
	go r.write(w)
	return r
}

// Now is the time since the run began, by the monotonic clock: what Start and End of operations are told in.
func (r *Recorder) Now() time.Duration { return time.Since(r.start) }

// Record adds an operation. It returns when there is room for it, which is at once unless the file is slow.
// After Close it does nothing: what happens then is no part of the run any more.
func (r *Recorder) Record(o Operation) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if !r.closed {
		r.waiting <- o
	}
}

// Close writes what was recorded and closes the file. It tells the first error of writing and how many
// operations are missing in the file because of it. Later calls tell the same.
func (r *Recorder) Close() error {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		close(r.waiting)
	}
	r.mu.Unlock()
	<-r.done
	return r.err
}

// write is the goroutine that owns the file.
func (r *Recorder) write(w io.WriteCloser) {
	defer close(r.done)
	buffer := bufio.NewWriterSize(w, writeBytes)
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	var failed error
	lost := 0
	for open := true; open; {
		var o Operation
		select {
		case o, open = <-r.waiting:
			if !open {
				break
			}
			if failed == nil {
				failed = writeLine(buffer, &o)
			}
			if failed != nil {
				lost++
			}
		case <-tick.C:
			if failed == nil {
				failed = buffer.Flush()
			}
		}
	}
	if failed == nil {
		failed = buffer.Flush()
	}
	if failed != nil {
		failed = fmt.Errorf("write the history: %w (%d operations and what was buffered are missing in it)", failed, lost)
	}
	r.err = errors.Join(failed, w.Close())
}

// writeLine adds an operation to the buffer. An operation that cannot be read back is refused here, where
// it is known who made it.
func writeLine(w *bufio.Writer, o *Operation) error {
	if err := o.valid(); err != nil {
		return fmt.Errorf("%s by process %d: %w", o.Kind, o.Process, err)
	}
	line, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("%s by process %d: %w", o.Kind, o.Process, err)
	}
	if len(line) > lineBytesMax {
		return fmt.Errorf("%s by process %d: a line of %d bytes is longer than %d", o.Kind, o.Process, len(line), lineBytesMax)
	}
	if _, err := w.Write(line); err != nil {
		return err
	}
	return w.WriteByte('\n')
}
