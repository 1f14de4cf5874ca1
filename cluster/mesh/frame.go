package mesh

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

const (
	// magic begins each direction of each connection. Its digit is the version of what follows.
	magic = "RUNNEL1\n"
	// handshakeBytes bounds a frame of somebody who is not known yet, stateBytes one of a member.
	handshakeBytes = 64 << 10
	stateBytes     = 1 << 20
)

// frame is one message between two servers. One of its fields is set.
type frame struct {
	Hello    *hello    `json:"hello,omitempty"`
	Link     *linkage  `json:"link,omitempty"`
	Have     *uint64   `json:"have,omitempty"`
	Decision *decision `json:"decision,omitempty"`
	Ready    bool      `json:"ready,omitempty"`
	Refused  *refusal  `json:"refused,omitempty"`
	State    *state    `json:"state,omitempty"`
	Ping     uint64    `json:"ping,omitempty"`
	Pong     uint64    `json:"pong,omitempty"`
	Bye      *bye      `json:"bye,omitempty"`
}

// hello opens a control link, or answers who has done so.
type hello struct {
	Member Member `json:"member"`
	// Username and Password are told by the dialler only.
	Username string `json:"username,omitempty"`
	Password string `json:"password,omitempty"`
	Offer    offer  `json:"offer"`
}

// check says what is wrong with what a stranger says of itself.
func (h *hello) check() error {
	if err := h.Member.check(); err != nil {
		return refuse(codeProtocol, "%v", err)
	}
	if n := len(h.Offer.Accounts); n > maxAccounts {
		return refuse(codeProtocol, "%d accounts with a route of their own, %d are allowed", n, maxAccounts)
	}
	if !h.Offer.Compression.known() {
		return refuse(codeProtocol, "unknown compression %q", clip(string(h.Offer.Compression)))
	}
	return nil
}

// maxAccounts bounds how many accounts may have a route of their own.
const maxAccounts = 256

// linkage opens a link within a session.
type linkage struct {
	ID      string `json:"id"` // of the dialler
	Session uint64 `json:"session"`
	Token   string `json:"token"`
	Slot    slot   `json:"slot"`
}

// decision is the number and the token of a session.
type decision struct {
	Session uint64 `json:"session"`
	Token   string `json:"token"`
}

// state is how things are with a server and whom else it has sessions with.
type state struct {
	Self    Member   `json:"self"`
	Members []Member `json:"members,omitempty"`
}

// bye says that the control link ends, and why. Leaving means that the server stops.
type bye struct {
	Reason  string `json:"reason"`
	Leaving bool   `json:"leaving,omitempty"`

	err error // what the session of the side that says so ends with
}

// writeFrame writes f in one piece, after the magic bytes if first is set.
func writeFrame(w io.Writer, f *frame, first bool) error {
	body, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("write a frame: %w", err)
	}
	var b []byte
	if first {
		b = append(b, magic...)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(body)))
	if _, err := w.Write(append(b, body...)); err != nil {
		return fmt.Errorf("write a frame: %w", err)
	}
	return nil
}

// readFrame reads one frame and no byte more. A body longer than limit is an error, found before it is read.
func readFrame(r io.Reader, limit int) (*frame, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, fmt.Errorf("read a frame: %w", err)
	}
	n := binary.BigEndian.Uint32(head[:])
	if uint64(n) > uint64(limit) {
		return nil, refuse(codeProtocol, "a frame of %d bytes, where %d are allowed", n, limit)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, fmt.Errorf("read a frame: %w", noEOF(err))
	}
	f := new(frame)
	if err := json.Unmarshal(body, f); err != nil {
		return nil, refuse(codeProtocol, "a frame that cannot be read: %v", err)
	}
	return f, nil
}

// noEOF makes an end in the middle of something what it is.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
