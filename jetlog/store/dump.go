package store

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"runnel/jetlog"
)

// Dump writes what the store in a directory has, for people to read: each stream with its configuration,
// state and consumers, and with messages set, the messages too. It changes nothing. A stream of "" means
// all of them.
func Dump(cfg Config, w io.Writer, stream string, messages bool) error {
	s, _, err := inspect(cfg)
	if err != nil {
		return err
	}
	defer s.Close() // nothing of it lasts
	found := false
	for _, t := range s.Streams() {
		if stream != "" && t.name != stream {
			continue
		}
		found = true
		if err := t.dump(w, messages); err != nil {
			return err
		}
	}
	if !found && stream != "" {
		return fmt.Errorf("stream %q: %w", stream, ErrNotFound)
	}
	return nil
}

// dump writes one stream. Of one that did not start there is only the reason.
func (t *Stream) dump(w io.Writer, messages bool) error {
	fmt.Fprintf(w, "stream %d %q of account %q\n", t.id, t.name, t.account)
	if err := t.Err(); err != nil {
		fmt.Fprintf(w, "  halted: %v\n", err)
	}
	err := t.still(func(s *jetlog.Stream, m jetlog.Messages) error {
		cfg, err := json.Marshal(s.Config())
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "  config %s\n", cfg)
		fmt.Fprintf(w, "  state %+v\n  applied %d, hash %016x\n", s.State(), s.Applied(), s.Hash())
		for _, c := range s.Consumers() {
			fmt.Fprintf(w, "  consumer %q: delivered %+v, ack floor %+v, pending %d, ack pending %d\n",
				c.Name(), c.Delivered(), c.AckFloor(), c.Pending(), c.AckPending())
		}
		if messages {
			return dumpMessages(w, m)
		}
		return nil
	})
	if err != nil && t.Err() != nil {
		return nil // it was said above
	}
	return err
}

// dumpMessages writes messages, quoted: they may be anything.
func dumpMessages(w io.Writer, m jetlog.Messages) error {
	seq, err := m.Next(0)
	for ; err == nil && seq != 0; seq, err = m.Next(seq + 1) {
		message, err := m.Load(seq)
		if err != nil {
			return err
		}
		at := time.Unix(0, message.Time).UTC().Format(time.RFC3339Nano)
		if _, err := fmt.Fprintf(w, "  message %d %s %q %q %q\n", seq, at, message.Subject, message.Header, message.Payload); err != nil {
			return err
		}
	}
	return err
}
