// Package operator turns signed claims into what the server may do: operators that are trusted, accounts that they
// have signed, and users that those accounts have signed.
//
// The chain of trust, each link checked by the one before it:
//
//	operator key or signing key ──▶ account JWT ──▶ user JWT ──▶ signature of the nonce
//	        Trust                    Account          User          Account.Admit
//
// A Trust comes from the configuration. It reads account JWTs, wherever they were found, into an Account: decoded
// and verified once, immutable, used by all connections of the account. An Account admits users by their JWT, and
// says what is left of a user when the account's claims have changed (Account.Review).
//
// The package is pure: it reads no file, opens no connection and asks no clock. Everything fails closed, with an
// error that names the reason and contains no token.
package operator
