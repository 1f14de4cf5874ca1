package transfer

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

// patience is how long a backup waits for an acknowledgement, and a restore for a chunk.
const patience = 5 * time.Second

// Why a backup ends early, for whoever is to get it.
var (
	errNoInterest = errors.New("nobody listens for the chunks")
	errNoFlow     = errors.New("no chunk was acknowledged for 5 s")
)

// Outlet publishes messages of the server; *engine.Publisher is one. One goroutine uses it at a time.
type Outlet interface {
	Publish(a *accounts.Account, subject, reply string, header, payload []byte) int
	Flush()
}

// Outgoing sends a backup in chunks, as an io.Writer for one goroutine. It waits while more than a window is not
// acknowledged.
type Outgoing struct {
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

// NewOutgoing returns what sends the backup of a stream, as a request wants it. The id stands in the subjects of
// acknowledgements. It sends nothing before it has an outlet: see Use.
func NewOutgoing(stream, id string, a *accounts.Account, q *api.SnapshotRequest) *Outgoing {
	return &Outgoing{
		stream: stream, id: id, account: a, to: q.DeliverSubject,
		piece:  make([]byte, 0, within(q.ChunkBytes, chunkDefault, chunkLeast, chunkMost)),
		window: within(q.WindowBytes, windowDefault, windowLeast, windowMost),
		moved:  make(chan struct{}, 1),
	}
}

// Use gives it what it sends with. It is called by who writes, before anything else.
func (c *Outgoing) Use(out Outlet) { c.out = out }

// within brings a size that somebody asked for between the least and the most; 0 and less is the default.
func within(n, usual, least, most int) int {
	if n <= 0 {
		return usual
	}
	return min(max(n, least), most)
}

// Write sends what is whole, and keeps the rest.
func (c *Outgoing) Write(p []byte) (int, error) {
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
func (c *Outgoing) send() error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for !c.room() {
		select {
		case <-c.moved:
			timer.Reset(patience)
		case <-timer.C:
			return errNoFlow
		case <-c.ctx.Done():
			return ErrEnding
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

// AwaitListener waits until somebody listens for the chunks and nothing else, but not for ever.
func (c *Outgoing) AwaitListener() {
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

func (c *Outgoing) listened() bool {
	for _, e := range c.account.Interest().Match([]byte(c.to), nil) {
		if e.Subject == c.to {
			return true
		}
	}
	return false
}

// room counts a chunk as sent if the window has room for it.
func (c *Outgoing) room() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.outstanding > 0 && c.outstanding+len(c.piece) > c.window {
		return false
	}
	c.outstanding += len(c.piece)
	return true
}

func (c *Outgoing) publish(reply string) error {
	receivers := c.out.Publish(c.account, c.to, reply, nil, c.piece)
	c.out.Flush()
	c.piece = c.piece[:0]
	if receivers == 0 {
		return errNoInterest
	}
	return c.ctx.Err()
}

// acknowledged notes that somebody has so many bytes. It is called from anywhere.
func (c *Outgoing) acknowledged(bytes int) {
	c.mu.Lock()
	c.outstanding = max(0, c.outstanding-bytes)
	c.mu.Unlock()
	select {
	case c.moved <- struct{}{}:
	default:
	}
}

// End sends what is left, which wants no acknowledgement, and that it is the end, for the given reason: nil when all was
// written. It returns why not all was sent.
func (c *Outgoing) End(reason error) error {
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
