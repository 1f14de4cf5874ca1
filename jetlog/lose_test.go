package jetlog_test

import (
	"bytes"
	"testing"

	"runnel/jetlog"
)

// TestLose takes messages out of the body, each alone, all above and all below it: the stream is sound
// afterwards, and says what is lost.
func TestLose(t *testing.T) {
	state := func() jetlog.State { s, _ := later(t); return s.State() }()
	for seq := state.First; seq <= state.Last; seq++ {
		for name, gone := range map[string]func(uint64) bool{
			"one":   func(n uint64) bool { return n == seq },
			"below": func(n uint64) bool { return n <= seq },
			"above": func(n uint64) bool { return n >= seq },
		} {
			s, m := later(t)
			before, hash := s.State(), s.Hash()
			var wantMessages, wantBytes uint64
			for n := before.First; n <= before.Last; n++ {
				if meta, _ := m.Meta(n); gone(n) && meta.Sequence != 0 {
					m.Remove(&meta, jetlog.Lost)
					wantMessages, wantBytes = wantMessages+1, wantBytes+meta.Bytes
				}
			}
			messages, size, err := s.Lose(m)
			if err != nil || messages != wantMessages || size != wantBytes {
				t.Fatalf("%s, %d: lost %d, %d, %v; want %d, %d", name, seq, messages, size, err, wantMessages, wantBytes)
			}
			if err := s.Check(m); err != nil {
				t.Errorf("%s, %d: %v", name, seq, err)
			}
			if (s.Hash() == hash) && messages > 0 || s.Removed(jetlog.Lost) != messages {
				t.Errorf("%s, %d: hash %x, %d removed", name, seq, s.Hash(), s.Removed(jetlog.Lost))
			}
			snapshot := s.AppendSnapshot(nil)
			again, err := jetlog.Restore(snapshot)
			if err != nil || !bytes.Equal(again.AppendSnapshot(nil), snapshot) {
				t.Fatalf("%s, %d: restored: %v", name, seq, err)
			}
			if n, size := again.Lost(); n != wantMessages || size != wantBytes {
				t.Errorf("%s, %d: restored with %d lost of %d bytes", name, seq, n, size)
			}
		}
	}
}

// TestLoseFails leaves a read error an error.
func TestLoseFails(t *testing.T) {
	s, _ := later(t)
	if _, _, err := s.Lose(unreadable{}); err == nil {
		t.Error("no error")
	}
}

// unreadable is a body that cannot be read.
type unreadable struct{ jetlog.Messages }

func (unreadable) Next(uint64) (uint64, error) { return 0, jetlog.ErrBody }
