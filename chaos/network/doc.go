// Package network is a network between servers that can be harmed while it works, without any rights on the machine: TCP
// proxies on the loopback address.
//
// A [Proxy] forwards connections to one address. It can hold what goes in one direction or both, delay it, let only so many
// bytes a second through, and break the connections. A [Mesh] has a proxy for each ordered pair of servers, and one for the
// clients of each server:
//
//	server 0 ──▶ proxy 0→1 ──▶ server 1          what server 0 dials
//	server 0 ◀── proxy 1→0 ◀── server 1          what server 1 dials
//	clients  ──▶ proxy     ──▶ server 1          what the clients of server 1 dial
//
// For that each server has to be told the addresses of its proxies as those of the others, and must tell nobody its own.
//
// Nothing here is simulated: a cut is one that nobody is told of, as of a cable. Bytes that were held arrive later, since the
// sockets at both ends live on, as TCP has it when a network is whole again in time.
package network
