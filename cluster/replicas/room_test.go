package replicas_test

import (
	"testing"
	"time"
)

const (
	noRoom = 256 << 10 // less than a store wants to have left
	plenty = 1 << 40
)

// fill has the disks of servers be full, or have room again.
func (w *world) fill(bytes int64, names ...string) {
	for _, name := range names {
		w.node(name).room.SetRoom(bytes)
	}
}

// leaders are who leads which of some streams.
func (w *world) leaders(ids []uint64) (names []string) {
	for _, id := range ids {
		names = append(names, w.leader(id).name)
	}
	return names
}

// TestFullDisk has leaders of streams go to where there is room, one disk being full after the other, and stay where they are once all
// are full.
func TestFullDisk(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		ids := w.createSome(4)
		messages := 1
		publish := func() {
			t.Helper()
			messages++
			for _, id := range ids {
				w.publish(id, 1)
			}
		}
		led := func(name string) (n int) {
			for _, leader := range w.leaders(ids) {
				if leader == name {
					n++
				}
			}
			return n
		}
		w.fill(noRoom, "a")
		w.until("nothing is led by the server with a full disk", func() bool { return w.node("a").log.Full() && led("a") == 0 })
		publish()
		w.fill(noRoom, "b")
		w.until("all is led by the one that has room", func() bool { return led("c") == len(ids) })
		publish()
		w.fill(noRoom, "c")
		w.until("the last disk is full", w.node("c").log.Full)
		<-time.After(time.Minute)
		if n := led("c"); n != len(ids) {
			t.Errorf("%d of %d streams are led where they were when all disks were full", n, len(ids))
		}
		w.fill(plenty, "b")
		w.until("all is led where there is room again", func() bool { return led("b") == len(ids) })
		publish()
		w.fill(plenty, "a", "b", "c")
		for _, id := range ids {
			w.settle(id, messages, "a", "b", "c")
		}
	})
}

// TestFullDiskComesAndGoes has two disks be full in turns, faster than a leadership may follow.
func TestFullDiskComesAndGoes(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		id := w.create("S", "a", "b").ID
		w.publish(id, 1)
		changes, last := 0, w.leader(id)
		for round := range 20 {
			full, other := "a", "b"
			if round%2 == 1 {
				full, other = other, full
			}
			w.fill(noRoom, full)
			w.fill(plenty, other)
			for range 60 {
				<-time.After(100 * time.Millisecond)
				if l := w.leader(id); l != last {
					changes, last = changes+1, l
				}
			}
		}
		if changes > 5 {
			t.Errorf("the leader has changed %d times in two minutes", changes)
		}
	})
}
