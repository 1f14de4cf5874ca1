package jetlog_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/codec"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
)

// aftermath are commands of every kind, for the stream of sample.
func aftermath(s *jetlog.Stream, m *jetlog.Memory) []command.Command {
	now := s.Clock() + int64(time.Second)
	list := []command.Command{
		&command.Publish{Time: now, Subject: "s.c", Payload: []byte("x")},
		&command.AckDeadline{Time: now},
	}
	for _, c := range s.Consumers() {
		list = append(list,
			choose(s, m, c, 3, now),
			&command.Ack{Time: now, Consumer: c.Name(), Replies: []command.Reply{
				{Sequence: 1}, {Answer: command.Nak, Sequence: 2}, {Answer: command.Terminate, Sequence: 6}, {Sequence: 5},
			}},
			&command.Pin{Time: now, Consumer: c.Name(), Group: "g", ID: "id"},
			&command.Pause{Time: now, Consumer: c.Name(), Until: now},
		)
	}
	list = append(list,
		&command.Delete{Time: now, Sequence: 6},
		&command.Purge{Time: now, Filter: "s.b"},
		&command.Expire{Time: now},
	)
	for _, c := range s.Consumers() {
		list = append(list, &command.Reset{Time: now, Consumer: c.Name()})
	}
	list = append(list,
		&command.Purge{Time: now, Keep: 1},
		&command.Expire{Time: now + int64(time.Hour)},
		&command.Purge{Time: now},
	)
	for _, c := range s.Consumers() {
		list = append(list, &command.ConsumerDelete{Time: now, Consumer: c.Name()})
	}
	return list
}

// TestChangedSnapshots gives every byte of the snapshot of a stream other values. Most are refused, or
// found by Check. Whatever passes both is a stream that goes on as a sound one.
func TestChangedSnapshots(t *testing.T) {
	s, m := later(t)
	form, body := s.AppendSnapshot(nil), m.AppendSnapshot(nil)
	refused, found, passed := 0, 0, 0
	for at := range form {
		for _, b := range []byte{form[at] ^ 1, form[at] ^ 0x80, form[at] + 1, form[at] - 1, 0, 0xff} {
			if b == form[at] {
				continue
			}
			changed := bytes.Clone(form)
			changed[at] = b
			where := fmt.Sprintf("byte %d is %#x instead of %#x", at, b, form[at])
			s, err := jetlog.Restore(changed)
			if err != nil {
				refused++
				continue
			}
			m := restoredBody(t, body)
			if s.Check(m) != nil {
				found++
				continue
			}
			passed++
			for _, c := range aftermath(s, m) {
				if _, err := s.Apply(c, m); err != nil {
					t.Fatalf("%s: %T: %v", where, c, err)
				}
				if err := s.Check(m); err != nil {
					t.Fatalf("%s: after %T: %v", where, c, err)
				}
			}
		}
	}
	t.Logf("%d refused, %d found by Check, %d passed", refused, found, passed)
	if refused == 0 || found == 0 {
		t.Error("either Restore or Check finds nothing")
	}
}

// TestChangedBodies does the same with the body.
func TestChangedBodies(t *testing.T) {
	s, m := later(t)
	form, body := s.AppendSnapshot(nil), m.AppendSnapshot(nil)
	for at := range body {
		for _, b := range []byte{body[at] ^ 1, body[at] ^ 0x80, body[at] + 1, 0, 0xff} {
			changed := bytes.Clone(body)
			changed[at] = b
			m, err := jetlog.RestoreMemory(changed)
			if err != nil {
				if !errors.Is(err, codec.ErrDamaged) && !errors.Is(err, jetlog.ErrNewer) {
					t.Fatalf("byte %d: the error %v is of no kind", at, err)
				}
				continue
			}
			s, err := jetlog.Restore(form)
			if err != nil {
				t.Fatal(err)
			}
			if s.Check(m) != nil {
				continue
			}
			for _, c := range aftermath(s, m) {
				if _, err := s.Apply(c, m); err != nil {
					t.Fatalf("byte %d is %#x: %T: %v", at, b, c, err)
				}
				check(t, s, m)
			}
		}
	}
}

// TestNewerSnapshots sees that what a later program has written is told from damage.
func TestNewerSnapshots(t *testing.T) {
	s, m := later(t)
	for _, version := range []byte{6, 77, 255} {
		form, body := s.AppendSnapshot(nil), m.AppendSnapshot(nil)
		form[0], body[0] = version, version
		for n := 1; n < len(form); n += 7 {
			if _, err := jetlog.Restore(form[:n]); !errors.Is(err, jetlog.ErrNewer) {
				t.Fatalf("version %d, %d bytes: got %v", version, n, err)
			}
		}
		if _, err := jetlog.RestoreMemory(body); !errors.Is(err, jetlog.ErrNewer) {
			t.Errorf("body of version %d: got %v", version, err)
		}
	}
}

