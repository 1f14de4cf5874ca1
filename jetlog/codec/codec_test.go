package codec_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"runnel/jetlog/codec"
)

func TestRoundTrip(t *testing.T) {
	b := codec.AppendUint(nil, uint64(math.MaxUint64))
	b = codec.AppendInt(b, int64(math.MinInt64))
	b = codec.AppendBytes(b, "text")
	b = codec.AppendBytes(b, []byte(nil))
	b = codec.AppendBool(b, true)
	b = codec.AppendUint(b, uint8(2))
	b = append(b, 7, 9)

	r := codec.NewReader(b)
	if got := r.Uint(); got != math.MaxUint64 {
		t.Errorf("Uint: got %d", got)
	}
	if got := r.Int(); got != math.MinInt64 {
		t.Errorf("Int: got %d", got)
	}
	if got := r.String(); got != "text" {
		t.Errorf("String: got %q", got)
	}
	if got := r.Bytes(); got != nil {
		t.Errorf("Bytes: got %q, want nil", got)
	}
	if !r.Bool() {
		t.Error("Bool: got false")
	}
	if got := r.Count(1); got != 2 {
		t.Errorf("Count: got %d, want 2", got)
	}
	if a, b := r.Byte(), r.Byte(); a != 7 || b != 9 {
		t.Errorf("Byte: got %d %d", a, b)
	}
	if err := r.End(); err != nil {
		t.Errorf("End: %v", err)
	}
}

func TestDamage(t *testing.T) {
	tests := []struct {
		name string
		data string
		read func(*codec.Reader)
		want string
	}{
		{"no byte", "", func(r *codec.Reader) { r.Byte() }, "a byte is missing at byte 0"},
		{"flag", "\x02", func(r *codec.Reader) { r.Bool() }, "neither 0 nor 1"},
		{"number cut", "\x80", func(r *codec.Reader) { r.Uint() }, "cut off"},
		{"number large", strings.Repeat("\xff", 11), func(r *codec.Reader) { r.Uint() }, "too large"},
		{"signed cut", "\x80", func(r *codec.Reader) { r.Int() }, "cut off"},
		{"string", "\x05abcd", func(r *codec.Reader) { r.Bytes() }, "longer than what is left"},
		{"string huge", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", func(r *codec.Reader) { r.Bytes() }, "longer"},
		{"list", "\x03abcde", func(r *codec.Reader) { r.Count(2) }, "a list is longer"},
		{"rest", "ab", func(r *codec.Reader) { r.Byte() }, "1 bytes too many at byte 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := codec.NewReader([]byte(tt.data))
			tt.read(&r)
			err := r.End()
			if !errors.Is(err, codec.ErrDamaged) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want %q", err, tt.want)
			}
			if r.Byte() != 0 || r.Uint() != 0 || r.Bytes() != nil || r.Rest() != 0 {
				t.Error("something was read after the damage")
			}
			if got := r.Err(); got.Error() != err.Error() {
				t.Errorf("the first damage is not kept: %v", got)
			}
		})
	}
}

func TestUints(t *testing.T) {
	for _, list := range [][]uint64{nil, {0}, {3, 1 << 60, 2}} {
		data := codec.AppendUints(nil, list)
		r := codec.NewReader(data)
		if got := r.Uints(); !slices.Equal(got, list) || r.End() != nil {
			t.Errorf("got %v, %v, want %v", got, r.End(), list)
		}
		r = codec.NewReader(data[:len(data)-1])
		if r.Uints(); r.Err() == nil {
			t.Errorf("%v: a list that is cut off is read", list)
		}
	}
}
