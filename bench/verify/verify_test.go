package verify_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"runnel/bench/verify"
)

func TestStampRoundTrip(t *testing.T) {
	for _, size := range []int{16, 17, 128, 32 << 10} {
		p := verify.NewPayload(size, 0xabcdef)
		for _, sequence := range []uint64{0, 1, 1<<40 - 1} {
			data := p.Stamped(sequence, 77)
			if len(data) != size {
				t.Fatalf("size: got %d, want %d", len(data), size)
			}
			got, ok := verify.ReadStamp(data)
			want := verify.Stamp{Publisher: 0xabcdef, Sequence: sequence, Due: 77}
			if !ok || got != want {
				t.Errorf("size %d: got %+v %v, want %+v", size, got, ok, want)
			}
		}
	}
}

func TestSmallPayloadCarriesNoStamp(t *testing.T) {
	data := verify.NewPayload(15, 1).Stamped(5, 5)
	if len(data) != 15 {
		t.Errorf("size: got %d, want 15", len(data))
	}
	if _, ok := verify.ReadStamp(data); ok {
		t.Error("15 bytes passed as a stamp")
	}
}

func TestEveryChangedByteIsNoticed(t *testing.T) {
	good := verify.NewPayload(40, 3).Stamped(1234, 99)
	for i := range good {
		for _, flip := range []byte{1, 0x80, 0xff} {
			bad := bytes.Clone(good)
			bad[i] ^= flip
			if _, ok := verify.ReadStamp(bad); ok {
				t.Errorf("byte %d changed by %#x: not noticed", i, flip)
			}
		}
	}
	for n := range good {
		if _, ok := verify.ReadStamp(good[:n]); ok {
			t.Errorf("cut to %d bytes: not noticed", n)
		}
	}
	if _, ok := verify.ReadStamp(append(bytes.Clone(good), 0)); ok {
		t.Error("a byte more: not noticed")
	}
}

// one is the lane of all messages of publisher 0.
var one = verify.Lane{Publisher: 0, Stride: 1}

// observe feeds sequences of publisher 0.
func observe(v *verify.Verifier, sequences ...uint64) {
	p := verify.NewPayload(16, 0)
	for _, sequence := range sequences {
		v.Observe(p.Stamped(sequence, 0))
	}
}

func TestVerifier(t *testing.T) {
	thirds := verify.Lane{Publisher: 0, Stride: 3, Offset: 1}
	tests := []struct {
		name string
		lane verify.Lane
		sent uint64
		got  []uint64
		want verify.Tally
		note string
	}{
		{"all", one, 4, []uint64{0, 1, 2, 3}, verify.Tally{Delivered: 4}, ""},
		{"none of none", one, 0, nil, verify.Tally{}, ""},
		{"first lost", one, 3, []uint64{1, 2}, verify.Tally{Delivered: 2, Lost: 1}, "the first is sequence 0"},
		{"one lost", one, 4, []uint64{0, 1, 3}, verify.Tally{Delivered: 3, Lost: 1}, "the first is sequence 2"},
		{"end lost", one, 100, []uint64{0, 1}, verify.Tally{Delivered: 2, Lost: 98}, "the first is sequence 2"},
		{"all lost", one, 200, nil, verify.Tally{Lost: 200}, "the first is sequence 0"},
		{"again at once", one, 2, []uint64{0, 0, 1}, verify.Tally{Delivered: 3, Duplicated: 1}, "sequence 0 again"},
		{"again later", one, 3, []uint64{0, 1, 2, 0}, verify.Tally{Delivered: 4, Duplicated: 1}, "sequence 0 again"},
		{"swapped", one, 3, []uint64{0, 2, 1}, verify.Tally{Delivered: 3, Reordered: 1}, "sequence 1 after 2"},
		{"swapped and again", one, 3, []uint64{0, 2, 1, 1}, verify.Tally{Delivered: 4, Reordered: 1, Duplicated: 1}, ""},
		{"lost, counted once though late", one, 4, []uint64{0, 3, 2}, verify.Tally{Delivered: 3, Reordered: 1, Lost: 1}, "the first is sequence 1"},
		{"more than was sent", one, 2, []uint64{0, 1, 2}, verify.Tally{Delivered: 3, Foreign: 1}, "never sent"},
		{"implausible", one, 1, []uint64{0, verify.MaxTracked}, verify.Tally{Delivered: 2, Foreign: 1}, "does not belong here"},
		{"lane", thirds, 9, []uint64{1, 4, 7}, verify.Tally{Delivered: 3}, ""},
		{"lane, one lost", thirds, 8, []uint64{1, 7}, verify.Tally{Delivered: 2, Lost: 1}, "the first is sequence 4"},
		{"lane ends before the publisher", thirds, 7, []uint64{1, 4}, verify.Tally{Delivered: 2}, ""},
		{"lane, not yet begun", thirds, 1, nil, verify.Tally{}, ""},
		{"lane, foreign", thirds, 6, []uint64{0, 1, 4, 5}, verify.Tally{Delivered: 4, Foreign: 2}, "sequence 0 does not belong here"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v := verify.NewVerifier("sub", test.lane)
			observe(v, test.got...)
			got := verify.Settle(map[uint32]uint64{0: test.sent}, v)
			checkTally(t, got, test.want)
			if test.note != "" && !strings.Contains(strings.Join(got.Notes, "\n"), test.note) {
				t.Errorf("notes: got %q, want one with %q", got.Notes, test.note)
			}
			clean := counts(test.want) == counts(verify.Tally{Delivered: test.want.Delivered})
			if got.OK() != clean {
				t.Errorf("OK: got %v, want %v", got.OK(), clean)
			}
		})
	}
}

