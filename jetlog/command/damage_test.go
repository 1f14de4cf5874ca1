package command_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"runnel/jetlog/codec"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
)

// extremes has commands whose values are at the ends of their types.
func extremes() map[string]command.Command {
	long := string(bytes.Repeat([]byte("n"), 300))
	return map[string]command.Command{
		"publish, zero":          &command.Publish{},
		"publish, first time":    &command.Publish{Time: math.MinInt64, Subject: long},
		"publish, last time":     &command.Publish{Time: math.MaxInt64, Payload: bytes.Repeat([]byte{0}, 5000)},
		"publish, header only":   &command.Publish{Header: []byte("NATS/1.0\r\n\r\n"), Internal: true},
		"publish, bytes":         &command.Publish{Subject: "a\x00b", Payload: []byte{0xff, 0x80, 0, 1}},
		"delete, zero":           &command.Delete{},
		"delete, last":           &command.Delete{Time: -1, Sequence: math.MaxUint64},
		"purge, zero":            &command.Purge{},
		"purge, last":            &command.Purge{Time: math.MaxInt64, Filter: long, Sequence: math.MaxUint64, Keep: math.MaxUint64},
		"expire, zero":           &command.Expire{},
		"expire, last":           &command.Expire{Time: math.MinInt64, Max: math.MaxUint64},
		"configure, zero":        &command.Configure{},
		"configure, long":        &command.Configure{Config: config.Stream{Name: long, Subjects: slices.Repeat([]string{long}, 50)}},
		"create, zero":           &command.ConsumerCreate{},
		"create, only":           &command.ConsumerCreate{Action: command.CreateOnly, Max: math.MaxUint64},
		"create, extremes":       &command.ConsumerCreate{Config: config.Consumer{MaxDeliver: math.MaxInt, StartSequence: math.MaxUint64, AckWait: math.MaxInt64}},
		"delete consumer, zero":  &command.ConsumerDelete{},
		"delete consumer, long":  &command.ConsumerDelete{Time: 1 << 62, Consumer: long},
		"deliver, nothing":       &command.Deliver{Messages: []command.Delivery{}},
		"deliver, many":          &command.Deliver{From: math.MaxUint64, Messages: slices.Repeat([]command.Delivery{{math.MaxUint64, true}}, 200)},
		"ack, nothing":           &command.Ack{Replies: []command.Reply{}},
		"ack, many":              &command.Ack{Replies: slices.Repeat([]command.Reply{{Answer: command.Progress, Sequence: 1 << 40}}, 200)},
		"nak, the longest delay": &command.Ack{Replies: []command.Reply{{Answer: command.Nak, Delay: math.MaxInt64}, {Answer: command.Nak, Delay: -1}}},
		"deadline, zero":         &command.AckDeadline{},
		"deadline, first":        &command.AckDeadline{Time: math.MinInt64},
		"pause, zero":            &command.Pause{},
		"pause, for ever":        &command.Pause{Consumer: long, Until: math.MaxInt64},
		"reset, zero":            &command.Reset{},
		"reset, last":            &command.Reset{Consumer: "c", Sequence: math.MaxUint64},
		"pin, nobody":            &command.Pin{Consumer: "c", Group: "g"},
		"publish, later":         &command.Publish{Subject: "s", Fire: math.MaxInt64},
		"publish, long ago":      &command.Publish{Subject: "s", Fire: math.MinInt64, Internal: true},
		"batch, nothing":         &command.Batch{Members: []command.Publish{}},
		"batch, many":            &command.Batch{Time: 1, Members: slices.Repeat([]command.Publish{{Time: 1, Subject: long}}, 9)},
		"copy, nothing":          &command.Copy{Messages: []command.Copied{}},
		"copy, extremes":         &command.Copy{From: math.MaxUint64, Through: math.MaxUint64, Messages: []command.Copied{{Sequence: math.MaxUint64, Time: math.MinInt64, Fire: math.MaxInt64}}},
		"copy, many":             &command.Copy{Messages: slices.Repeat([]command.Copied{{Subject: long}}, 9)},
		"fire, zero":             &command.Fire{},
		"fire, extremes":         &command.Fire{Schedule: long, Sequence: math.MaxUint64, Due: math.MinInt64, Next: math.MaxInt64},
		"pin, long":              &command.Pin{Consumer: long, Group: long, ID: long},
	}
}

// TestExtremes sees that commands with extreme values are read as they were written, and not from a
// part of that.
func TestExtremes(t *testing.T) {
	for name, c := range extremes() {
		t.Run(name, func(t *testing.T) {
			data := command.Append(nil, c)
			got, err := command.Decode(data)
			if err != nil || !reflect.DeepEqual(got, c) {
				t.Fatalf("got %+v, %v, want %+v", got, err, c)
			}
			if got.Kind() != c.Kind() || got.At() != c.At() {
				t.Errorf("got kind %d at %d, want %d at %d", got.Kind(), got.At(), c.Kind(), c.At())
			}
			for n := range data {
				if _, err := command.Decode(data[:n:n]); !errors.Is(err, codec.ErrDamaged) {
					t.Fatalf("%d of %d bytes: got %v", n, len(data), err)
				}
			}
			for _, more := range [][]byte{{0}, {1}, data} {
				if _, err := command.Decode(slices.Concat(data, more)); !errors.Is(err, codec.ErrDamaged) {
					t.Errorf("%d bytes more: got %v", len(more), err)
				}
			}
		})
	}
}

