// Package client has what programs write again and again around a message server, and get wrong at the edges: workers that
// process messages, tables in a database that make effects happen once, and questions to the server about its consumers. It
// stands on nats.go, which does the rest.
//
// [Process] lets a function handle the messages of a consumer. [Inbox] lets an effect in a database happen once for a message
// that comes twice. [Outbox] brings what a transaction has written down to a stream, once and in order. [Lag], [AllLags] and
// [Explain] ask how far consumers are behind, and why. [DLQ] looks after what they have given up.
//
// # What needs which server
//
// Process and Inbox work with any server that has JetStream. Outbox is exact only with Runnel, which knows the number of a
// producer for ever; elsewhere it says so before it sends anything. What asks a question of Runnel's own fails with [ErrNoAPI]
// elsewhere.
//
// Those questions go to the account of the connection. A stream of another account can be asked about where that
// account shares the subject $RUNNEL.API.> like any service.
package client
