package chunks

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestBatchModel fills a batch at random and reads it in both ways.
func TestBatchModel(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 2))
		var pools Pools
		var s Batch
		for range 3 { // a batch is used again and again
			var model []byte
			for range random.IntN(60) {
				p := randomBytes(random, random.IntN(2000))
				if random.IntN(2) == 0 {
					s.Own = append(s.Own, p...)
				} else {
					s.Borrow(p)
				}
				model = append(model, p...)
			}
			if s.Bytes() != len(model) {
				t.Fatalf("batch of %d bytes, want %d", s.Bytes(), len(model))
			}
			if got := join(s.Buffers(nil)); !bytes.Equal(got, model) {
				t.Fatal("the buffers are not what was put in, in order")
			}
			skip := random.IntN(len(model) + 1)
			var q Queue
			s.CopyTo(&q, &pools, skip)
			if got := join(q.Buffers(nil, 1<<10)); q.Bytes() != len(model)-skip || !bytes.Equal(got, model[skip:]) {
				t.Fatalf("the queue has %d other bytes than the batch without its first %d", q.Bytes(), skip)
			}
			q.Release(&pools)
			s.Reset()
			if s.Bytes() != 0 || len(s.Buffers(nil)) != 0 {
				t.Fatal("a batch that was reset is not empty")
			}
			for _, b := range s.borrows[:cap(s.borrows)] {
				if b.bytes != nil {
					t.Fatal("a batch that was reset still holds a read buffer")
				}
			}
		}
	}
}

// TestBatchFull: one writev takes what a batch holds, and a batch does not grow without bound.
func TestBatchFull(t *testing.T) {
	fill := func(n int, f func(s *Batch)) *Batch {
		s := new(Batch)
		for range n {
			f(s)
		}
		return s
	}
	tests := []struct {
		name string
		s    *Batch
		need int
		want bool
	}{
		{"empty", new(Batch), 10, false},
		{"empty, for something long", new(Batch), 2 * BatchBytes, false},
		{"just fits", fill(1, func(s *Batch) { s.Own = make([]byte, BatchBytes-10) }), 10, false},
		{"just not", fill(1, func(s *Batch) { s.Own = make([]byte, BatchBytes-10) }), 11, true},
		{"much borrowed", fill(1, func(s *Batch) { s.Borrow(make([]byte, borrowedMax)) }), 10, false},
		{"too much borrowed", fill(2, func(s *Batch) { s.Borrow(make([]byte, borrowedMax)) }), 10, true},
		{"many pieces", fill(borrowsMax, func(s *Batch) { s.Own = append(s.Own, 'x'); s.Borrow(make([]byte, 1)) }), 1, true},
	}
	for _, tt := range tests {
		if got := tt.s.Full(tt.need); got != tt.want {
			t.Errorf("%s: full = %t, want %t", tt.name, got, tt.want)
		}
		const vectorsMax = 1024 // of one writev
		if n := len(tt.s.Buffers(nil)); n > vectorsMax {
			t.Errorf("%s: %d buffers", tt.name, n)
		}
	}
}
