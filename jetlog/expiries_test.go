package jetlog_test

import (
	"sync"
	"testing"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
)

// TestNextExpiryChangesNothing has many ask at once when the next message with a TTL expires, after the earliest of them
// have gone by another way. The race detector sees who changes something meanwhile.
func TestNextExpiryChangesNothing(t *testing.T) {
	cfg := config.Stream{
		Name: "S", Subjects: []string{"s.>"}, AllowTTL: true,
		MaxMessages: -1, MaxBytes: -1, MaxPerSubject: -1, MaxMessageBytes: -1, MaxConsumers: -1,
	}
	s, m := jetlog.New(1, cfg, 1), jetlog.NewMemory()
	apply := func(c command.Command) {
		t.Helper()
		if r, err := s.Apply(c, m); err != nil || r.Code != 0 {
			t.Fatalf("%T: got %+v, %v", c, r, err)
		}
	}
	for range 20 {
		apply(&command.Publish{Time: 2, Subject: "s.a", Header: []byte("NATS/1.0\r\nNats-TTL: 10s\r\n\r\n")})
	}
	whole, err := s.NextExpiry(m)
	if err != nil || whole == 0 {
		t.Fatalf("got %d, %v", whole, err)
	}
	for seq := uint64(1); seq <= 20; seq++ {
		var asking sync.WaitGroup
		for range 4 {
			asking.Go(func() {
				if at, err := s.NextExpiry(m); err != nil || at != whole {
					t.Errorf("before message %d is deleted: got %d, %v, want %d", seq, at, err, whole)
				}
			})
		}
		asking.Wait()
		apply(&command.Delete{Time: 3, Sequence: seq})
	}
	if at, err := s.NextExpiry(m); err != nil || at != 0 {
		t.Errorf("with all gone: got %d, %v, want 0", at, err)
	}
	if err := s.Check(m); err != nil {
		t.Error(err)
	}
}
