package rigtest

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync"
)

// A Message of a load: the n-th of a writer, counted from 1.
type Message struct {
	Writer string
	N      int
}

// String is the message as text, and its id.
func (m Message) String() string { return m.Writer + " " + strconv.Itoa(m.N) }

// body is the message with spaces up to a size.
func (m Message) body(size int) []byte { return fmt.Appendf(nil, "%-*s", size, m) }

// ParseMessage reads a body.
func ParseMessage(text string) (Message, error) {
	writer, number, _ := strings.Cut(strings.TrimRight(text, " "), " ")
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || writer == "" {
		return Message{}, fmt.Errorf("%.40q is not a message of this load", text)
	}
	return Message{writer, n}, nil
}

// A Ledger has what publishers were told: which messages they tried to publish, and at which sequences of the stream the
// acknowledged ones are. It may be used by several goroutines.
type Ledger struct {
	mu    sync.Mutex         // guards what follows
	tried map[string]int     // by writer: its last message
	acked map[Message]uint64 // with their sequences
	wrong []string           // acknowledgements that contradict each other
}

// NewLedger makes an empty one.
func NewLedger() *Ledger {
	return &Ledger{tried: make(map[string]int), acked: make(map[Message]uint64)}
}

// Try notes that a message is about to be published. A writer publishes its messages in order, each only when the one
// before it was acknowledged.
func (l *Ledger) Try(m Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tried[m.Writer] = m.N
}

// Ack notes that the publisher was told the sequence of its message.
func (l *Ledger) Ack(m Message, sequence uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if old, ok := l.acked[m]; ok && old != sequence {
		l.wrong = append(l.wrong, fmt.Sprintf("%q was acknowledged as %d and as %d", m, old, sequence))
	}
	l.acked[m] = sequence
}

// Stored is a message as a stream has it.
type Stored struct {
	Sequence uint64
	Text     string
}

// findingsMax is how many complaints of one kind are told.
const findingsMax = 10

// Check compares a stream, read from its first message to its last, with what publishers were told, and returns what is
// wrong: an acknowledged message that is not there or elsewhere, a gap in the sequences, a message that is there
// twice or that nobody published, an order of one writer's messages that is not the one in which they were published.
// A message whose publisher was told nothing may be there or not, as long as the writer got no further.
func (l *Ledger) Check(stream []Stored) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found findings
	at := make(map[Message]uint64)
	last := make(map[string]int)
	for i, s := range stream {
		if i > 0 && s.Sequence != stream[i-1].Sequence+1 {
			found.add("gap", "sequence %d comes after %d", s.Sequence, stream[i-1].Sequence)
		}
		m, err := ParseMessage(s.Text)
		if err != nil {
			found.add("alien", "at %d: %v", s.Sequence, err)
			continue
		}
		if m.N > l.tried[m.Writer] {
			found.add("alien", "%q at %d was not published", m, s.Sequence)
		}
		if first, ok := at[m]; ok {
			found.add("twice", "%q is at %d and at %d", m, first, s.Sequence)
			continue
		}
		at[m] = s.Sequence
		if m.N <= last[m.Writer] {
			found.add("order", "%q at %d comes after %d", m, s.Sequence, last[m.Writer])
		}
		last[m.Writer] = m.N
	}
	for m, sequence := range l.acked {
		switch got, ok := at[m]; {
		case !ok:
			found.add("lost", "%q was acknowledged as %d and is not there", m, sequence)
		case got != sequence:
			found.add("moved", "%q was acknowledged as %d and is at %d", m, sequence, got)
		}
	}
	return append(found.list(), l.wrong...)
}

// findings are complaints by kind, as many of each as somebody wants to read.
type findings struct {
	texts []string
	count map[string]int
}

func (f *findings) add(kind, format string, args ...any) {
	if f.count == nil {
		f.count = make(map[string]int)
	}
	if f.count[kind]++; f.count[kind] <= findingsMax {
		f.texts = append(f.texts, kind+": "+fmt.Sprintf(format, args...))
	}
}

func (f *findings) list() []string {
	for kind, n := range f.count {
		if n > findingsMax {
			f.texts = append(f.texts, fmt.Sprintf("%s: %d more", kind, n-findingsMax))
		}
	}
	return f.texts
}

// messages yields the acknowledged messages.
func (l *Ledger) messages() iter.Seq[Message] {
	return func(yield func(Message) bool) {
		l.mu.Lock()
		defer l.mu.Unlock()
		for m := range l.acked {
			if !yield(m) {
				return
			}
		}
	}
}
