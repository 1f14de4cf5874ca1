// Package jetstream is the service that keeps messages: it answers the JetStream API in every account that may use
// it, and joins a stream's storage with those who publish to it and those who read from it.
//
// The parts, each a package of its own: api has the shapes and texts of requests and answers, ingest turns what is
// published into commands and acknowledgements, delivery sends to consumers what they are to get, sourcing copies
// from other streams, backup is the form in which a stream leaves and comes. This package has the accounts, the
// streams by name, the handlers of requests, the timers of expiry and schedules, and the advisories.
//
// # Goroutines
//
// Handlers of subscriptions run on the worker of the publisher and only file what they are given. Requests
// wait in lanes, which some goroutines carry out that come and go with the work. All that changes a stream is in one
// lane, and so carried out in the order in which it came; requests that only look are in others, and may overtake.
// Nothing else is kept running: a stream without traffic has neither a goroutine nor, without a limit on age, a timer.
//
// # Locks
//
// account.mu guards the table of an account's streams and what is reserved; no stream is asked while it is held.
// stream.mu guards the subscriptions and timers of one stream. Neither is held while a command waits.
package jetstream
