package engine

// transport is how the engine reaches the socket of one connection. Two exist: goTransport, a goroutine for
// each connection over any net.Conn, and pollTransport, edge-triggered epoll over plain TCP on Linux.
//
// The transport reads: it borrows a worker, hands it what came ([worker.input]) and flushes it at the end of
// the batch. It calls [Conn.ended] once its reader has stopped for good.
type transport interface {
	// write offers buffers to the socket and returns without waiting. It may take less (sockets.ErrFull).
	// Only the holder of the outbound's right to write calls it.
	write(w *worker, buffers [][]byte) (int, error)
	// arm asks for a drain of the outbound queue when the socket is writable again. Called with the
	// outbound's lock held.
	arm()
	// shut ends both directions, so that the reader notices; the descriptor stays open. Called with the
	// outbound's lock held.
	shut()
	// close closes the descriptor. Called once, with the outbound's lock held, after the reader has ended
	// and when nobody writes.
	close()
	// wake makes a parked or suspended connection read again. Any goroutine; does nothing if it reads already.
	wake()
}
