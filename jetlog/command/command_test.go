package command_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"runnel/jetlog/causes"
	"runnel/jetlog/codec"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/producers"
)

// examples has a command of every kind, every field set.
func examples() []command.Command {
	at := time.Unix(1700000000, 5).UTC()
	stream := config.Stream{
		Name: "ORDERS", Subjects: []string{"orders.>"}, MaxMessages: 10, MaxBytes: -1, MaxAge: time.Hour,
		Retention: config.WorkQueueRetention, Metadata: map[string]string{"b": "1", "a": "2"},
		Mirror: &config.Source{Name: "O", StartTime: &at},
	}
	consumer := config.Consumer{
		Name: "c", Durable: "c", Ack: config.AckExplicit, Deliver: config.DeliverByStartTime, StartTime: &at,
		Backoff: []time.Duration{time.Second}, FilterSubjects: []string{"a", "b.*"},
	}
	source := causes.Source{ID: 1 << 40, Stream: "ORDERS", Consumer: "c", Incarnation: 3}
	return []command.Command{
		&command.Publish{
			Time: 1700000000000000000, Subject: "orders.new", Header: []byte("NATS/1.0\r\nA: b\r\n\r\n"),
			Payload: []byte("payload"), Internal: true,
		},
		&command.Publish{Time: 1, Subject: "s"},
		&command.Delete{Time: 2, Sequence: 7, Erase: true},
		&command.Purge{Time: 3, Filter: "orders.*", Sequence: 300, Keep: 2},
		&command.Expire{Time: 4, Max: 100},
		&command.Configure{Time: 5, Config: stream},
		&command.ConsumerCreate{Time: 6, Action: command.UpdateOnly, Max: 1000, Config: consumer},
		&command.ConsumerDelete{Time: 7, Consumer: "c"},
		&command.Deliver{
			Time: 8, Consumer: "c", Incarnation: 3, From: 12,
			Messages: []command.Delivery{{Sequence: 5}, {Sequence: 3, Again: true}},
		},
		&command.Ack{Time: 9, Consumer: "c", Replies: []command.Reply{
			{Answer: command.Done, Sequence: 1},
			{Answer: command.Nak, Sequence: 2, Delay: time.Second},
			{Answer: command.Terminate, Sequence: 3},
			{Answer: command.Progress, Sequence: 4},
		}},
		&command.AckDeadline{Time: 10},
		&command.Skip{Time: 10, Consumer: "c", Incarnation: 3, Above: 300, UpTo: 900, Passed: []uint64{301, 700}, Failed: []uint64{302}},
		&command.Skip{Time: 10, Consumer: "c", Above: 1, UpTo: 2},
		&command.Pause{Time: 11, Consumer: "c", Until: 99},
		&command.Reset{Time: 12, Consumer: "c", Sequence: 4},
		&command.Pin{Time: 13, Consumer: "c", Group: "g", ID: "id"},
		&command.Publish{Time: 14, Subject: "s", Fire: 99},
		&command.Publish{Time: 15, Subject: "s", Internal: true, Fire: command.UnknownZone},
		&command.Publish{Time: 15, Subject: "s", Internal: true, Sourced: true, Previous: 1 << 40},
		&command.Publish{Time: 15, Subject: "s", Internal: true, Sourced: true, Fire: 7},
		&command.Publish{Time: 15, Subject: "s", Put: &command.Put{Producer: "p", Number: 300, After: 7}},
		&command.Publish{Time: 15, Subject: "s", Cause: &causes.Cause{Source: source, Sequence: 17, Paid: 4}},
		&command.Settle{Time: 15, Consumer: "c", Incarnation: 3, Sequences: []uint64{5, 300, 4}},
		&command.Paid{Time: 15, Source: source, Sequences: []uint64{7}},
		&command.Batch{Time: 16, Members: []command.Publish{
			{Time: 16, Subject: "s", Header: []byte("NATS/1.0\r\nA: b\r\n\r\n")},
			{Time: 16, Subject: "t", Payload: []byte("payload"), Fire: 99},
		}},
		&command.Copy{Time: 17, From: 5, Through: 900, Messages: []command.Copied{
			{Sequence: 6, Time: 4, Subject: "s", Payload: []byte("payload")},
			{Sequence: 700, Time: 5, Subject: "t", Header: []byte("NATS/1.0\r\nA: b\r\n\r\n"), Fire: 99},
		}},
		&command.Continue{Time: 19},
		&command.Fire{
			Time: 18, Schedule: "s.later", Sequence: 6, Due: 17, Next: 27, Subject: "s.now",
			Header: []byte("NATS/1.0\r\nNats-Scheduler: s.later\r\n\r\n"), Payload: []byte("payload"),
		},
		&command.ConsumerRestore{
			Time: 20, Max: 9, Config: consumer, DeliveredConsumer: 12, DeliveredStream: 30, FloorConsumer: 3, FloorStream: 7,
			Pending:   []command.Restored{{Sequence: 8, Consumer: 4, Count: 2}, {Sequence: 30, Consumer: 12, Count: 1}},
			Exhausted: []uint64{9, 11}, Initial: []uint64{31, 40}, Resume: 41,
		},
		&command.GiveUp{Time: 22, Consumer: "c", Messages: []command.GivenUp{{Sequence: 5, Text: "not a number"}, {Sequence: 6}}},
		&command.Handed{Time: 23, Consumer: "c", Box: 4, UpTo: 700},
		&command.Producers{
			Time: 24, Forget: []command.Producer{{Name: "\ndlq.1.2", Mark: producers.Mark{Number: 3, Sequence: 400}}},
			Set: []command.Producer{{Name: "p", Mark: producers.Mark{Number: 500, Sequence: 6}}, {Name: "q"}},
		},
	}
}

