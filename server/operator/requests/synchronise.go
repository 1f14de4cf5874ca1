package requests

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"runnel/server/operator"
	"runnel/server/operator/resolver"
)

const (
	// DefaultInterval is how often servers with directories of all accounts compare them, where no option says.
	DefaultInterval = time.Minute
	// collecting is how long answers of other servers are waited for.
	collecting = 5 * time.Second
	// maxCollected is how many accounts that others have told may wait. The rest comes with the next comparison.
	maxCollected = 1024
)

// Synchronise compares the directory of all accounts with those of other servers once in each interval, and takes over what
// they have and this server has not, or has from an earlier time, until ctx ends. Without such a directory it does
// nothing; interval is asked each time.
func (s *Service) Synchronise(ctx context.Context, interval func() time.Duration) {
	for {
		d := interval()
		timer := time.NewTimer(d*3/4 + rand.N(d/2+1)) // or all servers would ask all at once
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		src := s.accounts.Source()
		if own := src.Directory(); own != nil && src.Complete() {
			s.compare(ctx, own)
		}
	}
}

// compare shows others the sum over all accounts. Who has another one sends what it has.
func (s *Service) compare(ctx context.Context, own *resolver.Directory) {
	told := make(chan string, maxCollected)
	inbox := newInbox()
	cancel := s.bus.Subscribe(inbox, func(_, _ string, payload []byte) {
		if len(payload) == 0 || len(payload) > operator.MaxAccountBytes {
			return
		}
		select {
		case told <- string(payload):
		default:
		}
	})
	defer cancel()
	sum := own.Sum()
	s.bus.Publish(packSubject, inbox, sum[:])
	ctx, stop := context.WithTimeout(ctx, collecting)
	defer stop()
	for {
		select {
		case <-ctx.Done():
			return
		case pair := <-told:
			account, token, ok := strings.Cut(pair, "|")
			if !ok {
				continue
			}
			if err := s.adopt(ctx, own, account, token); err != nil {
				s.logger.Warn("the JWT of an account that another server has is not taken over", "account", account, "error", err)
			}
		}
	}
}

// adopt takes a JWT over that is newer than the one of this server.
func (s *Service) adopt(ctx context.Context, own *resolver.Directory, account, token string) error {
	have, err := own.Fetch(ctx, account)
	if err != nil && !errors.Is(err, resolver.ErrNotFound) {
		return err
	}
	if have == token {
		return nil
	}
	now := time.Now()
	claims, err := s.accounts.Trust().ReadAccount(token, account, now)
	if err != nil {
		return err
	}
	if old, err := s.accounts.Trust().ReadAccount(have, account, now); err == nil && old.Claims().IssuedAt >= claims.Claims().IssuedAt {
		return nil
	}
	if _, err := s.accounts.Push(claims); err != nil {
		return err
	}
	s.logger.Info("the JWT of an account was taken over from another server", "account", account, "name", claims.Label())
	return nil
}