// checkTally compares the counts of two tallies.
func checkTally(t *testing.T, got, want verify.Tally) {
	t.Helper()
	if counts(got) != counts(want) {
		t.Errorf("tally: got %s, want %s; notes %q", counts(got), counts(want), got.Notes)
	}
}

func counts(t verify.Tally) string {
	return fmt.Sprintf("delivered %d lost %d duplicated %d reordered %d corrupted %d foreign %d",
		t.Delivered, t.Lost, t.Duplicated, t.Reordered, t.Corrupted, t.Foreign)
}

func TestVerifierCorruption(t *testing.T) {
	v := verify.NewVerifier("sub", one)
	p := verify.NewPayload(20, 0)
	v.Observe(p.Stamped(0, 0))
	bad := bytes.Clone(p.Stamped(1, 0))
	bad[18]++
	if _, ok := v.Observe(bad); ok {
		t.Error("a corrupt payload was trusted")
	}
	v.Observe(nil)
	v.CorruptHeader("it is gone")
	got := verify.Settle(map[uint32]uint64{0: 2}, v)
	// A corrupt message is lost as well: nothing says that it was this one.
	checkTally(t, got, verify.Tally{Delivered: 3, Corrupted: 3, Lost: 1})
}

func TestVerifierForeignPublisher(t *testing.T) {
	v := verify.NewVerifier("sub", one)
	v.Observe(verify.NewPayload(16, 9).Stamped(0, 0))
	observe(v, 0)
	v.Observe(verify.NewPayload(16, 9).Stamped(1, 0))
	checkTally(t, verify.Settle(map[uint32]uint64{0: 1}, v), verify.Tally{Delivered: 3, Foreign: 2})
}

func TestVerifierAllowsOvertaking(t *testing.T) {
	v := verify.NewVerifier("replies", one)
	v.AllowOvertaking()
	observe(v, 2, 0, 1, 1)
	checkTally(t, verify.Settle(map[uint32]uint64{0: 3}, v), verify.Tally{Delivered: 4, Duplicated: 1})
}

func TestVerifierLearns(t *testing.T) {
	v := verify.NewLearningVerifier("sub")
	other := verify.NewPayload(16, 5)
	observe(v, 100, 101)
	v.Observe(other.Stamped(0, 0))
	observe(v, 103, 99)
	v.Observe(other.Stamped(1, 0))
	got := verify.Settle(map[uint32]uint64{}, v)
	checkTally(t, got, verify.Tally{Delivered: 6, Lost: 1, Reordered: 1})
	if notes := strings.Join(got.Notes, "\n"); !strings.Contains(notes, "the first is sequence 102") {
		t.Errorf("notes: got %q, want the lost sequence 102", notes)
	}
}

func TestSettleQueueGroup(t *testing.T) {
	tests := []struct {
		name string
		a, b []uint64
		sent uint64
		want verify.Tally
	}{
		{"shared", []uint64{0, 2, 5}, []uint64{1, 3, 4}, 6, verify.Tally{Delivered: 6}},
		{"one has all", nil, []uint64{0, 1, 2}, 3, verify.Tally{Delivered: 3}},
		{"both have one", []uint64{0, 1, 200}, []uint64{1, 2, 200}, 201, verify.Tally{Delivered: 6, Duplicated: 2, Lost: 197}},
		{"neither has one", []uint64{0}, []uint64{2}, 3, verify.Tally{Delivered: 2, Lost: 1}},
		{"back in a member", []uint64{3, 0}, []uint64{1, 2}, 4, verify.Tally{Delivered: 4, Reordered: 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a, b := verify.NewVerifier("a", one), verify.NewVerifier("b", one)
			observe(a, test.a...)
			observe(b, test.b...)
			checkTally(t, verify.Settle(map[uint32]uint64{0: test.sent}, a, b), test.want)
		})
	}
}

