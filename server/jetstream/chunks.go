package jetstream

import (
	"context"
	"errors"
	"sync"
	"time"

	"runnel/headers"
	"runnel/server/accounts"
	"runnel/server/jetstream/api"
)

// What may be asked of the chunks of a backup; what is beyond is brought within.
const (
	chunkDefault, chunkLeast, chunkMost    = 128 << 10, 1 << 10, 1 << 20
	windowDefault, windowLeast, windowMost = 8 << 20, 1 << 10, 32 << 20
)

// transferPatience is how long a backup waits for an acknowledgement, and a restore for a chunk.
const transferPatience = 5 * time.Second

// Why a backup ends early, for whoever is to get it.
var (
	errNoInterest = errors.New("nobody listens for the chunks")
	errNoFlow     = errors.New("no chunk was acknowledged for 5 s")
)

// chunks sends a backup in pieces, as an io.Writer for one goroutine. It waits while more than a window is not
// acknowledged.
type chunks struct {
	stream, id string
	account    *accounts.Account
	to         string
	out        Outlet
	window     int
	ctx        context.Context // ends with the account

	piece []byte // is being filled; its capacity is the size of a chunk
	sent  int    // chunks that wanted to be acknowledged

	moved chan struct{} // has one when something was acknowledged

	mu          sync.Mutex // guards outstanding
	outstanding int        // bytes that were sent and not acknowledged
}

func newChunks(stream, id string, a *accounts.Account, q *api.SnapshotRequest) *chunks {
	return &chunks{
		stream: stream, id: id, account: a, to: q.DeliverSubject,
		piece:  make([]byte, 0, within(q.ChunkBytes, chunkDefault, chunkLeast, chunkMost)),
		window: within(q.WindowBytes, windowDefault, windowLeast, windowMost),
		moved:  make(chan struct{}, 1),
	}
}

// within brings a size that somebody asked for between the least and the most; 0 and less is the default.
func within(n, usual, least, most int) int {
	if n <= 0 {
		return usual
	}
	return min(max(n, least), most)
}

// Write sends what is whole, and keeps the rest.
func (c *chunks) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		k := min(cap(c.piece)-len(c.piece), len(p))
		c.piece = append(c.piece, p[:k]...)
		p = p[k:]
		if len(c.piece) < cap(c.piece) {
			continue
		}
		if err := c.send(); err != nil {
			return n - len(p), err
		}
	}
	return n, nil
}

// send sends a whole chunk, once the window has room for it. A window smaller than a chunk lets one through.
func (c *chunks) send() error {
	timer := time.NewTimer(transferPatience)
	defer timer.Stop()
	for !c.room() {
		select {
		case <-c.moved:
			timer.Reset(transferPatience)
		case <-timer.C:
			return errNoFlow
		case <-c.ctx.Done():
			return errEnding
		}
	}
	c.sent++
	return c.publish(api.SnapshotAckSubject(c.stream, c.id, len(c.piece), c.sent))
}

const (
	// listenPatience is how long a backup waits until somebody subscribed to exactly its subject: clients that get
	// the answer to their request by a wildcard do so only then, and would miss the beginning.
	listenPatience = 2 * time.Second
	listenLook     = 5 * time.Millisecond
)

// awaitListener waits until somebody listens for the chunks and nothing else, but not for ever.
func (c *chunks) awaitListener() {
	look, last := time.NewTicker(listenLook), time.NewTimer(listenPatience)
	defer look.Stop()
	defer last.Stop()
	for !c.listened() {
		select {
		case <-look.C:
		case <-last.C:
			return
		case <-c.ctx.Done():
			return
		}
	}
}

func (c *chunks) listened() bool {
	for _, e := range c.account.Interest().Match([]byte(c.to), nil) {
		if e.Subject == c.to {
			return true
		}
	}
	return false
}

// room counts a chunk as sent if the window has room for it.
func (c *chunks) room() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.outstanding > 0 && c.outstanding+len(c.piece) > c.window {
		return false
	}
	c.outstanding += len(c.piece)
	return true
}

func (c *chunks) publish(reply string) error {
	receivers := c.out.Publish(c.account, c.to, reply, nil, c.piece)
	c.out.Flush()
	c.piece = c.piece[:0]
	if receivers == 0 {
		return errNoInterest
	}
	return c.ctx.Err()
}

// acknowledged notes that somebody has so many bytes. It is called from anywhere.
func (c *chunks) acknowledged(bytes int) {
	c.mu.Lock()
	c.outstanding = max(0, c.outstanding-bytes)
	c.mu.Unlock()
	select {
	case c.moved <- struct{}{}:
	default:
	}
}

// end sends what is left, which wants no acknowledgement, and that it is the end, for the given reason.
func (c *chunks) end(reason error) error {
	if reason == nil && len(c.piece) > 0 {
		reason = c.publish("")
	}
	var status []byte
	switch {
	case errors.Is(reason, errNoInterest):
		status = headers.Status(408, "No Interest")
	case errors.Is(reason, errNoFlow):
		status = headers.Status(408, "No Flow Response")
	case reason != nil:
		status = api.Failed(reason)
	case c.sent > 0:
		status = headers.Status(204, "")
	}
	c.out.Publish(c.account, c.to, "", status, nil)
	c.out.Flush()
	return reason
}
