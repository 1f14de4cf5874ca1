package bench_test

import (
	"context"
	"testing"

	"runnel/bench"
)

func TestWindowFollowsTheBytes(t *testing.T) {
	tests := []struct {
		size, fan    int
		limit, batch int64
	}{
		{16, 1, 104857, 512},
		{128, 10, 4369, 512},
		{128, 100, 436, 109},
		{32 << 10, 100, 4, 1}, // never so small that publishers could block each other
		{16, 0, 104857, 512},  // nobody listens: the window is not used
	}
	for _, test := range tests {
		limit, batch := bench.Window(test.size, test.fan)
		if limit != test.limit || batch != test.batch {
			t.Errorf("%d bytes to %d: got limit %d, batch %d, want %d, %d", test.size, test.fan, limit, batch, test.limit, test.batch)
		}
	}
}

func TestWindowBoundsWhatIsUnderWay(t *testing.T) {
	for _, test := range []struct {
		size, fan int
		delivered int64
	}{{128, 10, 0}, {128, 10, 5000}, {1 << 10, 1, 300}, {32 << 10, 100, 0}} {
		ctx, cancel := context.WithTimeout(t.Context(), waitALittle)
		limit, batch := bench.Window(test.size, test.fan)
		got := bench.Reserve(ctx, test.size, test.fan, test.delivered)
		cancel()
		// As much as fits above what was delivered, in whole batches.
		room := limit + test.delivered/int64(test.fan)
		if got > room || got <= room-batch {
			t.Errorf("%+v: got %d messages through, want at most %d in batches of %d", test, got, room, batch)
		}
	}
}

func TestWindowWithoutListeners(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), waitALittle)
	defer cancel()
	limit, _ := bench.Window(128, 0)
	if got := bench.Reserve(ctx, 128, 0, 0); got <= limit {
		t.Errorf("got %d messages through, want no bound at %d", got, limit)
	}
}
