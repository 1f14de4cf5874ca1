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
// # Who is let in
//
// Of the ways to find out who a client is, the first one that applies decides, and alone:
//
//   - A proxy_sig that no trusted proxy has made refuses the client, whoever it is.
//   - In operator mode its JWT says who it is, or the default sentinel where it sends none. The account of the
//     JWT is looked for by the resolver, its claims say whether the user is good. If they ask for a callout,
//     and the user is none of its auth_users, that is asked then, and the user in its answer takes the place.
//   - A callout of the configuration is asked about everybody but its auth_users. The passwords of other users
//     do not matter then: the service sees what the client has sent, and decides.
//   - Else the policy decides: nkey, certificate, name and password, token, no_auth_user.
//
// What takes the processor for long is done off the workers, a few at a time. What waits for somebody else, a
// resolver or a callout, does so beside that ([engine.Engine.Aside]), so that nobody else waits for it: a login
// costs a goroutine until it is decided or its time is over, and a message of the others nothing.
//
// Whoever is in stays as long as the same way would let it in again: a reload, a pushed JWT and the end of
// a callout look at all connections that they concern. What ends by itself is in [Server]'s expiry.
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
