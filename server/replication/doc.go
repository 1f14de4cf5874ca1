// Package replication makes a server one of those that keep a cluster's streams together: it joins the transport of raft
// between servers, this server's part of the meta group, and the groups of the streams that it has, to the cluster that
// the service of streams sees (clustered.Cluster).
//
//	links of raft ──▶ cluster/transport ◀── cluster/meta      who has which stream
//	                          ▲      ▲                │ changes
//	                          │      └───────── cluster/replicas   opens, closes, grows, shrinks groups
//	                          │                       │ opened, lead, follow, closed
//	                   calls of others ──▶ server/jetstream
//
// What this package adds itself is small: which node is who, how many servers a new cluster has, and who leads the streams
// that are not on this server (package leaders).
//
// # Start and end
//
// New makes the transport, so that links may come before the store is open. Start opens the rest and returns; the streams of
// this server come one by one, as the meta group says. Close ends the groups first, then the meta group, then the
// transport: who leads something hands it over before its links go.
package replication
