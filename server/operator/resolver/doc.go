// Package resolver finds the JWT of an account: in memory, behind a URL, in a directory, or with somebody else who has
// it, kept in a directory. It knows accounts as names and JWTs as texts; what a JWT says, and whether to believe it, is
// for package operator.
//
// Lookup stands before any of them: however many clients of an account come at the same time, it is looked for once,
// and an account that is not there is not looked for again at once.
package resolver

import (
	"context"
	"errors"
)

var (
	// ErrNotFound: there is no JWT of that account.
	ErrNotFound = errors.New("account not found")
	// ErrName: this is not the name of an account.
	ErrName = errors.New("not the public key of an account")
	// ErrFull: the directory has as many JWTs as it may.
	ErrFull = errors.New("the resolver is full")
	// ErrClosed: nothing is looked for any more.
	ErrClosed = errors.New("the resolver is closed")
	// ErrNoDeletes: JWTs are not deleted here.
	ErrNoDeletes = errors.New("delete is not allowed")
)

// MaxTokenBytes bounds what is read as a JWT, from wherever.
const MaxTokenBytes = 1 << 20

// A Resolver finds account JWTs. It is safe for concurrent use.
type Resolver interface {
	// Fetch returns the JWT of an account. It may take as long as ctx allows; ErrNotFound says that there is none.
	Fetch(ctx context.Context, account string) (string, error)
}

// validName reports whether a name can be that of an account, and so that of a file too.
func validName(name string) bool {
	const length = 56
	if len(name) != length || name[0] != 'A' {
		return false
	}
	for i := range len(name) {
		if c := name[i]; (c < 'A' || c > 'Z') && (c < '2' || c > '7') {
			return false
		}
	}
	return true
}
