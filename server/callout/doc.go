// Package callout asks a service on the bus who a client is.
//
// For each client that logs in the server signs a request, a JWT with all that the client has shown, and publishes it
// in the account of the service. The service answers with a JWT of its own: an error, or the JWT of a user that the
// client shall be. Where the service has a curve key, requests are sealed for it, since they contain passwords.
//
//	client ──CONNECT──▶ server ──request──▶ service
//	                    server ◀──response── service
//
// An answer counts only if the expected issuer has signed it, for this server and for the key that the request has
// made up for this one login: it is worth nothing for another login or another server. What the user in it may do is
// not this package's matter.
//
// A [Service] holds up nobody but those who log in: it waits on the goroutine of the caller, asks for a bounded number
// of clients at a time, and gives each up when its context ends.
package callout
