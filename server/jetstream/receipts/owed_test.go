package receipts_test

import (
	"testing"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/receipts"
)

// TestOwedBy tells what is owed: how much, to whom, and since when as long as a message is there that came with it.
func TestOwedBy(t *testing.T) {
	p := newPair(t)
	owed := func(later time.Duration) (o *api.Owed) {
		t.Helper()
		if err := p.out.View(func(s *jetlog.Stream, m jetlog.Messages) error {
			o = receipts.OwedBy(s, m, time.Unix(0, s.State().LastTime).Add(later))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return o
	}
	if o := owed(0); o != nil {
		t.Errorf("nothing is owed: got %+v", o)
	}
	p.owe(1)
	p.owe(3)
	if o := owed(time.Minute); o == nil || o.Acks != 2 || o.Stream != "IN" || o.Consumer != "c" || o.Seconds < 60 || o.Oldest == nil {
		t.Errorf("got %+v, want 2 that are owed to c for a minute", o)
	}
	p.apply(p.out, &command.Delete{Time: now(), Sequence: 1})
	if o := owed(time.Minute); o.Acks != 2 || o.Seconds != 60 {
		t.Errorf("the first outcome has gone: got %+v, want 2, of which one is a minute old", o)
	}
	p.apply(p.out, &command.Purge{Time: now()})
	if o := owed(time.Minute); o.Acks != 2 || o.Oldest != nil || o.Seconds != 0 {
		t.Errorf("all outcomes have gone: got %+v, want 2 of an age that is not known", o)
	}
}
