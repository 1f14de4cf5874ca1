package operator

import "errors"

// What can be wrong with a token. The errors of this package wrap these and say more; none contains the token, since a
// bearer token is a credential.
var (
	// ErrTooLarge: the token is longer than any honest one.
	ErrTooLarge = errors.New("token too large")
	// ErrMalformed: it is not a JWT, not one of the kind that was expected, or its signature is not its issuer's.
	ErrMalformed = errors.New("malformed token")
	// ErrClaims: it is signed, but what it says makes no sense.
	ErrClaims = errors.New("invalid claims")
	// ErrUntrusted: its issuer may not issue it.
	ErrUntrusted = errors.New("issuer is not trusted")
	// ErrWrongSubject: it is about somebody else.
	ErrWrongSubject = errors.New("token of another subject")
	// ErrExpired: its time is over.
	ErrExpired = errors.New("expired")
	// ErrNotYetValid: its time has not come.
	ErrNotYetValid = errors.New("not yet valid")
	// ErrServerVersion: the operator asks for a newer server.
	ErrServerVersion = errors.New("server version is too old for the operator")
)

// What can keep a user out whose token is in order.
var (
	// ErrNoToken: a client has sent no JWT.
	ErrNoToken = errors.New("a user JWT is required")
	// ErrSignature: the nonce was not signed with the key of the user.
	ErrSignature = errors.New("wrong signature of the nonce")
	// ErrBearer: the account has no bearer tokens.
	ErrBearer = errors.New("bearer tokens are not allowed by the account")
	// ErrRevoked: the account has revoked the user.
	ErrRevoked = errors.New("revoked")
	// ErrConnectionType: the user may not use this kind of connection.
	ErrConnectionType = errors.New("connection type not allowed")
	// ErrAddress: the user may not come from this address.
	ErrAddress = errors.New("source address not allowed")
	// ErrTimeOfDay: the user may not connect at this time of the day.
	ErrTimeOfDay = errors.New("outside of the allowed times")
	// ErrTemplate: the permissions of a scoped signing key cannot be filled in for the user.
	ErrTemplate = errors.New("permissions of the signing key cannot be worked out")
	// ErrProxy: the user must come through a trusted proxy.
	ErrProxy = errors.New("a trusted proxy is required")
)
