package backup

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
)

// TestProgressThereAndBack writes consumers as a backup has them, and reads them.
func TestProgressThereAndBack(t *testing.T) {
	cfg := config.Consumer{Name: "c", Ack: config.AckExplicit, AckWait: time.Second, MaxDeliver: 3}
	for name, c := range map[string]*command.ConsumerRestore{
		"new": {Config: cfg},
		"in the middle": {
			Config: cfg, DeliveredConsumer: 9, DeliveredStream: 20, FloorConsumer: 2, FloorStream: 5,
			Pending: []command.Restored{{Sequence: 6, Consumer: 3, Count: 3}, {Sequence: 20, Consumer: 9, Count: 1}},
		},
		"exhausted": {Config: cfg, DeliveredConsumer: 9, DeliveredStream: 20, Exhausted: []uint64{3, 4}},
		"last of each": {
			Config: cfg, DeliveredConsumer: 1, DeliveredStream: 2, FloorConsumer: 1, FloorStream: 2, Initial: []uint64{4, 9}, Resume: 12,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := ConsumerOf(c, 1)
			got, err := b.Restore()
			if err != nil || !reflect.DeepEqual(got, c) {
				t.Errorf("got %+v, %v\nwant %+v", got, err, c)
			}
		})
	}
}

// TestNumberedDeliveries gives numbers of deliveries that do not rise.
func TestNumberedDeliveries(t *testing.T) {
	tests := []struct {
		name             string
		delivered, floor uint64
		numbers, want    []uint64
		wantFloor        uint64
		impossible       bool
	}{
		{name: "rising", delivered: 9, floor: 1, numbers: []uint64{2, 5, 9}, want: []uint64{2, 5, 9}, wantFloor: 1},
		{name: "all the same", delivered: 9, numbers: []uint64{4, 4, 4}, want: []uint64{4, 5, 6}},
		{name: "falling", delivered: 7, numbers: []uint64{7, 6, 5}, want: []uint64{5, 6, 7}},
		{name: "below the floor", delivered: 9, floor: 5, numbers: []uint64{1, 2}, want: []uint64{6, 7}, wantFloor: 5},
		{name: "floor too high", delivered: 3, floor: 2, numbers: []uint64{1, 2, 3}, want: []uint64{1, 2, 3}},
		{name: "more than delivered", delivered: 2, numbers: []uint64{1, 2, 3}, impossible: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := &command.ConsumerRestore{DeliveredConsumer: tt.delivered, FloorConsumer: tt.floor}
			for i, n := range tt.numbers {
				c.Pending = append(c.Pending, command.Restored{Sequence: uint64(i + 1), Consumer: n, Count: 1})
			}
			err := number(c)
			if tt.impossible {
				if err == nil {
					t.Error("got no error")
				}
				return
			}
			var got []uint64
			for _, d := range c.Pending {
				got = append(got, d.Consumer)
			}
			if err != nil || !reflect.DeepEqual(got, tt.want) || c.FloorConsumer != tt.wantFloor {
				t.Errorf("got %v with floor %d, %v, want %v with %d", got, c.FloorConsumer, err, tt.want, tt.wantFloor)
			}
		})
	}
}

// FuzzProgress reads states that nobody has written, and sees that a stream either refuses them or is sound with them.
func FuzzProgress(f *testing.F) {
	f.Add(uint64(1), uint64(5), uint64(5), uint64(1), uint64(1), 3)
	f.Add(uint64(2), uint64(0), uint64(9), uint64(3), uint64(12), 0)
	f.Add(uint64(3), ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0), 1)
	f.Fuzz(func(t *testing.T, seed, deliveredConsumer, deliveredStream, floorConsumer, floorStream uint64, maxDeliver int) {
		s, m := jetlog.New(1, config.Stream{Name: "S", Subjects: []string{"s.>"}}, 1), jetlog.NewMemory()
		for range 12 {
			if _, err := s.Apply(&command.Publish{Time: 2, Subject: "s.a"}, m); err != nil {
				t.Fatal(err)
			}
		}
		rng := rand.New(rand.NewPCG(seed, 1))
		c := &Consumer{Config: config.Consumer{Name: "c", Ack: config.AckExplicit, MaxDeliver: maxDeliver}}
		c.State.Delivered = Position{Consumer: deliveredConsumer, Stream: deliveredStream}
		c.State.AckFloor = Position{Consumer: floorConsumer, Stream: floorStream}
		c.State.Pending, c.State.Redelivered = map[uint64]Pending{}, map[uint64]uint64{}
		for range rng.IntN(8) {
			c.State.Pending[rng.Uint64N(16)] = Pending{Sequence: rng.Uint64N(20)}
			c.State.Redelivered[rng.Uint64N(16)] = rng.Uint64()
			c.State.Initial = append(c.State.Initial, rng.Uint64N(16))
		}
		restore, err := c.Restore()
		if err != nil {
			return
		}
		if _, err := s.Apply(restore, m); err != nil {
			t.Fatal(err)
		}
		if err := s.Check(m); err != nil {
			t.Fatalf("%+v: %v", restore, err)
		}
	})
}
