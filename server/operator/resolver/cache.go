package resolver

import (
	"context"
	"errors"
)

// Cache asks somebody else for a JWT, and keeps it in a directory.
type Cache struct {
	Directory *Directory
	// Remote is who is asked.
	Remote Resolver
	// Check tells whether a JWT is one of the account; what is not is not kept.
	Check func(account, token string) error
}

// Fetch implements Resolver.
func (c *Cache) Fetch(ctx context.Context, account string) (string, error) {
	token, err := c.Directory.Fetch(ctx, account)
	if !errors.Is(err, ErrNotFound) {
		return token, err
	}
	token, err = c.Remote.Fetch(ctx, account)
	if err != nil {
		return "", err
	}
	if err := c.Check(account, token); err != nil {
		return "", err
	}
	return token, c.Directory.Save(account, token)
}
