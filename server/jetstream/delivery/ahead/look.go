package ahead

import (
	"slices"

	"runnel/jetlog"
	"runnel/jetlog/content"
	"runnel/jetlog/keyed"
)

// The most that one look reads.
const (
	lookMessages = 2048
	lookBytes    = 1 << 20
	// chunk is how many messages are read from the stream at once at most.
	chunk = 256
)

// Source is the stream of a consumer as its leader has it.
type Source interface {
	// Read calls yield for messages from a sequence on that the consumer's subject filter matches, up to a number of messages
	// and bytes, until it is false. It returns where to go on: with the end reached, the sequence that the next message will have.
	Read(from uint64, messages, bytes int, yield func(*jetlog.Message) bool) (next uint64, err error)
	// Load returns a message, with sequence 0 if there is none.
	Load(seq uint64) (jetlog.Message, error)
	// Passed returns up to so many of the messages that the state has as passed over, from a sequence on, ascending, and up to
	// which sequence the state knows that: what comes behind is in commands that are under way.
	Passed(from uint64, most int) (list []uint64, upTo uint64, err error)
	// Waits reports whether a message waits for an answer in the state, or is given up and keeps its place.
	Waits(seq uint64) (bool, error)
}

// Look is what a look has brought.
type Look struct {
	// Picks are messages to be delivered for the first time, in this order.
	Picks []jetlog.Message
	// UpTo is how far the stream was looked at. Of what is between, Passed is still to be delivered, Picks among it, and Failed
	// could not be decided about.
	UpTo           uint64
	Passed, Failed []uint64
	// Looked is how many messages of the stream that were.
	Looked int
	// End is set when there is nothing more: all else waits, or is not wanted. Otherwise the look has found, or read, as much as it
	// may.
	End bool
}

// looking is one look.
type looking struct {
	*Ahead
	src         Source
	out         Look
	want, bytes int // that may be chosen
	left, rest  int // messages and bytes that may be read
}

// Prepare takes up what was delivered when the Ahead was made. Until it is ready nothing may be delivered; it reads a part at a
// time.
func (a *Ahead) Prepare(src Source) (ready bool, err error) {
	l := &looking{Ahead: a, src: src, want: 1, bytes: 1, left: lookMessages, rest: lookBytes}
	for ; len(l.held) > 0 && !l.full(); l.held = l.held[1:] {
		m, err := l.load(l.held[0])
		if err != nil {
			return false, err
		}
		if m.Sequence == 0 {
			continue
		}
		if l.put(&m) {
			l.table.Take(m.Sequence)
			if _, blocks := slices.BinarySearch(l.blocking, m.Sequence); blocks {
				l.table.Fail(m.Sequence)
			}
		} else {
			l.delivered[m.Sequence] = struct{}{}
		}
	}
	if len(l.held) > 0 {
		return false, nil
	}
	l.blocking = nil
	return true, nil
}

// Look chooses up to so many messages of up to so many bytes, and goes through the stream above a sequence for that, unless no
// more may be passed over. What it brings is valid even with an error, which is the source's. The Ahead must be prepared.
func (a *Ahead) Look(src Source, above uint64, want, bytes int, further bool) (Look, error) {
	l := &looking{Ahead: a, src: src, out: Look{UpTo: above}, want: want, bytes: bytes, left: lookMessages, rest: lookBytes}
	steps := []func() error{l.ready, l.relist, l.offer, l.read}
	if !further {
		steps = steps[:3]
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return l.out, err
		}
		if l.full() {
			return l.out, nil
		}
		if l.offered < l.upTo && l.table.Full() {
			break // what is behind comes behind
		}
	}
	l.out.End = true
	return l.out, nil
}

// full reports whether the look has enough, or has done enough.
func (l *looking) full() bool {
	return len(l.out.Picks) >= l.want || l.bytes <= 0 || l.left <= 0 || l.rest <= 0
}

// load reads a message.
func (l *looking) load(seq uint64) (jetlog.Message, error) {
	m, err := l.src.Load(seq)
	l.count(&m)
	return m, err
}

// count counts a message that was read.
func (l *looking) count(m *jetlog.Message) {
	l.left--
	l.rest -= len(m.Header) + len(m.Payload)
}

