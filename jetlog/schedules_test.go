package jetlog

import (
	"fmt"
	"strings"
	"testing"

	"runnel/headers"
	"runnel/jetlog/codec"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
)

// scheduled returns a stream with some schedules and other messages.
func scheduled(t *testing.T) (*Stream, *Memory) {
	t.Helper()
	s, m := New(1, config.Stream{
		Name: "S", Subjects: []string{"s.>"}, MaxMessages: -1, MaxBytes: -1, MaxPerSubject: -1, MaxMessageBytes: -1,
		AllowSchedules: true, AllowRollup: true, Replicas: 1,
	}, 1), NewMemory()
	for i := range 6 {
		c := &command.Publish{Time: 10, Subject: fmt.Sprintf("s.%d", i)}
		if i%2 == 0 {
			c.Header = headers.Build(
				headers.Field{Name: "Nats-Schedule", Value: "@every 1h"}, headers.Field{Name: "Nats-Schedule-Target", Value: "s.out"},
			)
			c.Fire = int64(100 - i)
		}
		if r, err := s.Apply(c, m); err != nil || r.Code != 0 {
			t.Fatal(r, err)
		}
	}
	if err := s.Check(m); err != nil {
		t.Fatal(err)
	}
	return s, m
}

// TestCheckFindsSchedules breaks one invariant of schedules after the other.
func TestCheckFindsSchedules(t *testing.T) {
	for name, wreck := range map[string]func(s *Stream, m *Memory){
		"no schedule":   func(s *Stream, _ *Memory) { s.schedules.Set("s.1", 2, 500) },
		"other subject": func(s *Stream, _ *Memory) { s.schedules.Drop("s.0"); s.schedules.Set("s.1", 1, 500) },
		"gone":          func(_ *Stream, m *Memory) { m.Remove(&Meta{Sequence: 1}, Deleted) },
	} {
		t.Run(name, func(t *testing.T) {
			s, m := scheduled(t)
			wreck(s, m)
			if err := s.Check(m); err == nil {
				t.Error("nothing is found")
			}
		})
	}
}

// TestFireForward sees that a schedule never goes back.
func TestFireForward(t *testing.T) {
	s, m := scheduled(t)
	for _, next := range []int64{1, 99, 100} {
		r, err := s.Apply(&command.Fire{Time: 200, Schedule: "s.0", Sequence: 1, Due: 100, Next: next, Subject: "s.out"}, m)
		if err != nil || r.Code != config.BadRequest || s.state.Last != 6 {
			t.Errorf("next at %d: got %+v, %v", next, r, err)
		}
	}
}

// TestRestoreSchedules sees that what cannot be is not restored.
func TestRestoreSchedules(t *testing.T) {
	s, _ := scheduled(t)
	s.postpone(chore{kind: choreAll, filter: Filter{"s.1"}, next: 1, upTo: 5, reason: Purged})
	for name, wreck := range map[string]func(s *Stream){
		"kind of a chore":   func(s *Stream) { s.chores[0].kind = choreKinds },
		"reason of a chore": func(s *Stream) { s.chores[0].reason = 200 },
	} {
		t.Run(name, func(t *testing.T) {
			other, err := Restore(s.AppendSnapshot(nil))
			if err != nil {
				t.Fatal(err)
			}
			wreck(other)
			if again, err := Restore(other.AppendSnapshot(nil)); err == nil {
				t.Errorf("restored: %+v", again.schedules)
			} else if strings.Contains(err.Error(), "newer") {
				t.Error(err)
			}
		})
	}
	r := codec.NewReader(codec.AppendUint(nil, uint64(1<<40)))
	if s.readChores(&r); r.Err() == nil {
		t.Error("a list that is too long is read")
	}
}
