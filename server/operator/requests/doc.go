// Package requests answers what is asked about account JWTs over the system account: tools push, list, delete and fetch
// them there, and servers ask each other.
//
// One goroutine answers, one request after the other; a bounded number may wait. A request that would change something is
// believed only as far as the JWT in it: it must be one of an operator.
package requests
