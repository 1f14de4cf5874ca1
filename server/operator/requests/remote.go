package requests

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"runnel/server/operator/resolver"
)

// Remote is a resolver that asks others over the system account.
type Remote struct{ Bus Bus }

// ErrNobody says that nobody in the system account answers for account JWTs.
var ErrNobody = errors.New("nobody answers for account JWTs in the system account")

// second is how long another server may take to know of an account that the first one to answer does not know: it may have
// been pushed there alone so far.
const second = 250 * time.Millisecond

// newInbox is a subject for answers that nobody else has.
func newInbox() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // it never fails
	return "$SYS._INBOX." + hex.EncodeToString(b[:])
}

// Fetch implements resolver.Resolver. The first JWT counts; an empty answer says that there is no such account, if nobody
// says otherwise soon.
func (r Remote) Fetch(ctx context.Context, account string) (string, error) {
	inbox := newInbox()
	answers, unknown := make(chan string, 1), make(chan struct{}, 1)
	cancel := r.Bus.Subscribe(inbox, func(_, _ string, payload []byte) {
		if len(payload) > 0 {
			select {
			case answers <- string(payload):
			default:
			}
			return
		}
		select {
		case unknown <- struct{}{}:
		default:
		}
	})
	defer cancel()
	if r.Bus.Publish(accountPrefix+account+lookupSuffix, inbox, nil) == 0 {
		return "", ErrNobody
	}
	var late <-chan time.Time
	for {
		select {
		case token := <-answers:
			return token, nil
		case <-unknown:
			if late == nil {
				late = time.After(second)
			}
		case <-late:
			return "", resolver.ErrNotFound
		case <-ctx.Done():
			return "", fmt.Errorf("ask for the JWT of account %s: %w", account, ctx.Err())
		}
	}
}
