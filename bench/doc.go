// Package bench loads a NATS server over the wire and measures what that costs.
//
// It knows the server only through nats.go, so it runs against any NATS server.
// Its parts:
//
//   - workload.go says what can be run: scenarios, their parameters, the cases
//     they expand to;
//   - workload_*.go run them: a session owns the connections and the watchdog,
//     a flow moves messages from publishers to subscribers, between two accounts
//     in tenants, the request and connection scenarios have their own shape;
//   - stream*.go do the same for streams, key-value and object stores, mostly as
//     operations.go has it: workers side by side, each waiting for its own;
//   - the package verify checks every delivery: per publisher gapless, in order,
//     once, and unchanged;
//   - measure*.go know the latency histogram and what the operating system says
//     about the server process;
//   - result.go and report*.go turn a run into numbers, tables, CSV and JSON;
//   - server.go starts and stops servers, compare.go measures two of them in
//     alternation, ratio.go holds the arithmetic of that.
//
// What the numbers mean and how to repeat them is in docs/benchmarks.md.
package bench
