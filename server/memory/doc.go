// Package memory keeps the memory of a server within a budget: it knows how much there may be, sees how much is in use, and says what
// is to be slowed down before nothing is left.
//
// A [Budget] is what somebody has written down, or what the container allows, and is divided into shares for what is known to grow
// with the load ([Budget.Shares]). That alone bounds what publishers can fill. What is left, connections and consumers and what
// waits for those who do not read, is watched by a [Keeper]. It counts what is alive on Go's heap, since what is dead is collected when
// it is needed, and takes one step after the other:
//
//	calm     nothing is done
//	tight    the memory tables of the store are flushed early, and caches dropped
//	slow     who publishes to streams, or to those who do not read, is read from more slowly, and less waits for each connection
//	stopped  as slow as can be; new connections are refused, and those cut off for which much waits
//
// Nothing that was taken is dropped at any step. Acknowledgements, deliveries that are read, requests, other servers and raft go on.
package memory
