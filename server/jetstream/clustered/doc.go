// Package clustered is what the service of streams needs of a cluster, and how several servers answer one API.
//
// Cluster is the view from one server: who leads the whole, which streams are assigned to whom, who leads each. Every
// server of a cluster gets most requests; Judge says which one answers, from the view that each of them has. For a
// moment views differ. A request that nobody may be able to answer yet waits, with Waiting, on all servers that might
// be the ones soon: so a client does not notice an election, and if there is none the request is refused after
// Patience. One that another server is to answer is kept for a moment, in case that server has gone and nobody knows yet: what only
// looks is answered by the next leader then, what changes something is refused, since it may have been done.
//
// What no single server knows is gathered: Ask puts a Question to several servers at once. Nothing here knows a
// connection or a stream.
package clustered
