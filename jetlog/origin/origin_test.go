package origin_test

import (
	"fmt"
	"testing"

	"runnel/jetlog/codec"
	"runnel/jetlog/origin"
)

func read(t *testing.T, table *origin.Table, value string) origin.Header {
	t.Helper()
	h, ok := table.Read([]byte(value))
	if !ok {
		t.Fatalf("%q cannot be read", value)
	}
	return h
}

func TestRead(t *testing.T) {
	tests := []struct {
		value string
		key   string // empty: cannot be read
		want  origin.Position
	}{
		{"A 7 x.* y.$1 x.a id", origin.Key("A", "x.*", "y.$1"), origin.Position{Sequence: 7, Identity: "id"}},
		{"A 7 x.* y.$1 x.a", origin.Key("A", "x.*", "y.$1"), origin.Position{Sequence: 7}},
		{"A 7 x\fy >\fz x id more", origin.Key("A", "x\fy", ">\fz"), origin.Position{Sequence: 7, Identity: "id"}},
		{"A 7", origin.Key("A", ">", ">"), origin.Position{Sequence: 7}},
		{"A 18446744073709551615", origin.Key("A", ">", ">"), origin.Position{Sequence: 1<<64 - 1}},
		{"", "", origin.Position{}},
		{"A", "", origin.Position{}},
		{"A x", "", origin.Position{}},
		{" 7", "", origin.Position{}},
		{"A -1", "", origin.Position{}},
	}
	for _, tt := range tests {
		t.Run(tt.value, func(t *testing.T) {
			var table origin.Table
			h, ok := table.Read([]byte(tt.value))
			if ok != (tt.key != "") {
				t.Fatalf("read: %v", ok)
			}
			if !ok {
				return
			}
			table.Arrive(h, 0)
			if got := table.Of(tt.key); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestFollows(t *testing.T) {
	var table origin.Table
	if h := read(t, &table, "A 5 > > a id"); !table.Follows(h, 0) || table.Follows(h, 4) {
		t.Error("the first message has none before it")
	}
	table.Arrive(read(t, &table, "A 5 > > a id"), 1)
	tests := []struct {
		value    string
		previous uint64
		want     bool
	}{
		{"A 6 > > a id", 5, true},
		{"A 9 > > a id", 6, false},
		{"A 6 > > a id", 0, false},
		{"A 1 > > a other", 0, true},
		{"A 6 > > a other", 5, false},
		{"A 6 > > a", 5, true},
		{"B 6 > > a id", 0, true},
		{"A 6 x > x id", 5, false},
	}
	for _, tt := range tests {
		if got := table.Follows(read(t, &table, tt.value), tt.previous); got != tt.want {
			t.Errorf("%q behind %d: got %v", tt.value, tt.previous, got)
		}
	}
}

// TestBounded brings messages of more sources than are remembered.
func TestBounded(t *testing.T) {
	var table origin.Table
	for i := range 4100 {
		table.Arrive(read(t, &table, fmt.Sprintf("A%d 1", i)), uint64(i))
	}
	for i, want := range map[int]uint64{0: 0, 3: 0, 4: 1, 4099: 1} {
		if got := table.Of(origin.Key(fmt.Sprintf("A%d", i), ">", ">")).Sequence; got != want {
			t.Errorf("source %d: got sequence %d, want %d", i, got, want)
		}
	}
}

func TestSnapshot(t *testing.T) {
	var table origin.Table
	for _, value := range []string{"B 3 > > b id", "A 5 x y x", "A 2"} {
		table.Arrive(read(t, &table, value), 7)
	}
	form := table.AppendSnapshot(nil)
	var again origin.Table
	r := codec.NewReader(form)
	if !again.Restore(&r) || r.End() != nil {
		t.Fatalf("not restored: %v", r.Err())
	}
	if got := again.AppendSnapshot(nil); string(got) != string(form) {
		t.Errorf("got %q, want %q", got, form)
	}
	for n := range form {
		r := codec.NewReader(form[:n])
		var cut origin.Table
		if cut.Restore(&r); r.End() == nil {
			t.Errorf("restored from %d of %d bytes", n, len(form))
		}
	}
	// Two with the same key are not in order.
	twice := append([]byte{2}, append(append([]byte{}, form[1:12]...), form[1:12]...)...)
	r = codec.NewReader(twice)
	var wrong origin.Table
	if wrong.Restore(&r) && r.End() == nil {
		t.Error("restored out of order")
	}
}

func FuzzRead(f *testing.F) {
	f.Add("A 7 x.* y.$1 x.a id")
	f.Add("A 7")
	f.Fuzz(func(t *testing.T, value string) {
		var table origin.Table
		h, ok := table.Read([]byte(value))
		if !ok {
			return
		}
		table.Arrive(h, 1)
		form := table.AppendSnapshot(nil)
		var again origin.Table
		r := codec.NewReader(form)
		if !again.Restore(&r) || r.End() != nil {
			t.Fatalf("%q is not restored", value)
		}
	})
}
