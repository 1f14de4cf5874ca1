package backup

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/s2"

	"runnel/jetlog/body"
)

const (
	magic          = "NATSARC1"
	stateName      = "state.json"
	consumerPrefix = "consumers/"
)

// stage is how far a Writer or a Reader has come.
type stage uint8

const (
	atState stage = iota
	atConsumers
	atMessages
	atEnd
)

// Writer writes a backup: the state, then the consumers, then the messages in the order of their
// sequences, then Close. It is for one goroutine. After an error it is of no use, and what was
// written is not a backup, since its end is missing.
type Writer struct {
	out   *s2.Writer
	at    int64
	stage stage
	due   int    // consumers that the state has announced and that were not written yet
	last  uint64 // sequence of the last message
	front []byte // what stands before the content of an entry, used again
}

// NewWriter begins a backup that is taken at the time. Close does not close w. The writer keeps
// one block of 1 MiB; it starts no goroutine.
func NewWriter(w io.Writer, at time.Time) *Writer {
	return &Writer{out: s2.NewWriter(w, s2.WriterConcurrency(1)), at: at.UnixNano()}
}

// WriteState writes what the stream says of itself. As many consumers have to follow as it says,
// since whoever restores counts them; the other numbers are for people.
func (w *Writer) WriteState(s State) error {
	if w.stage != atState {
		return fmt.Errorf("%w: the state comes first and once", ErrOrder)
	}
	if _, err := io.WriteString(w.out, magic); err != nil {
		return fmt.Errorf("write backup: %w", err)
	}
	w.stage, w.due = atConsumers, s.Consumers
	return w.writeJSON(stateName, s)
}

// WriteConsumer writes a consumer.
func (w *Writer) WriteConsumer(c Consumer) error {
	if w.stage != atConsumers || w.due <= 0 {
		return fmt.Errorf("%w: as many consumers as the state has come after it and before the messages", ErrOrder)
	}
	if c.Config.Name == "" {
		return fmt.Errorf("%w: a consumer without a name", ErrOrder)
	}
	w.due--
	return w.writeJSON(consumerPrefix+c.Config.Name, c)
}

// WriteMessage writes a message. It keeps nothing of it.
func (w *Writer) WriteMessage(m body.Message) error {
	if w.stage != atConsumers && w.stage != atMessages || w.due != 0 {
		return fmt.Errorf("%w: messages come after the state and the consumers", ErrOrder)
	}
	if m.Sequence <= w.last {
		return fmt.Errorf("%w: message %d after message %d", ErrOrder, m.Sequence, w.last)
	}
	w.stage, w.last = atMessages, m.Sequence
	return w.write(m)
}

// Close writes the end. What was written is a backup only if it returns nil.
func (w *Writer) Close() error {
	if w.stage == atState || w.stage == atEnd || w.due != 0 {
		return fmt.Errorf("%w: a backup has a state, all consumers, and one end", ErrOrder)
	}
	w.stage = atEnd
	if err := w.write(body.Message{}); err != nil {
		return err
	}
	if err := w.out.Close(); err != nil {
		return fmt.Errorf("write backup: %w", err)
	}
	return nil
}

// writeJSON writes an entry that describes the stream.
func (w *Writer) writeJSON(name string, value any) error {
	payload, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("write backup: %s: %w", name, err)
	}
	return w.write(body.Message{Time: w.at, Subject: name, Payload: payload})
}

// write writes an entry; its name is the subject.
func (w *Writer) write(m body.Message) error {
	b := binary.AppendUvarint(w.front[:0], uint64(len(m.Subject)))
	b = binary.AppendVarint(b, m.Time)
	b = binary.AppendUvarint(b, m.Sequence)
	b = binary.AppendUvarint(b, uint64(len(m.Header)))
	b = binary.AppendUvarint(b, uint64(len(m.Payload)))
	b = append(b, m.Subject...)
	b = append(b, m.Header...)
	w.front = b
	for _, part := range [2][]byte{b, m.Payload} {
		if _, err := w.out.Write(part); err != nil {
			return fmt.Errorf("write backup: %w", err)
		}
	}
	return nil
}