// put offers a message to the table, and reports whether it is ready.
func (l *looking) put(m *jetlog.Message) bool {
	if l.rules.Keyed() {
		key, ok := l.rules.key.Key(l.key[:0], m.Subject, m.Header, m.Payload)
		l.key = key
		if ok {
			return l.table.Offer(m.Sequence, key)
		}
	}
	return l.table.OfferAlone(m.Sequence)
}

// pick chooses a message that is ready.
func (l *looking) pick(m *jetlog.Message) {
	l.table.Take(m.Sequence)
	l.picked = append(l.picked, m.Sequence)
	l.out.Picks = append(l.out.Picks, *m)
	l.bytes -= len(m.Header) + len(m.Payload)
}

// ready chooses what has become ready.
func (l *looking) ready() error {
	for !l.full() {
		seq, ok := l.table.Next()
		if !ok {
			return nil
		}
		if _, was := l.delivered[seq]; was {
			waits, err := l.src.Waits(seq)
			if err != nil {
				return err
			}
			delete(l.delivered, seq)
			if l.table.Take(seq); !waits {
				l.table.Done(seq)
			}
			continue
		}
		m, err := l.load(seq)
		switch {
		case err != nil:
			return err
		case m.Sequence == 0:
			l.table.Done(seq)
		default:
			l.pick(&m)
		}
	}
	return nil
}

// relist looks for more messages of keys of which only some were listed.
func (l *looking) relist() error {
	for !l.full() {
		scan, ok := l.table.Rescan()
		if !ok {
			break
		}
		list, upTo, err := l.src.Passed(scan.From, chunk)
		if err != nil {
			return err
		}
		if scan.From > upTo {
			break // it is in a command that is under way
		}
		scanned, all, err := l.find(scan, list)
		if err != nil {
			return err
		}
		if all && len(list) < chunk {
			scanned = min(scan.To, upTo)
		}
		l.table.Scanned(scan.Hash, scanned)
	}
	return l.ready()
}

// find hands messages of a key to the table. It returns up to which one it has, and whether it has all: the table may have no room.
func (l *looking) find(scan keyed.Scan, list []uint64) (upTo uint64, all bool, err error) {
	for _, seq := range list {
		if seq > scan.To {
			return scan.To, true, nil
		}
		m, err := l.load(seq)
		if err != nil {
			return upTo, false, err
		}
		if m.Sequence != 0 {
			key, ok := l.rules.Key(&m)
			if ok && l.table.Hash(key) == scan.Hash && !l.table.Found(scan.Hash, seq) {
				return upTo, false, nil
			}
		}
		upTo = seq
	}
	return upTo, true, nil
}

// offer takes up what the state had as passed over when the Ahead was made.
func (l *looking) offer() error {
	for l.offered < l.upTo {
		list, _, err := l.src.Passed(l.offered+1, chunk)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			l.offered = l.upTo
		}
		for _, seq := range list {
			if seq > l.upTo {
				l.offered = l.upTo
				break
			}
			if l.full() || l.table.Full() {
				return nil
			}
			m, err := l.load(seq)
			if err != nil {
				return err
			}
			if l.offered = seq; m.Sequence != 0 && l.put(&m) {
				l.pick(&m)
			}
		}
	}
	return nil
}

// read goes on in the stream. It begins with as many messages as are wanted, since mostly each is, and then reads more at once.
func (l *looking) read() error {
	for n := l.want - len(l.out.Picks); !l.full() && !l.table.Full(); n *= 2 {
		most, seen := min(n, chunk, l.left), 0
		next, err := l.src.Read(l.out.UpTo+1, most, l.rest, func(m *jetlog.Message) bool {
			seen++
			l.take(m)
			return !l.full() && !l.table.Full()
		})
		if next > 0 {
			l.out.UpTo = max(l.out.UpTo, next-1)
		}
		if err != nil || seen < most {
			return err
		}
	}
	return nil
}

// take takes up a message of the stream.
func (l *looking) take(m *jetlog.Message) {
	l.count(m)
	l.out.Looked++
	if Passes(m, l.name) {
		return
	}
	if l.rules != nil && l.rules.filter != nil {
		switch l.rules.filter.Match(m.Subject, m.Header, m.Payload) {
		case content.Match:
		case content.NotJSON:
			if l.rules.fails {
				l.out.Failed = append(l.out.Failed, m.Sequence)
			}
			return
		default:
			return
		}
	}
	l.out.Passed = append(l.out.Passed, m.Sequence)
	if l.put(m) {
		l.pick(m)
	}
}
