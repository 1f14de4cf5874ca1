// Package dump writes what a store has, for people to read.
package dump

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/store"
)

// Write writes what the store in a directory has that nobody has open: each stream with its configuration, state
// and consumers, and with messages set, the messages too. It changes nothing. A stream of "" means all of
// them.
func Write(cfg store.Config, w io.Writer, stream string, messages bool) error {
	s, _, err := store.Inspect(cfg)
	if err != nil {
		return err
	}
	defer s.Close() // nothing of it lasts
	found := false
	for _, t := range s.Streams() {
		if stream != "" && t.Name() != stream {
			continue
		}
		found = true
		if err := writeStream(w, t, messages); err != nil {
			return err
		}
	}
	if !found && stream != "" {
		return fmt.Errorf("stream %q: %w", stream, store.ErrNotFound)
	}
	return nil
}

// writeStream writes one stream. Of one that did not start there is only the reason.
func writeStream(w io.Writer, t *store.Stream, messages bool) error {
	fmt.Fprintf(w, "stream %d %q of account %q\n", t.ID(), t.Name(), t.Account())
	if err := t.Err(); err != nil {
		fmt.Fprintf(w, "  halted: %v\n", err)
	}
	var text []byte
	err := t.View(func(s *jetlog.Stream, _ jetlog.Messages) (err error) {
		text, err = appendState(nil, s)
		return err
	})
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil && messages {
		err = writeMessages(w, t)
	}
	if err != nil && t.Err() != nil {
		return nil // it was said above
	}
	return err
}

// appendState appends everything but messages.
func appendState(out []byte, s *jetlog.Stream) ([]byte, error) {
	cfg, err := json.Marshal(s.Config())
	if err != nil {
		return nil, err
	}
	out = fmt.Appendf(out, "  config %s\n", cfg)
	out = fmt.Appendf(out, "  state %+v\n  applied %d, hash %016x\n", s.State(), s.Applied(), s.Hash())
	for _, c := range s.Consumers() {
		out = fmt.Appendf(out, "  consumer %q: delivered %+v, ack floor %+v, pending %d, ack pending %d\n",
			c.Name(), c.Delivered(), c.AckFloor(), c.Pending(), c.AckPending())
	}
	return out, nil
}

// writeMessages writes messages, quoted: they may be anything.
func writeMessages(w io.Writer, t *store.Stream) (err error) {
	_, readErr := t.Read(1, nil, math.MaxInt, math.MaxInt, func(m *jetlog.Message) bool {
		at := time.Unix(0, m.Time).UTC().Format(time.RFC3339Nano)
		_, err = fmt.Fprintf(w, "  message %d %s %q %q %q\n", m.Sequence, at, m.Subject, m.Header, m.Payload)
		return err == nil
	})
	if readErr != nil {
		return readErr
	}
	return err
}
