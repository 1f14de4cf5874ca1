package backup_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"runnel/jetlog/body"
	"runnel/jetlog/config"
	"runnel/server/jetstream/backup"
)

// whole is a backup as a value.
type whole struct {
	State     backup.State
	Consumers []backup.Consumer
	Messages  []body.Message
}

// write writes a backup.
func (b *whole) write(w io.Writer) error {
	out := backup.NewWriter(w, time.Unix(1_700_000_000, 0))
	if err := out.WriteState(b.State); err != nil {
		return err
	}
	for _, c := range b.Consumers {
		if err := out.WriteConsumer(c); err != nil {
			return err
		}
	}
	for _, m := range b.Messages {
		if err := out.WriteMessage(m); err != nil {
			return err
		}
	}
	return out.Close()
}

// read reads a backup whole.
func read(r io.Reader) (*whole, error) {
	in, err := backup.NewReader(r)
	if err != nil {
		return nil, err
	}
	b := new(whole)
	for {
		e, err := in.Next()
		if errors.Is(err, io.EOF) {
			return b, nil
		}
		if err != nil {
			return b, err
		}
		switch {
		case e.State != nil:
			b.State = *e.State
		case e.Consumer != nil:
			b.Consumers = append(b.Consumers, *e.Consumer)
		default:
			b.Messages = append(b.Messages, *e.Message)
		}
	}
}

// example is a backup with some of everything.
func example() *whole {
	until := time.Unix(1_800_000_000, 5).UTC()
	return &whole{
		State: backup.State{
			Messages: 3, Bytes: 5_000_200, FirstSequence: 7, FirstTime: time.Unix(1_600_000_000, 1).UTC(),
			LastSequence: 12, LastTime: time.Unix(1_600_000_009, 0).UTC(), Subjects: 2, Deleted: 3, Consumers: 2,
			Producers: []backup.Producer{{Name: "p", Number: 70, Sequence: 9}, {Name: "q", Number: 1, Sequence: 12}},
		},
		Consumers: []backup.Consumer{
			{
				Config: config.Consumer{
					Name: "pull", Durable: "pull", Ack: config.AckExplicit, AckWait: 30 * time.Second, MaxDeliver: -1,
					MaxAckPending: 1000, MaxWaiting: 512, PauseUntil: &until, Metadata: map[string]string{"a": "b"},
				},
				State: backup.ConsumerState{
					Delivered: backup.Position{Consumer: 9, Stream: 11}, AckFloor: backup.Position{Consumer: 2, Stream: 7},
					Pending:     map[uint64]backup.Pending{8: {Sequence: 3, Timestamp: 1_600_000_001e9}, 11: {Sequence: 9, Timestamp: 1_600_000_002e9}},
					Redelivered: map[uint64]uint64{8: 4},
				},
			},
			{Config: config.Consumer{Name: "push", DeliverSubject: "to.here", FilterSubjects: []string{"a.*", "b"}}},
		},
		Messages: []body.Message{
			{Sequence: 7, Time: 1_600_000_000e9 + 1, Subject: "a.b", Header: []byte("NATS/1.0\r\nNats-TTL: 1h\r\n\r\n"), Payload: []byte("one")},
			{Sequence: 11, Time: 1_600_000_004e9, Subject: "state.json", Payload: bytes.Repeat([]byte("large"), 1e6)},
			{Sequence: 12, Time: 1_600_000_009e9, Subject: "consumers/x", Payload: []byte{}},
		},
	}
}

func TestRoundTrip(t *testing.T) {
	for name, b := range map[string]*whole{
		"empty":   {},
		"purged":  {State: backup.State{FirstSequence: 4, LastSequence: 3}},
		"example": example(),
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := b.write(&out); err != nil {
				t.Fatal(err)
			}
			got, err := read(&out)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, b) {
				t.Errorf("got %+v\nwant %+v", got, b)
			}
		})
	}
}

// TestRewritten writes what was read of every golden backup, and reads that.
func TestRewritten(t *testing.T) {
	for _, file := range goldens(t) {
		first, err := readFile(file)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		var out bytes.Buffer
		if err := first.write(&out); err != nil {
			t.Fatalf("%s: write: %v", file, err)
		}
		again, err := read(&out)
		if err != nil {
			t.Fatalf("%s: read what was written: %v", file, err)
		}
		if !reflect.DeepEqual(first, again) {
			t.Errorf("%s: got %+v\nwant %+v", file, again, first)
		}
	}
}

func TestWriterOrder(t *testing.T) {
	state := func(w *backup.Writer) error { return w.WriteState(backup.State{}) }
	stateOfOne := func(w *backup.Writer) error { return w.WriteState(backup.State{Consumers: 1}) }
	consumer := func(w *backup.Writer) error {
		return w.WriteConsumer(backup.Consumer{Config: config.Consumer{Name: "c"}})
	}
	message := func(seq uint64) func(*backup.Writer) error {
		return func(w *backup.Writer) error { return w.WriteMessage(body.Message{Sequence: seq, Subject: "a"}) }
	}
	end := (*backup.Writer).Close
	type steps []func(*backup.Writer) error
	tests := map[string]steps{
		"nothing":                 {end},
		"consumer first":          {consumer},
		"message first":           {message(1)},
		"two states":              {state, state},
		"state after message":     {state, message(1), state},
		"consumer after message":  {state, message(1), consumer},
		"consumer too many":       {stateOfOne, consumer, consumer},
		"end without a consumer":  {stateOfOne, end},
		"message without one":     {stateOfOne, message(1)},
		"no sequence":             {state, message(0)},
		"same sequence":           {state, message(3), message(3)},
		"backwards":               {state, message(3), message(2)},
		"message after the end":   {state, end, message(1)},
		"consumer after the end":  {state, end, consumer},
		"state after the end":     {state, end, state},
		"two ends":                {state, end, end},
		"consumer without a name": {stateOfOne, func(w *backup.Writer) error { return w.WriteConsumer(backup.Consumer{}) }},
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) {
			w := backup.NewWriter(io.Discard, time.Time{})
			for i, step := range steps {
				err := step(w)
				if last := i == len(steps)-1; !last && err != nil {
					t.Fatalf("step %d: %v", i, err)
				} else if last && !errors.Is(err, backup.ErrOrder) {
					t.Fatalf("got %v, want %v", err, backup.ErrOrder)
				}
			}
		})
	}
}

// fullDisk fails after some bytes.
type fullDisk struct{ room int }

var errFull = errors.New("disk full")

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.room -= len(p); d.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestWriterPassesErrorsOn(t *testing.T) {
	b := example()
	b.Messages[1].Payload = []byte(strings.Repeat("0123456789abcdef", 1<<17))
	for _, room := range []int{0, 10, 100} {
		if err := b.write(&fullDisk{room: room}); !errors.Is(err, errFull) {
			t.Errorf("with room for %d bytes: got %v, want %v", room, err, errFull)
		}
	}
}

func BenchmarkWriteMessage(b *testing.B) {
	w := backup.NewWriter(io.Discard, time.Time{})
	if err := w.WriteState(backup.State{}); err != nil {
		b.Fatal(err)
	}
	m := body.Message{Time: time.Now().UnixNano(), Subject: "orders.new", Payload: make([]byte, 128)}
	b.ReportAllocs()
	for b.Loop() {
		m.Sequence++
		if err := w.WriteMessage(m); err != nil {
			b.Fatal(err)
		}
	}
}
