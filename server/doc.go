// Package server composes the server from its parts: it opens the listeners, hands accepted connections to
// the engine, decides as the engine's handler who may in, and shows its state to monitoring and to the
// system services. A program may embed it: [Open] starts it, [Server.Shutdown] ends it, and
// [Server.InProcessConn] connects a client without a socket.
//
// # The way of a connection
//
// A listener accepts it; where there is TLS, a goroutine of its own shakes hands, so that a client which is
// slow or silent holds up nobody. Then, if there are not too many, the engine serves it: INFO, CONNECT, and
// the question back to this package who that is. The engine also tells when it is gone; then it is counted
// off its account, remembered for monitoring, and announced on the system account.
//
// # What runs
//
// One goroutine a listener, one a TLS handshake or a client that is turned away, those of net/http, of the
// system services, and of the engine. All end with [Server.Close], which waits for them.
//
// # What changes
//
// Everything that follows from the options is one immutable state behind an atomic pointer. [Server.Reload]
// makes another one and swaps it in, so whoever loads it sees old or new, never a mixture. Whoever needs two
// things of it loads it once.
package server
