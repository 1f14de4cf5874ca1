package engine

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"runnel/server/engine/chunks"
)

// randomBytes are n bytes that tell where they came from.
func randomBytes(random *rand.Rand, n int) []byte {
	b := make([]byte, 0, n+8)
	for len(b) < n {
		b = binary.NativeEndian.AppendUint64(b, random.Uint64())
	}
	return b[:n]
}

// join is what buffers hold together.
func join(buffers [][]byte) []byte { return bytes.Join(buffers, nil) }

// TestStageModel fills a stage at random and reads it in both ways.
func TestStageModel(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 2))
		var pools chunks.Pools
		var s stage
		for range 3 { // a stage is used again and again
			var model []byte
			for range random.IntN(60) {
				p := randomBytes(random, random.IntN(2000))
				if random.IntN(2) == 0 {
					s.own = append(s.own, p...)
				} else {
					s.borrow(p)
				}
				model = append(model, p...)
			}
			if s.bytes() != len(model) {
				t.Fatalf("stage of %d bytes, want %d", s.bytes(), len(model))
			}
			if got := join(s.buffers(nil)); !bytes.Equal(got, model) {
				t.Fatal("the buffers are not what was put in, in order")
			}
			skip := random.IntN(len(model) + 1)
			var q chunks.Queue
			s.copyTo(&q, &pools, skip)
			if got := join(q.Buffers(nil, 1<<10)); q.Bytes() != len(model)-skip || !bytes.Equal(got, model[skip:]) {
				t.Fatalf("the queue has %d other bytes than the stage without its first %d", q.Bytes(), skip)
			}
			q.Release(&pools)
			s.reset()
			if s.bytes() != 0 || len(s.buffers(nil)) != 0 {
				t.Fatal("a stage that was reset is not empty")
			}
			for _, b := range s.borrows[:cap(s.borrows)] {
				if b.bytes != nil {
					t.Fatal("a stage that was reset still holds a read buffer")
				}
			}
		}
	}
}

// TestStageFull: one writev takes what a stage holds, and a stage does not grow without bound.
func TestStageFull(t *testing.T) {
	fill := func(n int, f func(s *stage)) *stage {
		s := new(stage)
		for range n {
			f(s)
		}
		return s
	}
	tests := []struct {
		name string
		s    *stage
		need int
		want bool
	}{
		{"empty", new(stage), 10, false},
		{"empty, for something long", new(stage), 2 * stageBytes, false},
		{"just fits", fill(1, func(s *stage) { s.own = make([]byte, stageBytes-10) }), 10, false},
		{"just not", fill(1, func(s *stage) { s.own = make([]byte, stageBytes-10) }), 11, true},
		{"much borrowed", fill(1, func(s *stage) { s.borrow(make([]byte, borrowedMax)) }), 10, false},
		{"too much borrowed", fill(2, func(s *stage) { s.borrow(make([]byte, borrowedMax)) }), 10, true},
		{"many pieces", fill(borrowsMax, func(s *stage) { s.own = append(s.own, 'x'); s.borrow(make([]byte, 1)) }), 1, true},
	}
	for _, tt := range tests {
		if got := tt.s.full(tt.need); got != tt.want {
			t.Errorf("%s: full = %t, want %t", tt.name, got, tt.want)
		}
		const vectorsMax = 1024 // of one writev
		if n := len(tt.s.buffers(nil)); n > vectorsMax {
			t.Errorf("%s: %d buffers", tt.name, n)
		}
	}
}
