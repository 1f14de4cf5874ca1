package command_test

import (
	"bytes"
	"errors"
	"math"
	"os"
	"reflect"
	"testing"

	"runnel/jetlog/codec"
	"runnel/jetlog/command"
)

// packs are packs with everything that a publish can have.
func packs() [][]command.Publish {
	plain := command.Publish{Time: 1_700_000_000_000_000_000, Subject: "orders.new", Payload: []byte("one")}
	rich := command.Publish{
		Time: plain.Time, Subject: "orders.eu", Header: []byte("NATS/1.0\r\nA: b\r\n\r\n"), Payload: []byte("two"),
		Internal: true, Fire: 77, Sourced: true, Previous: 9,
	}
	early := command.Publish{Time: plain.Time - 5, Subject: "x"}
	return [][]command.Publish{
		{plain},
		{plain, rich, early},
		{{Time: math.MinInt64, Subject: "a"}, {Time: math.MaxInt64, Subject: "b"}, {Subject: "c"}},
	}
}

func TestPackRoundTrip(t *testing.T) {
	for _, want := range packs() {
		data := command.AppendPack([]byte("before"), want)[len("before"):]
		got, err := command.DecodePack(data)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

func TestDecodePackRefuses(t *testing.T) {
	whole := command.AppendPack(nil, packs()[1])
	for n := range whole {
		if _, err := command.DecodePack(whole[:n]); !errors.Is(err, codec.ErrDamaged) {
			t.Errorf("%d of %d bytes: %v, want %v", n, len(whole), err, codec.ErrDamaged)
		}
	}
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"more":     {append(bytes.Clone(whole), 0), codec.ErrDamaged},
		"nothing":  {[]byte{1, 0}, codec.ErrDamaged},
		"many":     {[]byte{1, 0xff, 0xff, 0xff, 0xff, 0x0f}, codec.ErrDamaged},
		"newer":    {[]byte{command.Version + 1, 1}, command.ErrNewer},
		"no such":  {[]byte{0, 1}, codec.ErrDamaged},
		"bad flag": {[]byte{1, 1, 0, 0, 0, 0, 0xff}, codec.ErrDamaged},
	} {
		if got, err := command.DecodePack(c.data); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, c.want)
		}
	}
}

func FuzzDecodePack(f *testing.F) {
	for _, p := range packs() {
		f.Add(command.AppendPack(nil, p))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		publishes, err := command.DecodePack(data)
		if err != nil {
			return
		}
		form := command.AppendPack(nil, publishes)
		again, err := command.DecodePack(form)
		if err != nil {
			t.Fatalf("%q is written as %q: %v", data, form, err)
		}
		if !bytes.Equal(command.AppendPack(nil, again), form) {
			t.Fatalf("%q has two forms", data)
		}
	})
}

// TestPackGolden decodes packs as they were written once, and sees that they are still written alike.
func TestPackGolden(t *testing.T) {
	const file = "testdata/golden/packs-1"
	var now []byte
	for _, p := range packs() {
		now = codec.AppendBytes(now, command.AppendPack(nil, p))
	}
	if *update {
		if err := os.WriteFile(file, now, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	then, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(then, now) {
		t.Errorf("packs are written in another way than before")
	}
	r := codec.NewReader(then)
	for i, want := range packs() {
		got, err := command.DecodePack(r.Bytes())
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("pack %d: got %+v, %v, want %+v", i, got, err, want)
		}
	}
}
