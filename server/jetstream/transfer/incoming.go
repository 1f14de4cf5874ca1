package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"runnel/server/accounts"
	"runnel/server/engine"
)

const (
	// waitingMessages and waitingBytes bound the chunks that wait to be read. A client sends the next when it has the
	// answer to the one before, or a few ahead.
	waitingMessages, waitingBytes = 128, 16 << 20
	// headBytes bounds what is kept until it is known which form the backup has.
	headBytes = 16 << 20
	// spoolPattern is how files for backups are called that have to be read twice.
	spoolPattern = "restore-*"
)

var (
	errStalled   = errors.New("no chunk of the backup came for 5 s")
	errOverrun   = errors.New("chunks of the backup came faster than they can be taken: wait for the answer to each")
	errSpoolFull = errors.New("the backup has more bytes than the account may store")
)

// Incoming is a backup as it comes in, chunk by chunk, as an io.ReadSeeker for one goroutine. Each chunk is answered
// when it is read, so the client goes on as fast as the stream takes it. Only if somebody seeks, the backup is
// written to a file first.
type Incoming struct {
	stream  string
	account *accounts.Account
	out     Outlet
	ctx     context.Context // ends with the account
	dir     string
	most    int64 // bytes that may be written to the file

	head     bytes.Buffer // all that was read, until it is known that nobody seeks
	keeping  bool
	left     []byte // of the last chunk
	received int64
	last     *engine.Message // the one that says it is the end; its answer comes when the stream is there
	file     *os.File        // nil until somebody seeks

	chunks chan *engine.Message

	mu      sync.Mutex // guards everything below
	waiting int        // bytes in chunks
	overrun bool
}

// NewIncoming returns what reads the backup of a stream. If it has to be read twice, it goes into a file in dir meanwhile,
// in the folder of the system for such files if that is empty; the file has not more than most bytes.
func NewIncoming(stream string, a *accounts.Account, dir string, most int64) *Incoming {
	return &Incoming{
		stream: stream, account: a, dir: dir, most: most,
		keeping: true, chunks: make(chan *engine.Message, waitingMessages),
	}
}

// Use gives it what it answers with. It is called by who reads, before anything else.
func (i *Incoming) Use(out Outlet) { i.out = out }

// offer files a chunk. It is called on the worker of who sends it.
func (i *Incoming) offer(m *engine.Message) {
	i.mu.Lock()
	defer i.mu.Unlock()
	n := len(m.Payload)
	if i.overrun || i.waiting > 0 && i.waiting+n > waitingBytes {
		i.overrun = true
		return
	}
	select {
	case i.chunks <- m:
		i.waiting += n
	default:
		i.overrun = true
	}
}

// took notes that a chunk is read, and tells whether one was lost.
func (i *Incoming) took(bytes int) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.waiting -= bytes
	if i.overrun {
		return errOverrun
	}
	return nil
}

// receive waits for a chunk; io.EOF says that it was the last.
func (i *Incoming) receive() ([]byte, error) {
	if i.last != nil {
		return nil, io.EOF
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case m := <-i.chunks:
		if err := i.took(len(m.Payload)); err != nil {
			return nil, err
		}
		if len(m.Payload) == 0 {
			i.last = m
			return nil, io.EOF
		}
		i.received += int64(len(m.Payload))
		i.reply(m, nil)
		return m.Payload, nil
	case <-timer.C:
		return nil, errStalled
	case <-i.ctx.Done():
		return nil, ErrEnding
	}
}

// reply answers a chunk: with nothing, if it is accepted.
func (i *Incoming) reply(m *engine.Message, answer []byte) {
	if len(m.Reply) == 0 {
		return
	}
	i.out.Publish(i.account, string(m.Reply), "", nil, answer)
	i.out.Flush()
}

// Read reads on.
func (i *Incoming) Read(p []byte) (int, error) {
	if i.file != nil {
		return i.file.Read(p)
	}
	if len(i.left) == 0 {
		chunk, err := i.receive()
		if err != nil {
			return 0, err
		}
		i.left = chunk
	}
	n := copy(p, i.left)
	i.left = i.left[n:]
	if i.keeping {
		if i.head.Len()+n > headBytes {
			return 0, fmt.Errorf("nothing was found in the first %d bytes", headBytes)
		}
		i.head.Write(p[:n])
	}
	return n, nil
}

// Seek goes back to the beginning, which is all that it can do. The first time it waits until the whole backup is
// in a file.
func (i *Incoming) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekStart {
		return 0, errors.New("a backup is read from the beginning only")
	}
	if i.file == nil {
		if err := i.spool(); err != nil {
			return 0, err
		}
	}
	return i.file.Seek(0, io.SeekStart)
}

// spool writes the backup to a file.
func (i *Incoming) spool() error {
	if !i.keeping {
		return errors.New("the beginning of the backup is not known any more")
	}
	f, err := os.CreateTemp(i.dir, spoolPattern)
	if err != nil {
		return fmt.Errorf("keep the backup: %w", err)
	}
	i.file = f
	// Where a file can be without a name, nothing of it is left whatever happens.
	_ = os.Remove(f.Name())
	i.keeping = false
	for _, part := range [][]byte{i.head.Bytes(), i.left} {
		if _, err := f.Write(part); err != nil {
			return fmt.Errorf("keep the backup: %w", err)
		}
	}
	i.head, i.left = bytes.Buffer{}, nil
	for {
		chunk, err := i.receive()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case i.received > i.most:
			return errSpoolFull
		}
		if _, err := f.Write(chunk); err != nil {
			return fmt.Errorf("keep the backup: %w", err)
		}
	}
}

// Settled forgets the beginning: nobody seeks any more.
func (i *Incoming) Settled() {
	i.keeping, i.head = false, bytes.Buffer{}
}

// Fail tells whoever sends chunks that it is of no use, until nobody does any more.
func (i *Incoming) Fail(answer []byte) {
	if i.last != nil {
		i.reply(i.last, answer)
		return
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case m := <-i.chunks:
			_ = i.took(len(m.Payload)) // the restore has failed already
			i.reply(m, answer)
			if len(m.Payload) == 0 {
				return
			}
			timer.Reset(patience)
		case <-timer.C:
			return
		case <-i.ctx.Done():
			return
		}
	}
}

// Accept answers the end of the backup, once it was read to that.
func (i *Incoming) Accept(answer []byte) {
	if i.last != nil {
		i.reply(i.last, answer)
	}
}

// Received is how many bytes have come.
func (i *Incoming) Received() int64 { return i.received }

// Close lets go of the file.
func (i *Incoming) Close() error {
	if i.file == nil {
		return nil
	}
	_ = os.Remove(i.file.Name()) // where that was not possible before
	return i.file.Close()
}

// Sweep removes the files that a former run has left in a folder.
func Sweep(dir string) error {
	if dir == "" {
		return nil
	}
	names, err := filepath.Glob(filepath.Join(dir, spoolPattern))
	if err != nil {
		return fmt.Errorf("look for old files in %s: %w", dir, err)
	}
	for _, name := range names {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}