func TestSettleWithoutEndJudgesNoLoss(t *testing.T) {
	v := verify.NewVerifier("sub", one)
	observe(v, 0, 5, 5)
	checkTally(t, verify.Settle(nil, v), verify.Tally{Delivered: 3, Duplicated: 1})
}

func TestTallyAdd(t *testing.T) {
	total := verify.Tally{Delivered: 1, Notes: []string{"a"}}
	total.Add(verify.Tally{Delivered: 2, Lost: 3, Duplicated: 4, Reordered: 5, Corrupted: 6, Foreign: 7, Notes: []string{"b"}})
	total.Add(verify.Tally{Delivered: 10, Lost: 10, Duplicated: 10, Reordered: 10, Corrupted: 10, Foreign: 10})
	checkTally(t, total, verify.Tally{Delivered: 13, Lost: 13, Duplicated: 14, Reordered: 15, Corrupted: 16, Foreign: 17})
	if got := strings.Join(total.Notes, " "); got != "a b" {
		t.Errorf("notes: got %q, want a b", got)
	}
}

func TestNotesAreBounded(t *testing.T) {
	v := verify.NewVerifier("sub", one)
	for range 1000 {
		v.Observe(nil)
	}
	if got := len(verify.Settle(nil, v, v).Notes); got != 8 {
		t.Errorf("notes: got %d, want 8", got)
	}
}

// model is the verdict on a plan of deliveries by a plain count.
func model(plan []uint64, sent uint64) verify.Tally {
	want := verify.Tally{Delivered: int64(len(plan))}
	times, highest := make(map[uint64]int), -1
	for _, sequence := range plan {
		times[sequence]++
		switch {
		case times[sequence] > 1:
			want.Duplicated++
		case int(sequence) < highest:
			want.Reordered++
		}
		highest = max(highest, int(sequence))
	}
	for sequence := range sent {
		if times[sequence] == 0 {
			want.Lost++
		}
	}
	return want
}

func TestVerifierAgainstModel(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		sent := random.Uint64N(300)
		var plan []uint64
		for sequence := range sent {
			for range []int{1, 1, 1, 0, 2, 1, 1, 1}[random.IntN(8)] {
				plan = append(plan, sequence)
			}
		}
		for range random.IntN(5) {
			if len(plan) > 1 {
				i, j := random.IntN(len(plan)), random.IntN(len(plan))
				plan[i], plan[j] = plan[j], plan[i]
			}
		}
		v := verify.NewVerifier("sub", one)
		observe(v, plan...)
		got, want := verify.Settle(map[uint32]uint64{0: sent}, v), model(plan, sent)
		if counts(got) != counts(want) {
			t.Fatalf("seed %d: got %s, want %s", seed, counts(got), counts(want))
		}
	}
}

// FuzzVerifier reads each byte as a sequence, and compares with the model.
func FuzzVerifier(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3})
	f.Add([]byte{0, 2, 1, 1, 255})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		plan := make([]uint64, len(data))
		for i, b := range data {
			plan[i] = uint64(b)
		}
		v := verify.NewVerifier("sub", one)
		observe(v, plan...)
		got, want := verify.Settle(map[uint32]uint64{0: 256}, v), model(plan, 256)
		if counts(got) != counts(want) {
			t.Errorf("%v: got %s, want %s", plan, counts(got), counts(want))
		}
	})
}

func FuzzReadStamp(f *testing.F) {
	f.Add(bytes.Clone(verify.NewPayload(16, 1).Stamped(2, 3)))
	f.Add(bytes.Clone(verify.NewPayload(100, 1<<24-1).Stamped(1<<40-1, 1<<32-1)))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		stamp, ok := verify.ReadStamp(data)
		if !ok {
			return
		}
		v := verify.NewVerifier("sub", verify.Lane{Publisher: stamp.Publisher, Stride: 1, Offset: stamp.Sequence})
		v.Observe(data)
		v.Observe(data)
		if got := verify.Settle(nil, v); got.Duplicated != 1 || got.Foreign != 0 {
			t.Errorf("%x observed twice: got %s", data, counts(got))
		}
	})
}

func BenchmarkStamped(b *testing.B) {
	for _, size := range []int{16, 1 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			p := verify.NewPayload(size, 1)
			b.ReportAllocs()
			for i := range uint64(b.N) {
				p.Stamped(i, 0)
			}
		})
	}
}

func BenchmarkObserve(b *testing.B) {
	for _, size := range []int{16, 1 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			p := verify.NewPayload(size, 0)
			v := verify.NewVerifier("sub", one)
			b.ReportAllocs()
			for i := range uint64(b.N) {
				v.Observe(p.Stamped(i, 0))
			}
		})
	}
}