// TestUnknownConsumer gives every command about a consumer to a stream that has none.
func TestUnknownConsumer(t *testing.T) {
	s, m := jetlog.New(1, unlimited(), 1), jetlog.NewMemory()
	fill(t, s, m, 2, func(int) string { return "s" })
	for _, c := range []command.Command{
		&command.ConsumerDelete{Consumer: "c"},
		&command.Deliver{Consumer: "c", Messages: []command.Delivery{{Sequence: 1}}},
		&command.Ack{Consumer: "c", Replies: []command.Reply{{Sequence: 1}}},
		&command.Pause{Consumer: "c", Until: 1},
		&command.Reset{Consumer: "c"},
		&command.Pin{Consumer: "c", Group: "g"},
	} {
		before := s.Applied()
		r := mustApply(t, s, m, c)
		if r.Code != config.ConsumerNotFound || r.Removed != 0 || s.Applied() != before+1 {
			t.Errorf("%T: got %+v", c, r)
		}
		check(t, s, m)
	}
	if r := mustApply(t, s, m, &command.AckDeadline{Time: 1 << 40}); r.Code != 0 || s.Clock() != 1<<40 {
		t.Errorf("deadlines: got %+v at %d", r, s.Clock())
	}
}

// TestDeliverRefuses sees that a delivery which does not fit the state is not noted, in no part.
func TestDeliverRefuses(t *testing.T) {
	s, m := jetlog.New(1, unlimited(), 1), jetlog.NewMemory()
	fill(t, s, m, 5, func(int) string { return "s" })
	mustApply(t, s, m, &command.ConsumerCreate{Config: config.Consumer{Name: "c", Ack: config.AckExplicit}})
	c := s.Consumer("c")
	mustApply(t, s, m, choose(s, m, c, 2, 20))
	inc := c.Incarnation()
	tests := []struct {
		name string
		d    command.Deliver
		code config.Code
	}{
		{"another incarnation", command.Deliver{Incarnation: inc + 1, From: 3, Messages: []command.Delivery{{Sequence: 3}}}, config.BadRequest},
		{"a number that was given", command.Deliver{Incarnation: inc, From: 2, Messages: []command.Delivery{{Sequence: 3}}}, config.BadRequest},
		{"a number that is too high", command.Deliver{Incarnation: inc, From: 4, Messages: []command.Delivery{{Sequence: 3}}}, config.BadRequest},
		{"what was delivered", command.Deliver{Incarnation: inc, From: 3, Messages: []command.Delivery{{Sequence: 2}}}, config.BadRequest},
		{"out of order", command.Deliver{Incarnation: inc, From: 3, Messages: []command.Delivery{{Sequence: 4}, {Sequence: 3}}}, config.BadRequest},
		{"twice", command.Deliver{Incarnation: inc, From: 3, Messages: []command.Delivery{{Sequence: 3}, {Sequence: 3}}}, config.BadRequest},
		{"what is not there yet", command.Deliver{Incarnation: inc, From: 3, Messages: []command.Delivery{{Sequence: 3}, {Sequence: 6}}}, config.BadRequest},
		{"sequence 0", command.Deliver{Incarnation: inc, From: 3, Messages: []command.Delivery{{}}}, config.BadRequest},
		{"nothing", command.Deliver{Incarnation: inc, From: 3}, 0},
		{"again, what was not delivered", command.Deliver{Incarnation: inc, From: 3, Messages: []command.Delivery{{Sequence: 5, Again: true}}}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.d.Consumer, tt.d.Time = "c", 30
			before := c.Delivered()
			got := mustApply(t, s, m, &tt.d)
			check(t, s, m)
			if got.Code != tt.code || c.Pending() != 3 || c.AckPending() != 2 {
				t.Errorf("got %+v, pending %d, ack pending %d", got, c.Pending(), c.AckPending())
			}
			if tt.code != 0 && c.Delivered() != before {
				t.Errorf("delivered is %+v, want %+v", c.Delivered(), before)
			}
		})
	}
}

// restoredBody returns the body of a snapshot.
func restoredBody(t *testing.T, form []byte) *jetlog.Memory {
	t.Helper()
	m, err := jetlog.RestoreMemory(bytes.Clone(form))
	if err != nil {
		t.Fatal(err)
	}
	return m
}
