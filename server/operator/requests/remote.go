package requests

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"

	"runnel/server/operator/resolver"
)

// Remote is a resolver that asks others over the system account.
type Remote struct{ Bus Bus }

// ErrNobody says that nobody in the system account answers for account JWTs.
var ErrNobody = errors.New("nobody answers for account JWTs in the system account")

// Fetch implements resolver.Resolver. The first answer counts, and an empty one says that there is no such account.
func (r Remote) Fetch(ctx context.Context, account string) (string, error) {
	var b [12]byte
	_, _ = rand.Read(b[:]) // it never fails
	inbox := "$SYS._INBOX." + hex.EncodeToString(b[:])
	answers := make(chan string, 1)
	cancel := r.Bus.Subscribe(inbox, func(_, _ string, payload []byte) {
		select {
		case answers <- string(payload):
		default:
		}
	})
	defer cancel()
	if r.Bus.Publish(accountPrefix+account+lookupSuffix, inbox, nil) == 0 {
		return "", ErrNobody
	}
	select {
	case token := <-answers:
		if token == "" {
			return "", resolver.ErrNotFound
		}
		return token, nil
	case <-ctx.Done():
		return "", fmt.Errorf("ask for the JWT of account %s: %w", account, ctx.Err())
	}
}