// TestChangedBytes gives every byte of every command other values: what comes of it is an error, or a
// command that has a form of its own. Nothing makes room for more than the bytes can hold.
func TestChangedBytes(t *testing.T) {
	for _, c := range examples() {
		data := command.Append(nil, c)
		for at := range data {
			for _, b := range []byte{0, 1, 2, 0x7f, 0x80, 0xff, data[at] ^ 1, data[at] ^ 0x40, data[at] + 1} {
				changed := bytes.Clone(data)
				changed[at] = b
				got, err := command.Decode(changed)
				if err != nil {
					if !errors.Is(err, codec.ErrDamaged) && !errors.Is(err, command.ErrNewer) {
						t.Fatalf("%T, byte %d is %d: the error %v is of no kind", c, at, b, err)
					}
					continue
				}
				form := command.Append(nil, got)
				again, err := command.Decode(form)
				if err != nil || !bytes.Equal(command.Append(nil, again), form) {
					t.Fatalf("%T, byte %d is %d: %+v has no form: %v", c, at, b, got, err)
				}
			}
		}
	}
}

// TestNewerPrograms sees that a later version and every unknown kind are told from damage, whatever
// follows.
func TestNewerPrograms(t *testing.T) {
	known := map[command.Kind]bool{}
	for _, c := range examples() {
		known[c.Kind()] = true
	}
	for _, rest := range [][]byte{nil, {0}, bytes.Repeat([]byte{0xff}, 40)} {
		for k := range 256 {
			kind := command.Kind(k)
			for _, version := range []byte{command.Version + 1, 77, 255} {
				if _, err := command.Decode(append([]byte{version, byte(k)}, rest...)); !errors.Is(err, command.ErrNewer) {
					t.Fatalf("version %d, kind %d: got %v", version, k, err)
				}
			}
			_, err := command.Decode(append([]byte{command.Version, byte(k)}, rest...))
			if !known[kind] && !errors.Is(err, command.ErrNewer) {
				t.Fatalf("kind %d: got %v", k, err)
			}
			if known[kind] && errors.Is(err, command.ErrNewer) {
				t.Fatalf("kind %d is known: got %v", k, err)
			}
			if kind.Level() > command.Level || known[kind] != (kind.Level() > 0) {
				t.Fatalf("kind %d has level %d", k, kind.Level())
			}
		}
	}
}

// TestLongLists sees that a list that says to be longer than what follows makes no room.
func TestLongLists(t *testing.T) {
	for name, head := range map[string][]byte{
		"deliveries": {1, byte(command.KindDeliver), 0, 0, 0, 0},
		"replies":    {1, byte(command.KindAck), 0, 0},
		"batch":      {1, byte(command.KindBatch), 0},
		"copies":     {1, byte(command.KindCopy), 0, 0, 0},
		"subject":    {1, byte(command.KindPublish), 0},
		"config":     {1, byte(command.KindConfigure), 0},
	} {
		t.Run(name, func(t *testing.T) {
			for _, n := range []uint64{1 << 20, 1 << 40, 1 << 62, math.MaxUint64} {
				data := append(codec.AppendUint(bytes.Clone(head), n), make([]byte, 100)...)
				allocs := testing.AllocsPerRun(1, func() {
					if _, err := command.Decode(data); !errors.Is(err, codec.ErrDamaged) {
						t.Errorf("%d: got %v", n, err)
					}
				})
				if allocs > 20 {
					t.Errorf("%d: %v allocations", n, allocs)
				}
			}
		})
	}
}

// TestConfigurations sees that what a configuration has is carried by the commands, and that one
// with a member that is not known is not taken for another.
func TestConfigurations(t *testing.T) {
	for i, text := range []string{
		`{"name":"S","subjects":["a"],"unknown":1}`, `{"name":"S"`, `[]`, `1`, `"S"`, `{"retention":"sometimes"}`,
		`{"max_msgs":1.5}`, `{"sources":[{"name":"O","unknown":1}]}`, `{"name":"S"} x`, ``,
	} {
		data := codec.AppendBytes([]byte{command.Version, byte(command.KindConfigure), 0}, text)
		if c, err := command.Decode(data); !errors.Is(err, codec.ErrDamaged) {
			t.Errorf("%d: %s is read as %+v, %v", i, text, c, err)
		}
		data = codec.AppendBytes([]byte{command.Version, byte(command.KindConsumerCreate), 0, 0, 0}, text)
		if c, err := command.Decode(data); !errors.Is(err, codec.ErrDamaged) {
			t.Errorf("%d: %s is read as %+v, %v", i, text, c, err)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		stream, consumer := config.Stream{}, config.Consumer{}
		populate(rng, reflect.ValueOf(&stream).Elem())
		populate(rng, reflect.ValueOf(&consumer).Elem())
		for _, c := range []command.Command{
			&command.Configure{Time: 1, Config: stream}, &command.ConsumerCreate{Time: 2, Config: consumer},
		} {
			got, err := command.Decode(command.Append(nil, c))
			if err != nil || !reflect.DeepEqual(got, c) {
				t.Fatalf("got %+v, %v, want %+v", got, err, c)
			}
		}
	}
}

// populate sets every field of a configuration, however deep.
func populate(rng *rand.Rand, v reflect.Value) {
	if at, is := v.Addr().Interface().(*time.Time); is {
		*at = time.Unix(rng.Int64N(1<<32), rng.Int64N(1e9)).UTC()
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			populate(rng, field)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		populate(rng, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1+rng.IntN(2), 2))
		for i := range v.Len() {
			populate(rng, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{fmt.Sprint(rng.IntN(9)): "é\"\x01"}))
	case reflect.String:
		v.SetString(fmt.Sprintf("text.%d<&>", rng.IntN(1000)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8:
		v.SetUint(uint64(rng.IntN(2))) // a policy: all have two values
	case reflect.Uint64:
		v.SetUint(rng.Uint64())
	default:
		v.SetInt(int64(int32(rng.Uint32())))
	}
}
