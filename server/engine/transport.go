package engine

import "runnel/server/engine/outbound"

// transport is how the engine reaches the socket of one line. Two exist: goTransport, a goroutine for
// each line over any net.Conn, and pollTransport, edge-triggered epoll over plain TCP on Linux.
//
// The transport reads: it borrows a worker, hands it what came ([user.input]) and flushes it at the end of
// the batch. It calls [line.ended] once its reader has stopped for good.
type transport interface {
	outbound.Socket
	// write offers buffers to the socket and returns without waiting. It may take less (sockets.ErrFull).
	// Only the holder of the outbound's right to write calls it.
	write(w *worker, buffers [][]byte) (int, error)
	// wake makes a parked or suspended connection read again. Any goroutine; does nothing if it reads already.
	wake()
}

// parkedLine is a line whose publisher waits for another one to drain.
type parkedLine line

// Wake implements outbound.Waiter.
func (p *parkedLine) Wake() { p.transport.wake() }
