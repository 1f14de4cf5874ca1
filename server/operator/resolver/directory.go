package resolver

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	extension = ".jwt"
	// deleted follows the extension of a JWT that was deleted and may be wanted back.
	deleted = ".deleted"
)

// DirectoryConfig says how a Directory keeps its JWTs.
type DirectoryConfig struct {
	// Path is the directory, which is made if it is not there. Nobody else may write to it.
	Path string
	// AllowDelete lets JWTs be deleted; without HardDelete their files are renamed.
	AllowDelete, HardDelete bool
	// Limit is how many JWTs it has at most; 0 for no limit.
	Limit int
	// Evict makes room in a full directory: what was used least recently goes.
	Evict bool
	// TTL is how long a JWT counts after it was saved; 0 for ever.
	TTL time.Duration
}

// Directory keeps each JWT in a file `<account>.jwt`. What Save has returned for is on the disk.
type Directory struct {
	cfg DirectoryConfig

	// mu guards what follows and all changes of files, so that both tell the same.
	mu      sync.Mutex
	entries map[string]*entry
	uses    uint64
}

// entry is what is known about a file.
type entry struct {
	sum   [sha256.Size]byte // of the JWT
	saved time.Time
	used  uint64 // when it was last asked for, as the number of that use
}

// OpenDirectory reads which JWTs a directory has. Files that are none of its own are left alone.
func OpenDirectory(cfg DirectoryConfig) (*Directory, error) {
	if cfg.Path == "" {
		return nil, errors.New("resolver: dir is missing: name a directory for the account JWTs")
	}
	if err := os.MkdirAll(cfg.Path, 0o700); err != nil {
		return nil, fmt.Errorf("resolver: make the directory: %w", err)
	}
	d := &Directory{cfg: cfg, entries: make(map[string]*entry)}
	files, err := os.ReadDir(cfg.Path)
	if err != nil {
		return nil, fmt.Errorf("resolver: read the directory: %w", err)
	}
	for _, f := range files {
		name, ok := strings.CutSuffix(f.Name(), extension)
		if !ok || !validName(name) || !f.Type().IsRegular() {
			continue
		}
		token, err := d.read(name)
		if err != nil {
			return nil, err
		}
		info, err := f.Info()
		if err != nil {
			return nil, fmt.Errorf("resolver: %w", err)
		}
		d.entries[name] = &entry{sum: sha256.Sum256([]byte(token)), saved: info.ModTime()}
	}
	for i, name := range slices.SortedFunc(maps.Keys(d.entries), d.bySaved) {
		d.entries[name].used = uint64(i) + 1
	}
	d.uses = uint64(len(d.entries))
	return d, nil
}

// bySaved orders names by the time of their files.
func (d *Directory) bySaved(a, b string) int {
	return cmp.Or(d.entries[a].saved.Compare(d.entries[b].saved), strings.Compare(a, b))
}

func (d *Directory) file(account string) string { return filepath.Join(d.cfg.Path, account+extension) }

// read reads the file of an account.
func (d *Directory) read(account string) (string, error) {
	f, err := os.Open(d.file(account))
	if err != nil {
		return "", fmt.Errorf("resolver: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	b, err := io.ReadAll(io.LimitReader(f, MaxTokenBytes+1))
	if err != nil {
		return "", fmt.Errorf("resolver: %w", err)
	}
	if len(b) > MaxTokenBytes {
		return "", fmt.Errorf("resolver: %s has more than %d bytes", d.file(account), MaxTokenBytes)
	}
	return strings.TrimSpace(string(b)), nil
}

// Fetch implements Resolver.
func (d *Directory) Fetch(_ context.Context, account string) (string, error) {
	if !d.use(account, time.Now()) {
		return "", ErrNotFound
	}
	token, err := d.read(account)
	if errors.Is(err, fs.ErrNotExist) {
		return "", ErrNotFound
	}
	return token, err
}

// use reports whether there is a JWT of the account that counts, and notes that it was asked for.
func (d *Directory) use(account string, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.entries[account]
	if e == nil || d.cfg.TTL > 0 && now.Sub(e.saved) >= d.cfg.TTL {
		return false
	}
	d.uses++
	e.used = d.uses
	return true
}

// Has reports whether there is a JWT of the account, however old.
func (d *Directory) Has(account string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.entries[account] != nil
}

// Save keeps a JWT in place of the one before. It is on the disk when Save returns.
func (d *Directory) Save(account, token string) error {
	if !validName(account) {
		return ErrName
	}
	if len(token) > MaxTokenBytes {
		return fmt.Errorf("resolver: a JWT of %d bytes, at most %d", len(token), MaxTokenBytes)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.makeRoom(account); err != nil {
		return err
	}
	if err := d.write(account, token); err != nil {
		return err
	}
	d.uses++
	d.entries[account] = &entry{sum: sha256.Sum256([]byte(token)), saved: time.Now(), used: d.uses}
	return nil
}

// makeRoom sees to it that there is place for one more account. mu is held.
func (d *Directory) makeRoom(account string) error {
	if d.cfg.Limit <= 0 || len(d.entries) < d.cfg.Limit || d.entries[account] != nil {
		return nil
	}
	if !d.cfg.Evict {
		return fmt.Errorf("%w: it has %d accounts", ErrFull, len(d.entries))
	}
	oldest := slices.MinFunc(slices.Collect(maps.Keys(d.entries)), func(a, b string) int {
		return cmp.Compare(d.entries[a].used, d.entries[b].used)
	})
	if err := os.Remove(d.file(oldest)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("resolver: make room: %w", err)
	}
	delete(d.entries, oldest)
	return nil
}

// write replaces a file as a whole: whoever reads it, also after a crash, finds the old JWT or the new one. mu is held.
func (d *Directory) write(account, token string) (err error) {
	f, err := os.CreateTemp(d.cfg.Path, "."+account+"-*")
	if err != nil {
		return fmt.Errorf("resolver: save: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // the error that counts is err
			err = fmt.Errorf("resolver: save: %w", err)
		}
	}()
	_, err = f.WriteString(token)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), d.file(account)); err != nil {
		return err
	}
	return d.sync()
}

// sync makes changes of names last.
func (d *Directory) sync() error {
	dir, err := os.Open(d.cfg.Path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Delete removes the JWT of an account, if there is one.
func (d *Directory) Delete(account string) error {
	if !d.cfg.AllowDelete {
		return ErrNoDeletes
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.entries[account] == nil {
		return nil
	}
	remove := func() error { return os.Rename(d.file(account), d.file(account)+deleted) }
	if d.cfg.HardDelete {
		remove = func() error { return os.Remove(d.file(account)) }
	}
	if err := remove(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("resolver: delete: %w", err)
	}
	delete(d.entries, account)
	if err := d.sync(); err != nil {
		return fmt.Errorf("resolver: delete: %w", err)
	}
	return nil
}

// Accounts returns the names of all accounts, sorted.
func (d *Directory) Accounts() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.entries))
}

// All iterates over all accounts and their JWTs. One that cannot be read is left out.
func (d *Directory) All() iter.Seq2[string, string] {
	return func(yield func(account, token string) bool) {
		for _, account := range d.Accounts() {
			if token, err := d.read(account); err == nil && !yield(account, token) {
				return
			}
		}
	}
}

// Sum is the same for two directories with the same JWTs, and for hardly any others.
func (d *Directory) Sum() [sha256.Size]byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	var sum [sha256.Size]byte
	for _, e := range d.entries {
		for i, b := range e.sum {
			sum[i] ^= b
		}
	}
	return sum
}
