// Package rigtest runs clusters of real server processes on one machine, breaks them, and looks at what their clients
// were told: nothing that was acknowledged is lost, nothing is there twice, no order changes.
//
// A [Cluster] has a process for each server, and a network between them that can be cut in one direction or both, slowed down and
// reset while the servers run: see packages chaos/process and chaos/network, of which this one is what tests need. Whatever goes
// wrong ends the test. Clients connect to the servers themselves, not through proxies.
//
// Loads run meanwhile and write down what they see: [Writers] publish to a stream, [Reader] follows it, [Workers]
// consume it, [Requests] ask and answer, [Chatter] publishes and subscribes. Each is stopped before its findings are
// asked for. What is promised with each is in its description.
//
// The servers are runnel, built from this module once for all tests of a package, or another program that reads the same
// configuration: the environment variable RIG_SERVER names it. So the same scenarios have a baseline.
package rigtest
