package resolver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"
)

// Kind is a way to find accounts.
type Kind string

// The kinds, as the configuration writes them.
const (
	KindMemory Kind = "memory"
	KindURL    Kind = "url"
	KindFull   Kind = "full"
	KindCache  Kind = "cache"
)

// DefaultTimeout bounds the look for one account when nothing else is said.
const DefaultTimeout = 1900 * time.Millisecond

// Config says where accounts are found.
type Config struct {
	Kind Kind
	// Preload are JWTs by account: all that KindMemory has, and what a directory has to begin with, unless it has a JWT of
	// the account.
	Preload map[string]string
	// URL is the base of KindURL, and TLS secures it, nil for the usual.
	URL string
	TLS *tls.Config
	// Directory is that of KindFull and KindCache. Evict is set for the latter.
	Directory DirectoryConfig
	// Remote is whom KindCache asks, and Check tells whether an answer may be kept.
	Remote Resolver
	Check  func(account, token string) error
	// Timeout bounds the look for one account, DefaultTimeout when 0.
	Timeout time.Duration
}

// Source is where the accounts of a server are found, and kept if they are. It is safe for concurrent use.
type Source struct {
	lookup *Lookup
	// memory and directory are what the source is, or has; nil when it is something else.
	memory    *Memory
	directory *Directory
	full      bool // the directory has all accounts, not only some
}

// Open makes a Source. A URL is asked whether it is one. Close it.
func Open(ctx context.Context, cfg Config) (*Source, error) {
	if cfg.Timeout <= 0 {
		cfg.Timeout = DefaultTimeout
	}
	s := &Source{}
	var found Resolver
	var err error
	switch cfg.Kind {
	case KindMemory:
		s.memory = NewMemory(cfg.Preload)
		found = s.memory
	case KindURL:
		found, err = openURL(ctx, &cfg)
	case KindFull, KindCache:
		found, err = s.openDirectory(&cfg)
	default:
		err = fmt.Errorf("there is no resolver %q", cfg.Kind)
	}
	if err != nil {
		return nil, err
	}
	s.lookup = NewLookup(found, cfg.Timeout)
	return s, nil
}

func openURL(ctx context.Context, cfg *Config) (Resolver, error) {
	u, err := NewURL(cfg.URL, cfg.Timeout, cfg.TLS)
	if err != nil {
		return nil, err
	}
	return u, u.Check(ctx)
}

// openDirectory opens the directory, and puts preloaded JWTs into it.
func (s *Source) openDirectory(cfg *Config) (Resolver, error) {
	s.full = cfg.Kind == KindFull
	cfg.Directory.Evict = !s.full
	d, err := OpenDirectory(cfg.Directory)
	if err != nil {
		return nil, err
	}
	for account, token := range cfg.Preload {
		if d.Has(account) {
			continue // what was pushed is newer
		}
		if err := d.Save(account, token); err != nil {
			return nil, fmt.Errorf("resolver_preload: account %.64q: %w", account, err)
		}
	}
	s.directory = d
	if s.full {
		return d, nil
	}
	return &Cache{Directory: d, Remote: cfg.Remote, Check: cfg.Check}, nil
}

// Fetch implements Resolver.
func (s *Source) Fetch(ctx context.Context, account string) (string, error) {
	return s.lookup.Fetch(ctx, account)
}

// Directory is where the source keeps JWTs, nil for nowhere.
func (s *Source) Directory() *Directory { return s.directory }

// Complete reports whether the directory has all accounts, so that others may ask for them here.
func (s *Source) Complete() bool { return s.full }

// Save takes the new JWT of an account. kept is false where only accounts are kept that somebody has asked for, and
// nobody has asked for this one.
func (s *Source) Save(account, token string) (kept bool, err error) {
	switch {
	case s.full || s.directory != nil && s.directory.Has(account):
		kept, err = true, s.directory.Save(account, token)
	case s.memory != nil:
		if err = s.memory.Save(account, token); errors.Is(err, ErrNotFound) {
			return false, nil
		}
		kept = true
	}
	if err != nil {
		return false, err
	}
	s.lookup.Forget(account)
	return kept, nil
}

// Delete deletes the JWT of an account. Without a directory it fails with ErrNoDeletes.
func (s *Source) Delete(account string) error {
	if s.directory == nil {
		return ErrNoDeletes
	}
	defer s.lookup.Forget(account)
	return s.directory.Delete(account)
}

// Close gives up all that is looked for.
func (s *Source) Close() { s.lookup.Close() }
