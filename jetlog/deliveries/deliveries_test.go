package deliveries_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"runnel/jetlog/codec"
	"runnel/jetlog/deliveries"
)

// model is what a table is to be, as plain lists.
type model struct {
	list  []modelDelivery
	queue []uint64
	// noting is set while it is noted when messages were first delivered, and which rest.
	noting bool
}

type modelDelivery struct {
	seq, consumer, count uint64
	deadline, first      int64
	resting              bool
}

func (m *model) find(seq uint64) *modelDelivery {
	for i := range m.list {
		if m.list[i].seq == seq {
			return &m.list[i]
		}
	}
	return nil
}

func (m *model) dequeue(seq uint64) {
	m.queue = slices.DeleteFunc(m.queue, func(q uint64) bool { return q == seq })
}

func (m *model) drop(goes func(seq uint64) bool) {
	m.list = slices.DeleteFunc(m.list, func(d modelDelivery) bool { return goes(d.seq) })
	m.queue = slices.DeleteFunc(m.queue, goes)
}

// due returns the delivery whose deadline is the first that has come.
func (m *model) due(now int64) *modelDelivery {
	var first *modelDelivery
	for i := range m.list {
		d := &m.list[i]
		if d.deadline != 0 && d.deadline <= now && (first == nil || d.deadline < first.deadline) {
			first = d
		}
	}
	return first
}

// next returns the first deadline, 0 for none.
func (m *model) next() int64 {
	at := int64(0)
	for _, d := range m.list {
		if d.deadline != 0 && (at == 0 || d.deadline < at) {
			at = d.deadline
		}
	}
	return at
}

func (m *model) String() string {
	list, resting := slices.Clone(m.list), 0
	for i := range list {
		if !m.noting {
			list[i].first, list[i].resting = 0, false
		}
		if list[i].resting {
			resting++
		}
	}
	return fmt.Sprint(list, m.queue, m.next(), resting)
}

// shown returns a table as the model shows itself.
func shown(t *deliveries.Table) string {
	m := model{noting: t.Noting()}
	for d := range t.All() {
		n := t.Noted(d.Sequence)
		m.list = append(m.list, modelDelivery{d.Sequence, d.Consumer, d.Count, d.Deadline, n.First, n.Resting})
	}
	t.Queued(func(seq, count uint64) bool {
		if t.Find(seq).Count != count {
			panic("another number of deliveries")
		}
		m.queue = append(m.queue, seq)
		return true
	})
	return fmt.Sprint(m.list, m.queue, t.NextDeadline(), t.Resting())
}

func check(t *testing.T, table *deliveries.Table) {
	t.Helper()
	table.Check(func(format string, args ...any) { t.Errorf(format, args...) })
}

// TestRandom takes random steps with a table and with the model, over and over.
func TestRandom(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 7))
		var table deliveries.Table
		m := &model{noting: seed%2 == 0}
		table.Note(m.noting, 0)
		last, now := uint64(0), int64(1)
		for step := range 600 {
			now += int64(rng.IntN(3))
			take(&table, m, rng, &last, now)
			if got, want := shown(&table), m.String(); got != want || table.Len() != len(m.list) {
				t.Fatalf("seed %d, step %d: got %d: %s\nwant %s", seed, step, table.Len(), got, want)
			}
			if check(t, &table); t.Failed() {
				t.Fatalf("seed %d, step %d", seed, step)
			}
			if step%50 == 0 {
				table = again(t, &table)
			}
		}
	}
}

// take takes a step with both.
func take(table *deliveries.Table, m *model, rng *rand.Rand, last *uint64, now int64) {
	seq := *last - min(*last, uint64(rng.IntN(40)))
	d, want := table.Find(seq), m.find(seq)
	if (d == nil) != (want == nil) {
		panic(fmt.Sprintf("message %d is found or not", seq))
	}
	wait := time.Duration(rng.IntN(30))
	switch n := rng.IntN(100); {
	case n < 40:
		if seq == 0 || d != nil || n < 30 { // else it is one that was passed over
			*last += 1 + uint64(rng.IntN(3))
			seq = *last
		}
		added := deliveries.Delivery{Sequence: seq, Consumer: 1 + rng.Uint64N(1000), Count: 1}
		table.Expect(table.Add(added, now), now, wait)
		i, _ := slices.BinarySearchFunc(m.list, seq, func(d modelDelivery, seq uint64) int { return cmp.Compare(d.seq, seq) })
		m.list = slices.Insert(m.list, i, modelDelivery{seq: seq, consumer: added.Consumer, count: 1, first: now, deadline: after(now, wait)})
	case n < 60:
		if table.Settle(seq) != (want != nil) {
			panic(fmt.Sprintf("message %d is settled or not", seq))
		}
		m.drop(func(s uint64) bool { return s == seq })
	case n < 63:
		upTo := seq - min(seq, 30)
		table.SettleUpTo(upTo)
		m.drop(func(s uint64) bool { return s <= upTo })
	case n < 64:
		table.Retain(func(s uint64) bool { return s%4 != 0 })
		m.drop(func(s uint64) bool { return s%4 == 0 })
	case n == 64 && rng.IntN(8) == 0:
		table.Clear()
		m.list, m.queue = nil, nil
	case n < 75:
		if d := table.Due(now); d != nil {
			want := m.due(now)
			if want.deadline != d.Deadline {
				panic(fmt.Sprintf("message %d is due, want %d", d.Sequence, want.seq))
			}
			want = m.find(d.Sequence)
			want.deadline = 0
			m.queue = append(m.queue, want.seq)
			table.Queue(d)
			d.Deadline = 0
		} else if m.due(now) != nil {
			panic("nothing is due")
		}
	case d == nil:
	case n < 85:
		table.Queue(d)
		d.Deadline = 0
		if want.deadline = 0; !slices.Contains(m.queue, seq) {
			m.queue = append(m.queue, seq)
		}
	case n < 93:
		d.Count++
		want.count++
		table.Expect(d, now, wait)
		want.deadline, want.resting = after(now, wait), false
		m.dequeue(seq)
	default:
		table.Rest(d, now, wait)
		want.deadline, want.resting = after(now, wait), true
		m.dequeue(seq)
	}
}

