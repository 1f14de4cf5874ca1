package engine_test

import (
	"fmt"
	"io"
	"testing"

	"runnel/server/accounts"
)

// BenchmarkPublisherSocket measures deliveries to a client that reads over TCP, in batches by a Publisher that pauses
// when too much waits, and one by one; an operation is a message.
func BenchmarkPublisherSocket(b *testing.B) {
	const reply = "$JS.ACK.ORDERS.worker.1.123456.123456.1700000000000000000.1000"
	for _, size := range []int{128, 1024, 16 << 10} {
		for _, batch := range []int{64, 1} {
			b.Run(fmt.Sprintf("%d/batch=%d", size, batch), func(b *testing.B) {
				h := start(b, 1, accounts.Config{}, nil)
				c := h.connect()
				c.send("SUB in 1\r\n")
				c.flush()
				go func() { _, _ = io.Copy(io.Discard, c.nc) }() // until the engine closes
				p := h.engine.NewPublisher()
				defer p.Close()
				payload, account := make([]byte, size), h.policy.Global()
				drained := newSleeper()
				b.SetBytes(int64(size))
				b.ReportAllocs()
				b.ResetTimer()
				for n := 0; n < b.N; n += batch {
					for p.Blocked(account, "in", "", drained) {
						<-drained.bell
					}
					for range batch {
						p.Deliver(account, "in", "", "orders.new", reply, nil, payload)
					}
					p.Flush()
				}
			})
		}
	}
}
