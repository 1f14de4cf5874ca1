package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	"runnel/jetlog"
	"runnel/jetlog/command"
)

// Proposer hands what is to be done with a replicated stream to its group. It is called concurrently.
type Proposer interface {
	// Propose takes a proposal over: it answers it some time, by ApplyEntry or Fail. With a context that has ended it
	// does not wait, and its error is context.Canceled where it would have. With an error the proposal is not
	// answered: ErrNotLeader where this member does not lead.
	Propose(ctx context.Context, p *Proposal) error
}

// Proposal is a command, or a pack, or commands that are started together, of a replicated stream on its way through its
// group. It is answered once.
type Proposal struct {
	entry    entry
	encoded  []byte    // nil for publishes, which are encoded when they are needed
	next     *Proposal // what is started together with it
	bytes    int       // of all
	answered atomic.Bool
}

// What Bytes counts for the parts of a publish besides its content, and for a pack, at most.
const (
	publishBytes = 64
	packBytes    = 16
)

// recordBytes is the length of what stands before the payload of a record in an entry: kind and length.
const recordBytes = 5

func newProposal(e *entry) *Proposal {
	p := &Proposal{entry: *e, bytes: recordBytes + packBytes}
	publishes := e.publishes
	if e.command != nil {
		c, ok := e.command.(*command.Publish)
		if !ok {
			p.encoded = command.Append(nil, e.command)
			p.bytes += len(p.encoded)
			return p
		}
		p.bytes += publishSize(c)
	}
	for i := range publishes {
		p.bytes += publishSize(&publishes[i])
	}
	return p
}

func publishSize(c *command.Publish) int {
	return publishBytes + len(c.Subject) + len(c.Header) + len(c.Payload)
}

// Bytes is about what Append appends, and no less.
func (p *Proposal) Bytes() int { return p.bytes }

// Append appends the records for an entry of the group.
func (p *Proposal) Append(dst []byte) []byte {
	for ; p != nil; p = p.next {
		dst = p.append(dst)
	}
	return dst
}

func (p *Proposal) append(dst []byte) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0, 0)
	if p.encoded != nil {
		dst[at] = commandRecord
		dst = append(dst, p.encoded...)
	} else {
		var kind uint8
		dst, kind = p.entry.encode(dst)
		dst[at] = kind // only now: dst may be another array
	}
	binary.LittleEndian.PutUint32(dst[at+1:], uint32(len(dst)-at-recordBytes))
	return dst
}

// take appends what is to be carried out, which answers it.
func (p *Proposal) take(batch []entry) []entry {
	for known := p.answered.Swap(true); p != nil; p = p.next {
		batch = append(batch, p.entry)
		if known {
			batch[len(batch)-1].answers = nobody{} // he was told that it is not known
		}
	}
	return batch
}

// Fail answers the proposal with an error: it is not known what becomes of it, unless the error says so.
func (p *Proposal) Fail(err error) {
	if p.answered.Swap(true) {
		return
	}
	for ; p != nil; p = p.next {
		e := &p.entry
		for i := range e.count() {
			e.answers.Answer(i, jetlog.Result{}, err)
		}
		if f := e.answers.Answered(); f != nil {
			f.Flush()
		}
	}
}

// nobody hears what became of a command that was proposed elsewhere.
type nobody struct{}

func (nobody) Answer(int, jetlog.Result, error) {}
func (nobody) Answered() Flusher                { return nil }

var errRecords = errors.New("an entry has records that are cut off")

// decodeRecords returns what the records of an entry are about; they refer to it.
func decodeRecords(out []entry, t *Stream, records []byte) ([]entry, error) {
	for len(records) > 0 {
		if len(records) < recordBytes {
			return out, errRecords
		}
		n := binary.LittleEndian.Uint32(records[1:])
		if uint64(n) > uint64(len(records)-recordBytes) {
			return out, errRecords
		}
		end := recordBytes + int(n)
		e, err := decodeOwned(records[0], records[recordBytes:end:end])
		if err != nil {
			return out, err
		}
		if !t.store.allowed[e.kind()] {
			return out, fmt.Errorf("command of kind %d: the feature level is set to %d: %w", e.kind(), t.store.cfg.Level, ErrNewer)
		}
		e.stream, e.answers = t, nobody{}
		out = append(out, e)
		records = records[end:]
	}
	return out, nil
}