func TestRoundTrip(t *testing.T) {
	kinds := map[command.Kind]bool{}
	for _, c := range examples() {
		kinds[c.Kind()] = true
		data := command.Append([]byte("before"), c)[len("before"):]
		got, err := command.Decode(data)
		if err != nil {
			t.Fatalf("%T: %v", c, err)
		}
		if !reflect.DeepEqual(got, c) {
			t.Errorf("got %+v, want %+v", got, c)
		}
		if got.At() != c.At() || c.Kind().Level() < 1 || c.Kind().Level() > command.Level {
			t.Errorf("%T: at %d, level %d", c, got.At(), c.Kind().Level())
		}
		switch c.(type) {
		case *command.Publish, *command.Batch, *command.Copy, *command.Fire:
			if !c.Kind().Stores() {
				t.Errorf("%T brings no messages", c)
			}
		default:
			if c.Kind().Stores() {
				t.Errorf("%T brings messages", c)
			}
		}
		if again := command.Append(nil, got); !bytes.Equal(again, data) {
			t.Errorf("%T: encoded again it is another", c)
		}
		for n := range data {
			if _, err := command.Decode(data[:n]); err == nil {
				t.Errorf("%T: decoded from %d of %d bytes", c, n, len(data))
			}
		}
	}
	for k := range command.Kind(255) {
		if k.Level() > 0 != kinds[k] {
			t.Errorf("kind %d has level %d, but an example is %v", k, k.Level(), kinds[k])
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	valid := command.Append(nil, &command.Delete{Time: 1, Sequence: 2})
	change := func(i int, b byte) []byte {
		d := bytes.Clone(valid)
		d[i] = b
		return d
	}
	tests := []struct {
		name string
		data []byte
		is   error
		text string
	}{
		{"nothing", nil, codec.ErrDamaged, "missing"},
		{"version 0", change(0, 0), codec.ErrDamaged, "version 0"},
		{"later version", change(0, 2), command.ErrNewer, "this program knows up to 1"},
		{"unknown kind", change(1, 200), command.ErrNewer, "kind 200"},
		{"bytes too many", append(bytes.Clone(valid), 0), codec.ErrDamaged, "1 bytes too many"},
		{"action", []byte{1, 16, 0, 3, 0, 2, '{', '}'}, codec.ErrDamaged, "an action"},
		{"answer", []byte{1, 19, 0, 1, 'c', 1, 9, 1}, codec.ErrDamaged, "an answer"},
		{"config", append([]byte{1, 5, 0, 7}, `{"x":1}`...), codec.ErrDamaged, "a configuration"},
		{"config twice", append([]byte{1, 5, 0, 4}, `{}{}`...), codec.ErrDamaged, "a configuration"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := command.Decode(tt.data)
			if !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %v, want %q", err, tt.text)
			}
		})
	}
}

// TestUnwritable sees that a configuration that has no form is refused by the reader, rather than
// read as another.
func TestUnwritable(t *testing.T) {
	data := command.Append(nil, &command.Configure{Config: config.Stream{Retention: 77}})
	if _, err := command.Decode(data); !errors.Is(err, codec.ErrDamaged) {
		t.Errorf("got %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, c := range examples() {
		f.Add(command.Append(nil, c))
	}
	f.Add([]byte{1, 18, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := command.Decode(data)
		if err != nil {
			return
		}
		// What was decoded has one form: what it is written as is read as the same.
		form := command.Append(nil, c)
		again, err := command.Decode(form)
		if err != nil {
			t.Fatalf("%q is written as %q: %v", data, form, err)
		}
		if !bytes.Equal(command.Append(nil, again), form) {
			t.Fatalf("%q has two forms", data)
		}
	})
}

var update = flag.Bool("update", false, "write the golden file of this version")

// TestGolden decodes the commands of every version, and sees that this one is still written alike.
func TestGolden(t *testing.T) {
	const file = "testdata/golden/commands-1"
	var now []byte
	for _, c := range examples() {
		now = codec.AppendBytes(now, command.Append(nil, c))
	}
	if *update {
		if err := os.WriteFile(file, now, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(golden, now) {
		t.Errorf("the form has changed: got\n%q\nwant\n%q", now, golden)
	}
	r := codec.NewReader(golden)
	for _, want := range examples() {
		got, err := command.Decode(r.Bytes())
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
}
