package quota_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"runnel/jetlog/config"
	"runnel/server/jetstream/quota"
)

var (
	file1   = &config.Stream{Replicas: 1, Storage: config.FileStorage}
	file3   = &config.Stream{Replicas: 3, Storage: config.FileStorage}
	memory1 = &config.Stream{Replicas: 1, Storage: config.MemoryStorage}
	limits  = &quota.Limits{MaxStoreBytes: 1000, MaxMemoryBytes: -1}
)

// tell has one table hear what another one has behind a mark, as it comes over the network, and returns the next mark.
func tell(t *testing.T, from, to *quota.Table, mark quota.Mark) quota.Mark {
	t.Helper()
	b, err := json.Marshal(from.Since(mark))
	if err != nil {
		t.Fatal(err)
	}
	var n quota.News
	if err := json.Unmarshal(b, &n); err != nil {
		t.Fatal(err)
	}
	to.Hear(&n)
	return n.Mark
}

// account returns an account of a table, with a limit on its bytes.
func account(t *quota.Table) *quota.Used {
	u := t.Account("A")
	u.SetLimits(limits)
	return u
}

// expect checks what counts against limits without tiers, for files and memory.
func expect(t *testing.T, what string, u *quota.Used, files, memory int64) {
	t.Helper()
	if f, m := u.Bytes(limits, file1), u.Bytes(limits, memory1); f != files || m != memory {
		t.Errorf("%s: got %d and %d bytes, want %d and %d", what, f, m, files, memory)
	}
}

// TestUsed counts what streams have that are all led here.
func TestUsed(t *testing.T) {
	table := quota.NewTable()
	u := account(table)
	u.Set(1, file1, 100)
	u.Set(2, file3, 10)
	u.Set(3, memory1, 5)
	expect(t, "three streams", u, 130, 5)
	l := tiers()
	if one, three := u.Bytes(l, file1), u.Bytes(l, file3); one != 100 || three != 10 {
		t.Errorf("in tiers: got %d and %d, want 100 and 10", one, three)
	}
	if one, three, tier := limits.Weight(file1), limits.Weight(file3), l.Weight(file3); one != 1 || three != 3 || tier != 1 {
		t.Errorf("a message counts %d, %d and %d times, want 1, 3 and 1", one, three, tier)
	}
	u.Set(1, file1, 90)
	u.Set(2, file1, 10) // fewer replicas
	expect(t, "less", u, 100, 5)
	u.Rest(1) // it is still there
	expect(t, "another leader", u, 100, 5)
	u.Remove(2)
	u.Remove(9)
	u.Rest(9)
	expect(t, "one is removed", u, 90, 5)
	u.Keep(func(id uint64) bool { return id == 3 })
	expect(t, "only one is kept", u, 0, 5)
	if other := table.Account("B"); other.Bytes(limits, memory1) != 0 || table.Account("A") != u {
		t.Error("accounts are mixed up")
	}
}

// TestTables: servers that tell one another what they lead count each stream once, whoever leads it.
func TestTables(t *testing.T) {
	x, y := quota.NewTable(), quota.NewTable()
	a, b := account(x), account(y)
	a.Set(1, file3, 100)
	b.Set(2, file1, 7)
	var xMark, yMark quota.Mark
	exchange := func() {
		t.Helper()
		xMark, yMark = tell(t, x, y, xMark), tell(t, y, x, yMark)
	}
	exchange()
	expect(t, "x", a, 307, 0)
	expect(t, "y", b, 307, 0)
	if n := x.Since(xMark); n.Accounts != nil {
		t.Errorf("news without a change: %+v", n)
	}
	// The stream gets another leader, which has it before the old one has told that it is over, and then more.
	b.Set(1, file3, 100)
	expect(t, "two leaders", b, 307, 0)
	tell(t, x, y, quota.Mark{}) // what the old leader says counts no more
	a.Set(1, file3, 90)
	xMark = tell(t, x, y, xMark)
	expect(t, "an old leader goes on for a moment", b, 307, 0)
	a.Rest(1)
	b.Set(1, file3, 110)
	exchange()
	expect(t, "x after the change", a, 337, 0)
	expect(t, "y after the change", b, 337, 0)
	// A server that starts again knows nothing, and has nothing to say that counts: it is told all.
	x = quota.NewTable()
	a = account(x)
	expect(t, "x after a start", a, 0, 0)
	xMark, yMark = tell(t, x, y, xMark), tell(t, y, x, quota.Mark{})
	expect(t, "x is told all", a, 337, 0)
	expect(t, "y forgets nothing", b, 337, 0)
	a.Set(3, memory1, 4)
	exchange()
	expect(t, "what is new of x", b, 337, 4)
}

// TestBounded: only accounts with limits are told of, from when on they have them.
func TestBounded(t *testing.T) {
	x, y := quota.NewTable(), quota.NewTable()
	a, b := x.Account("A"), y.Account("A")
	for _, l := range []*quota.Limits{nil, quota.Unlimited(), {Tiers: map[int]*quota.Limits{1: quota.Unlimited()}}} {
		a.SetLimits(l)
		if x.Bounded() {
			t.Errorf("limits %+v bound bytes", l)
		}
	}
	a.Set(1, file1, 100)
	mark := tell(t, x, y, quota.Mark{})
	expect(t, "no limits", b, 0, 0)
	a.SetLimits(tiers())
	if !x.Bounded() || y.Bounded() {
		t.Error("the account is not bounded, or bounded where it has no limits")
	}
	a.SetLimits(limits)
	tell(t, x, y, mark)
	expect(t, "limits since then", b, 100, 0)
}

// TestUsedConcurrently changes streams from many sides: the sums agree with the streams in the end.
func TestUsedConcurrently(t *testing.T) {
	x, y := quota.NewTable(), quota.NewTable()
	a, b := account(x), account(y)
	var running sync.WaitGroup
	for id := range uint64(8) {
		running.Go(func() {
			random := rand.New(rand.NewPCG(id, 1))
			for range 200 {
				a.Set(id, []*config.Stream{file1, file3, memory1}[random.IntN(3)], random.Int64N(1000))
				if random.IntN(20) == 0 {
					a.Rest(id)
				}
			}
			a.Set(id, file3, int64(id))
		})
	}
	running.Go(func() {
		var mark quota.Mark
		for range 100 {
			mark = tell(t, x, y, mark)
			_ = a.Bytes(limits, file1)
		}
	})
	running.Wait()
	tell(t, x, y, quota.Mark{})
	expect(t, "in the end", a, 3*(0+1+2+3+4+5+6+7), 0)
	expect(t, "elsewhere", b, 3*(0+1+2+3+4+5+6+7), 0)
}

// BenchmarkUsed counts a stream, and asks what its account has, as it is done for what is published near a limit.
func BenchmarkUsed(b *testing.B) {
	for _, streams := range []uint64{1, 10_000} {
		b.Run(fmt.Sprint(streams, " streams"), func(b *testing.B) {
			u := account(quota.NewTable())
			for id := range streams {
				u.Set(id, file3, 1)
			}
			b.ReportAllocs()
			bytes := int64(0)
			for b.Loop() {
				bytes++
				u.Set(0, file3, bytes)
				if u.Bytes(limits, file3) < 0 {
					b.Fatal("fewer than none")
				}
			}
		})
	}
}