func after(now int64, wait time.Duration) int64 {
	if wait == 0 {
		return 0
	}
	return now + int64(wait)
}

// again returns the table after it was written down and read.
func again(t *testing.T, table *deliveries.Table) deliveries.Table {
	t.Helper()
	var next deliveries.Table
	next.Note(table.Noting(), 0)
	data := table.AppendSnapshot(nil)
	if table.Noting() {
		data = table.AppendNotes(data)
	}
	r := codec.NewReader(data)
	if !next.Restore(&r) || next.Noting() && !next.RestoreNotes(&r) || r.End() != nil {
		t.Fatalf("%s is not restored of %q: %v", shown(table), data, r.End())
	}
	if got, want := shown(&next), shown(table); got != want {
		t.Fatalf("restored: got %s\nwant %s", got, want)
	}
	return next
}

// What is noted begins and ends while messages wait.
func TestNote(t *testing.T) {
	var table deliveries.Table
	table.Expect(table.Add(deliveries.Delivery{Sequence: 3, Consumer: 1, Count: 1}, 10), 10, 5)
	if table.Noting() || table.Noted(3).First != 0 || table.Resting() != 0 {
		t.Errorf("noted without being asked: %+v", table.Noted(3))
	}
	table.Note(true, 12)
	table.Rest(table.Find(3), 13, 5)
	if n := table.Noted(3); n.First != 12 || !n.Resting || table.Resting() != 1 {
		t.Errorf("noted: %+v", n)
	}
	table.Again(table.Find(3), 15)
	if table.Wake(); table.Noted(3).Resting || table.Noted(3).Last != 15 || table.Resting() != 0 {
		t.Errorf("awake: %+v", table.Noted(3))
	}
	table.Wake()
	table.Note(true, 20)
	if table.Noted(3).First != 12 {
		t.Errorf("noted a second time: %+v", table.Noted(3))
	}
	table.Clear()
	if !table.Noting() || table.Len() != 0 || table.First() != nil || table.NextDeadline() != 0 {
		t.Errorf("cleared: %s", shown(&table))
	}
	table.Note(false, 30)
	if table.Noting() {
		t.Error("notes are kept")
	}
}

func TestRestoreRefuses(t *testing.T) {
	var table deliveries.Table
	table.Note(true, 0)
	for seq := uint64(1); seq < 4; seq++ {
		table.Expect(table.Add(deliveries.Delivery{Sequence: seq, Consumer: seq, Count: 1}, 5), 5, 5)
	}
	table.Queue(table.Find(2))
	data, noted := table.AppendSnapshot(nil), table.AppendNotes(nil)
	for n := range data {
		var next deliveries.Table
		r := codec.NewReader(data[:n])
		if next.Restore(&r) && r.End() == nil {
			t.Errorf("restored of %d of %d bytes", n, len(data))
		}
	}
	for name, data := range map[string][]byte{
		"sequences that stand still": {2, 1, 1, 1, 0, 0, 1, 1, 0, 0},
		"no number":                  {1, 1, 0, 1, 0, 0},
		"never delivered":            {1, 1, 1, 0, 0, 0},
		"queued twice":               {1, 1, 1, 1, 0, 2, 1, 1},
		"queued, not delivered":      {1, 1, 1, 1, 0, 1, 2},
	} {
		var next deliveries.Table
		r := codec.NewReader(data)
		if next.Restore(&r) {
			t.Errorf("%s: restored", name)
		}
	}
	var empty deliveries.Table
	r := codec.NewReader(noted)
	if empty.RestoreNotes(&r) {
		t.Error("notes are restored where none are kept")
	}
	empty.Note(true, 0)
	r = codec.NewReader(noted)
	if empty.RestoreNotes(&r) {
		t.Error("notes of other deliveries are restored")
	}
}

func TestExhausted(t *testing.T) {
	var e deliveries.Exhausted
	for _, seq := range []uint64{5, 2, 9, 7} {
		e.Add(seq)
	}
	if !slices.Equal(e, deliveries.Exhausted{2, 5, 7, 9}) || !e.Has(7) || e.Has(6) {
		t.Fatalf("got %v", e)
	}
	for upTo, want := range map[uint64]int{0: 0, 1: 0, 2: 1, 6: 2, 9: 4, 99: 4} {
		if got := e.UpTo(upTo); len(got) != want {
			t.Errorf("up to %d: %v, want %d", upTo, got, want)
		}
	}
	if e.Remove(6) || !e.Remove(5) || e.Has(5) {
		t.Errorf("removed: %v", e)
	}
	if e.RemoveUpTo(7); !slices.Equal(e, deliveries.Exhausted{9}) {
		t.Errorf("up to 7 removed: %v", e)
	}
}

// BenchmarkTable is a delivery that is noted, expected and settled, among 1,000 that wait.
func BenchmarkTable(b *testing.B) {
	var table deliveries.Table
	b.ReportAllocs()
	for seq := uint64(1); b.Loop(); seq++ {
		table.Expect(table.Add(deliveries.Delivery{Sequence: seq, Consumer: seq, Count: 1}, 5), int64(seq), time.Hour)
		if seq > 1000 {
			table.Settle(seq - 1000)
		}
	}
}
