package engine

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
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

// checkQueue compares q with the bytes that it should hold.
func checkQueue(t *testing.T, q *chunkQueue, want []byte) {
	t.Helper()
	if q.bytes != len(want) {
		t.Fatalf("queue of %d bytes, want %d", q.bytes, len(want))
	}
	if got := join(q.buffers(nil, len(q.chunks)+1)); !bytes.Equal(got, want) {
		t.Fatalf("queue holds other %d bytes than it should", len(got))
	}
	if len(q.chunks) > 0 && (q.offset >= len(q.chunks[0]) || q.offset < 0) || len(q.chunks) == 0 && q.offset != 0 {
		t.Fatalf("offset %d with %d chunks", q.offset, len(q.chunks))
	}
}

// TestChunkQueueModel does random operations to two queues, which share their pools, and to plain slices.
func TestChunkQueueModel(t *testing.T) {
	sizes := []int{0, 1, 100, smallChunk - 1, smallChunk, smallChunk + 1, largeChunk, largeChunk + 1, 3 * largeChunk}
	for seed := range uint64(5) {
		random := rand.New(rand.NewPCG(seed, 0))
		var pools chunkPools
		var queues [2]chunkQueue
		var models [2][]byte
		for range 200 {
			i := random.IntN(2)
			q, model := &queues[i], &models[i]
			switch random.IntN(4) {
			case 0, 1:
				p := randomBytes(random, sizes[random.IntN(len(sizes))])
				q.append(&pools, p)
				*model = append(*model, p...)
				clear(p) // the queue has a copy
			case 2:
				n := random.IntN(len(*model) + 1)
				q.consume(&pools, n)
				*model = (*model)[n:]
			case 3:
				if q.offset == 0 {
					other := &queues[1-i]
					q.prepend(other)
					*model = append(models[1-i], *model...)
					models[1-i] = nil
				}
			}
			checkQueue(t, &queues[0], models[0])
			checkQueue(t, &queues[1], models[1])
		}
		queues[0].release(&pools)
		checkQueue(t, &queues[0], nil)
		checkQueue(t, &queues[1], models[1])
	}
}

func TestChunkQueueBuffersLimit(t *testing.T) {
	var pools chunkPools
	var q chunkQueue
	want := randomBytes(rand.New(rand.NewPCG(1, 1)), 5*largeChunk)
	q.append(&pools, want)
	q.consume(&pools, 10)
	got := q.buffers([][]byte{[]byte("x")}, 2)
	if len(got) != 3 || string(got[0]) != "x" || !bytes.HasPrefix(want[10:], join(got[1:])) {
		t.Errorf("%d buffers, want what was there and two of the queue's", len(got))
	}
}

func TestChunkPoolsReuse(t *testing.T) {
	var pools chunkPools
	for _, n := range []int{1, smallChunk, smallChunk + 1, largeChunk, largeChunk + 1} {
		c := pools.get(n)
		want := largeChunk
		if n <= smallChunk {
			want = smallChunk
		}
		if len(c) != 0 || cap(c) != want {
			t.Errorf("chunk for %d bytes: length %d, capacity %d, want 0, %d", n, len(c), cap(c), want)
		}
		pools.put(append(c, "left over"...))
	}
	pools.put(make([]byte, 0, 100)) // not one of the pools' own: dropped
	for range 10 {
		if c := pools.get(1); len(c) != 0 || cap(c) != smallChunk {
			t.Errorf("chunk with length %d, capacity %d", len(c), cap(c))
		}
	}
}

// TestStageModel fills a stage at random and reads it in both ways.
func TestStageModel(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 2))
		var pools chunkPools
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
			var q chunkQueue
			s.copyTo(&q, &pools, skip)
			checkQueue(t, &q, model[skip:])
			q.release(&pools)
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
