// Package server composes the server from its parts: it opens the listeners, hands accepted connections to
// the engine, decides as the engine's handler who may in, and shows its state to monitoring and to the
// system services. A program may embed it: [Open] starts it, [Server.Shutdown] ends it, and
// [Server.InProcessConn] connects a client without a socket.
package server
