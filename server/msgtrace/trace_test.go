package msgtrace_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"runnel/server/msgtrace"
)

// text is a report as it is published, in a synctest bubble, where the time is always the same.
func text(t *testing.T, trace *msgtrace.Trace) string {
	t.Helper()
	b, err := json.MarshalIndent(trace.Report(), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(b), `"ts": "2000-01-01T00:00:00Z"`, `"ts"`)
}

// TestReport compares a report that has all that there is with the members that tools know.
func TestReport(t *testing.T) {
	const want = `{
 "request": {
  "header": {
   "A": [
    "1",
    "2"
   ]
  },
  "msgsize": 30
 },
 "events": [
  {
   "type": "in",
   "ts",
   "kind": 0,
   "cid": 7,
   "name": "p",
   "acc": "A",
   "subj": "a.b"
  },
  {
   "type": "sm",
   "ts",
   "to": "a.c"
  },
  {
   "type": "eg",
   "ts",
   "kind": 0,
   "cid": 8,
   "name": "s",
   "sub": "a.*",
   "queue": "q"
  },
  {
   "type": "se",
   "ts",
   "acc": "B",
   "to": "b.c"
  },
  {
   "type": "eg",
   "ts",
   "kind": 0,
   "cid": 9,
   "name": "",
   "acc": "B",
   "sub": "b.c",
   "error": "Not delivered because of no echo"
  },
  {
   "type": "si",
   "ts",
   "acc": "C",
   "from": "a.c",
   "to": "c"
  },
  {
   "type": "js",
   "ts",
   "stream": "S",
   "subject": "s.c",
   "nointerest": true
  },
  {
   "type": "js",
   "ts",
   "stream": "T",
   "error": "full"
  }
 ]
}`
	synctest.Test(t, func(t *testing.T) {
		done := 0
		trace := msgtrace.New(block("A: 1", "A: 2"), 30, false, func(*msgtrace.Trace) { done++ })
		trace.Enter(msgtrace.Peer{Kind: msgtrace.Client, CID: 7, Name: "p"}, "A", "a.b")
		trace.Map("a.c")
		trace.Leave(&msgtrace.Egress{Peer: msgtrace.Peer{CID: 8, Name: "s"}, Subscription: "a.*", Queue: "q"})
		trace.Export("B", "b.c")
		trace.Leave(&msgtrace.Egress{Peer: msgtrace.Peer{CID: 9}, Account: "B", Subscription: "b.c", Error: msgtrace.NoEcho})
		trace.Request("C", "a.c", "c")
		first, second := trace.Store("S"), trace.Store("T")
		second.Done("", false, "full")
		trace.Release()
		if done != 0 {
			t.Error("done before all streams have decided")
		}
		first.Done("s.c", true, "")
		if done != 1 {
			t.Errorf("done %d times, want 1", done)
		}
		if got := text(t, trace); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	})
}

func TestRefused(t *testing.T) {
	trace := msgtrace.New(nil, 3, true, func(*msgtrace.Trace) {})
	trace.Enter(msgtrace.Peer{CID: 1}, "A", "x")
	trace.Refuse("no")
	trace.Release()
	if got := text(t, trace); !trace.Only() || !strings.Contains(got, `"error": "no"`) || !strings.Contains(got, `"request": {
  "msgsize": 3
 }`) {
		t.Errorf("got %s", got)
	}
}

// TestBounds checks that neither many subscribers nor a large header make a report large.
func TestBounds(t *testing.T) {
	trace := msgtrace.New(block("A: b", "Large: "+strings.Repeat("x", 100_000), "C: d"), 3, false, func(*msgtrace.Trace) {})
	for range 10_000 {
		trace.Leave(&msgtrace.Egress{Peer: msgtrace.Peer{CID: 1}})
	}
	if n := trace.Bytes(); n < 500_000 || n > 2<<20 {
		t.Errorf("it is to take %d bytes", n)
	}
	r := trace.Report()
	if len(r.Events) != 4096 || r.Omitted != 10_000-4096 || len(r.Request.Header) != 1 {
		t.Errorf("got %d events, %d omitted, header %v", len(r.Events), r.Omitted, r.Request.Header)
	}
}

// TestManyStreams has streams decide at the same time as the message is routed.
func TestManyStreams(t *testing.T) {
	const streams = 50
	complete := make(chan struct{})
	trace := msgtrace.New(nil, 0, false, func(trace *msgtrace.Trace) {
		if n := len(trace.Report().Events); n != 2*streams {
			t.Errorf("got %d events, want %d", n, 2*streams)
		}
		close(complete)
	})
	var all sync.WaitGroup
	for range streams {
		s := trace.Store("S")
		all.Go(func() { s.Done("x", false, "") })
		trace.Map("y")
	}
	trace.Release()
	all.Wait()
	<-complete
}

// TestHops: servers that a message goes on to are numbered, and know their numbers.
func TestHops(t *testing.T) {
	header := []byte("NATS/1.0\r\nNats-Trace-Dest: d\r\n\r\n")
	first := msgtrace.New(header, 1, false, func(*msgtrace.Trace) {})
	for _, want := range []string{"1", "2"} {
		if got := first.Hop(); got != want {
			t.Errorf("hop %q, want %q", got, want)
		}
	}
	if got := first.Report().Hops; got != 2 {
		t.Errorf("%d hops, want 2", got)
	}
	next := msgtrace.New(msgtrace.Onward(header, "2"), 1, false, func(*msgtrace.Trace) {})
	if got := next.Hop(); got != "2.1" {
		t.Errorf("hop of the next server %q, want 2.1", got)
	}
}
