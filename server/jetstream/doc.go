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
// Service.mu guards the table of accounts, and Service.setting lets one SetAccounts go after the other.
// account.mu guards the table of an account's streams and what is reserved; no stream is asked while it is held.
// stream.mu guards the subscriptions and timers of one stream. Neither is held while a command waits.
//
// # Clusters
//
// With Config.Cluster the service is one of several. Most requests reach all of them, and package clustered says which one
// answers: that which leads the stream, or the meta group for what package directory knows. What only the leader of a stream
// is to get (what is published, requests for messages, acknowledgements) it subscribes to by stream; direct gets are taken by all
// that have the stream and are not behind, as a queue group.
//
// Opened, Lead, Follow and Closed say which streams are here and which of them are led here. Each is a replica, which lets a
// stream value stand for what it is: one that leads, complete, or one that only reads. When leadership ends the value ends, and
// with it all that was only known here; the next leader begins with what is applied. What was under way fails with
// store.ErrNotLeader, and its publisher learns that nobody has it, or, if nobody knows, with store.ErrLeadershipLost.
//
// replica.mu guards what a replica is to be, and cluster.mu the table of replicas; nobody is called while they are held.
//
// # Many streams and consumers
//
// Nothing that a publish or a request does goes through all streams or all consumers. Which streams claim a subject is
// asked of a tree (package claims); the bytes of an account are counted as they come and go; a publish rouses only the
// consumers whose filter matches and that want a message (package delivery). What does go through all of something is
// done where nobody waits for it: pages of lists are sorted on the lane of the request, and what looks at all messages or
// subjects of a stream does so in steps, between which the stream's commands go on.
//
// The number of subjects is the one thing in an info that may be old: see reads.SubjectCount.
//
// # Too much
//
// Everything that waits is bounded. Requests to the API wait in two queues, those that change something apart from those
// that only look, so that a flood of questions does not keep a stream from being made. What comes when a queue is full is
// dropped without an answer, since an answer costs as much as doing it; the drops are counted, logged once a second, and
// told in the system account. What is published waits in the queue of its stream, and is refused when that is full.
//
// # Start
//
// All that a stream knows is in the store: its configuration, its consumers, what they wait for and until when, the ids of
// messages, schedules and times of expiry. So serving it after a start means to subscribe, and to set an alarm for what
// is due next. Nothing is read for that but the state, so that the start does not depend on how many messages there are.
// Streams in memory begin anew, with the configuration that they had.
package jetstream
