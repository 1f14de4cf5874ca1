package engine

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"runnel/server/engine/chunks"
)

// TestPublisherModel: whatever a socket takes at a time, it gets the messages of a Publisher byte for byte, and
// nothing of what the caller writes into its memory after a flush.
func TestPublisherModel(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 9))
		x := newFixture(t, openConfig)
		account := x.door.policy.Global()
		socket := &fakeSocket{t: t, random: random}
		c := x.connect(socket, "")
		x.subscribe(c, "in.*", "", "sid")
		p := x.NewPublisher()
		var want []byte
		var given [][]byte
		give := func(n int) []byte {
			b := randomBytes(random, n)
			given = append(given, b)
			return b
		}
		for range 30 {
			for range random.IntN(20) {
				var header []byte
				if random.IntN(2) == 0 {
					header = give(20 + random.IntN(2*chunks.BorrowBytes))
				}
				payload := give(random.IntN(3 * chunks.BorrowBytes))
				to := fmt.Sprint("in.", random.IntN(5))
				subject := []string{to, "shown"}[random.IntN(2)]
				reply := []string{"", "re.ply"}[random.IntN(2)]
				p.Deliver(account, to, "", subject, reply, header, payload)
				want = appendDelivery(want, subject, reply, header, payload)
			}
			p.Flush()
			for _, b := range given {
				clear(b)
			}
			given = given[:0]
			if random.IntN(3) == 0 && socket.full {
				socket.full = false
				c.line.Drain(&p.w.scratch)
			}
		}
		socket.generous = true
		c.line.Drain(&p.w.scratch)
		p.Close()
		if !bytes.Equal(socket.got, want) {
			t.Fatalf("seed %d: the socket got %d bytes, want %d", seed, len(socket.got), len(want))
		}
	}
}

// appendDelivery is a message as a client with a subscription "sid" sees it.
func appendDelivery(b []byte, subject, reply string, header, payload []byte) []byte {
	words, verb := "", "MSG"
	if reply != "" {
		words = reply + " "
	}
	if header != nil {
		verb = "HMSG"
		words += fmt.Sprint(len(header), " ")
	}
	b = fmt.Appendf(b, "%s %s sid %s%d\r\n", verb, subject, words, len(header)+len(payload))
	return append(append(append(b, header...), payload...), "\r\n"...)
}
