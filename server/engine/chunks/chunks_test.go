package chunks

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
func checkQueue(t *testing.T, q *Queue, want []byte) {
	t.Helper()
	if q.bytes != len(want) {
		t.Fatalf("queue of %d bytes, want %d", q.bytes, len(want))
	}
	if got := join(q.Buffers(nil, len(q.chunks)+1)); !bytes.Equal(got, want) {
		t.Fatalf("queue holds other %d bytes than it should", len(got))
	}
	if len(q.chunks) > 0 && (q.offset >= len(q.chunks[0]) || q.offset < 0) || len(q.chunks) == 0 && q.offset != 0 {
		t.Fatalf("offset %d with %d chunks", q.offset, len(q.chunks))
	}
}

// TestQueueModel does random operations to two queues, which share their pools, and to plain slices.
func TestQueueModel(t *testing.T) {
	sizes := []int{0, 1, 100, Small - 1, Small, Small + 1, Large, Large + 1, 3 * Large}
	for seed := range uint64(5) {
		random := rand.New(rand.NewPCG(seed, 0))
		var pools Pools
		var queues [2]Queue
		var models [2][]byte
		for range 200 {
			i := random.IntN(2)
			q, model := &queues[i], &models[i]
			switch random.IntN(4) {
			case 0, 1:
				p := randomBytes(random, sizes[random.IntN(len(sizes))])
				q.Append(&pools, p)
				*model = append(*model, p...)
				clear(p) // the queue has a copy
			case 2:
				n := random.IntN(len(*model) + 1)
				q.Consume(&pools, n)
				*model = (*model)[n:]
			case 3:
				if q.offset == 0 {
					other := &queues[1-i]
					q.Prepend(other)
					*model = append(models[1-i], *model...)
					models[1-i] = nil
				}
			}
			checkQueue(t, &queues[0], models[0])
			checkQueue(t, &queues[1], models[1])
		}
		queues[0].Release(&pools)
		checkQueue(t, &queues[0], nil)
		checkQueue(t, &queues[1], models[1])
	}
}

func TestQueueBuffersLimit(t *testing.T) {
	var pools Pools
	var q Queue
	want := randomBytes(rand.New(rand.NewPCG(1, 1)), 5*Large)
	q.Append(&pools, want)
	q.Consume(&pools, 10)
	got := q.Buffers([][]byte{[]byte("x")}, 2)
	if len(got) != 3 || string(got[0]) != "x" || !bytes.HasPrefix(want[10:], join(got[1:])) {
		t.Errorf("%d buffers, want what was there and two of the queue's", len(got))
	}
}

func TestChunkPoolsReuse(t *testing.T) {
	var pools Pools
	for _, n := range []int{1, Small, Small + 1, Large, Large + 1} {
		c := pools.Get(n)
		want := Large
		if n <= Small {
			want = Small
		}
		if len(c) != 0 || cap(c) != want {
			t.Errorf("chunk for %d bytes: length %d, capacity %d, want 0, %d", n, len(c), cap(c), want)
		}
		pools.Put(append(c, "left over"...))
	}
	pools.Put(make([]byte, 0, 100)) // not one of the pools' own: dropped
	for range 10 {
		if c := pools.Get(1); len(c) != 0 || cap(c) != Small {
			t.Errorf("chunk with length %d, capacity %d", len(c), cap(c))
		}
	}
}
