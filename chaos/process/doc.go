// Package process runs servers as processes of this machine, of whatever make, one by one and as clusters, and does to them what
// operators, power cuts and bad days do.
//
// A [Program] is a file that can be run. A [Server] is a place for one: a folder with its configuration, log and streams, ports,
// and a process while it runs. A [Cluster] is some servers on a network that can be harmed. Each server has a proxy for each other
// one and one for its clients (see package network), is told these as the addresses of the others, and tells nobody its own:
//
//	DIR/n1/server.conf   written at each start
//	DIR/n1/log           what all lives of the server have said
//	DIR/n1/streams       its store
//
// Whatever goes wrong is an error, and an end that nobody has asked for is an [End], which the server keeps. On Linux no process
// outlives this one, however this one ends.
package process
