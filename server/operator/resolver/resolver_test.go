package resolver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"runnel/server/operator/resolver"
)

// account is the name of an account, a different one for each n below 1024.
func account(n int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	return "A" + strings.Repeat("B", 53) + string(letters[n/32]) + string(letters[n%32])
}

func TestMemory(t *testing.T) {
	m := resolver.NewMemory(map[string]string{account(1): "one"})
	if got, err := m.Fetch(t.Context(), account(1)); got != "one" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := m.Fetch(t.Context(), account(2)); !errors.Is(err, resolver.ErrNotFound) {
		t.Errorf("another: got %v", err)
	}
	if err := m.Save(account(1), "new"); err != nil {
		t.Error(err)
	}
	if got, _ := m.Fetch(t.Context(), account(1)); got != "new" {
		t.Errorf("after Save: got %q", got)
	}
	if err := m.Save(account(2), "two"); !errors.Is(err, resolver.ErrNotFound) {
		t.Errorf("Save of another: got %v", err)
	}
	if err := resolver.NewMemory(nil).Save(account(1), "x"); !errors.Is(err, resolver.ErrNotFound) {
		t.Errorf("Save in an empty one: got %v", err)
	}
}

func TestURL(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch strings.TrimPrefix(r.URL.Path, "/jwt/") {
		case "/other/":
			http.NotFound(w, r)
		case "":
			_, _ = io.WriteString(w, "hello")
		case account(1):
			_, _ = io.WriteString(w, "token\n")
		case account(2):
			http.NotFound(w, r)
		case account(3):
			http.Error(w, "broken", http.StatusInternalServerError)
		case account(4):
			_, _ = io.WriteString(w, strings.Repeat("x", resolver.MaxTokenBytes+1))
		case account(5):
			<-r.Context().Done()
		}
	}))
	t.Cleanup(site.Close)
	u, err := resolver.NewURL(site.URL+"/jwt/", 100*time.Millisecond, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(u.Close)
	if err := u.Check(t.Context()); err != nil {
		t.Errorf("check: %v", err)
	}
	if got, err := u.Fetch(t.Context(), account(1)); got != "token" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := u.Fetch(t.Context(), account(2)); !errors.Is(err, resolver.ErrNotFound) {
		t.Errorf("absent: got %v", err)
	}
	if _, err := u.Fetch(t.Context(), "../x"); !errors.Is(err, resolver.ErrName) {
		t.Errorf("no name: got %v", err)
	}
	for n := 3; n <= 5; n++ {
		if got, err := u.Fetch(t.Context(), account(n)); err == nil || errors.Is(err, resolver.ErrNotFound) {
			t.Errorf("account %d: got %d bytes, %v", n, len(got), err)
		}
	}
	elsewhere, err := resolver.NewURL(site.URL+"/other/", time.Second, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(elsewhere.Close)
	if err := elsewhere.Check(t.Context()); err == nil || errors.Is(err, resolver.ErrNotFound) {
		t.Errorf("check of a wrong base: got %v", err)
	}
}

func TestURLHidesSecrets(t *testing.T) {
	u, err := resolver.NewURL("http://me:secret@127.0.0.1:1/jwt?token=secret&name=", time.Second, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Check(t.Context()); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
	for _, base := range []string{"", "/accounts/", "ftp://x/", "http://", "http://me:secret@h:x/%zz"} {
		if _, err := resolver.NewURL(base, time.Second, nil); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: got %v", base, err)
		}
	}
}

func open(t *testing.T, cfg resolver.DirectoryConfig) *resolver.Directory {
	t.Helper()
	d, err := resolver.OpenDirectory(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func save(t *testing.T, d *resolver.Directory, account, token string) {
	t.Helper()
	if err := d.Save(account, token); err != nil {
		t.Fatal(err)
	}
}

func TestDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jwt")
	d := open(t, resolver.DirectoryConfig{Path: dir, AllowDelete: true})
	empty := d.Sum()
	save(t, d, account(2), "two")
	save(t, d, account(1), "one")
	save(t, d, account(1), "uno")
	if got, err := d.Fetch(t.Context(), account(1)); got != "uno" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := d.Fetch(t.Context(), account(3)); !errors.Is(err, resolver.ErrNotFound) {
		t.Errorf("absent: got %v", err)
	}
	for _, name := range []string{"", "x", "../" + account(1), strings.ToLower(account(1)), "U" + account(1)[1:]} {
		if err := d.Save(name, "x"); !errors.Is(err, resolver.ErrName) {
			t.Errorf("save %q: got %v", name, err)
		}
	}
	if err := d.Save(account(3), strings.Repeat("x", resolver.MaxTokenBytes+1)); err == nil {
		t.Error("save of a large JWT: got no error")
	}
	// What else lies in the directory is left alone, and what is there is there after a start.
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	again := open(t, resolver.DirectoryConfig{Path: dir})
	if got, want := again.Accounts(), []string{account(1), account(2)}; !slices.Equal(got, want) {
		t.Errorf("after a start: got %q, want %q", got, want)
	}
	if again.Sum() != d.Sum() || d.Sum() == empty {
		t.Errorf("sums: got %x and %x, empty %x", again.Sum(), d.Sum(), empty)
	}
	var all []string
	for account, token := range again.All() {
		all = append(all, account+token)
	}
	if want := []string{account(1) + "uno", account(2) + "two"}; !slices.Equal(all, want) {
		t.Errorf("all: got %q", all)
	}
	if err := again.Delete(account(1)); !errors.Is(err, resolver.ErrNoDeletes) {
		t.Errorf("delete that is not allowed: got %v", err)
	}
	if err := d.Delete(account(1)); err != nil || d.Has(account(1)) {
		t.Errorf("delete: got %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, account(1)+".jwt.deleted")); err != nil {
		t.Errorf("the deleted JWT: %v", err)
	}
	if err := d.Delete(account(1)); err != nil {
		t.Errorf("delete again: %v", err)
	}
	hard := open(t, resolver.DirectoryConfig{Path: dir, AllowDelete: true, HardDelete: true})
	if err := hard.Delete(account(2)); err != nil {
		t.Error(err)
	}
	if hard.Sum() != empty || len(hard.Accounts()) != 0 {
		t.Errorf("after all deletes: %q", hard.Accounts())
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) != 2 {
		t.Errorf("files: got %q, %v", names, err)
	}
}

func TestDirectoryFails(t *testing.T) {
	if _, err := resolver.OpenDirectory(resolver.DirectoryConfig{}); err == nil {
		t.Error("without a path: got no error")
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := resolver.OpenDirectory(resolver.DirectoryConfig{Path: file}); err == nil {
		t.Error("a file as directory: got no error")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, account(1)+".jwt"), make([]byte, resolver.MaxTokenBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := resolver.OpenDirectory(resolver.DirectoryConfig{Path: dir}); err == nil {
		t.Error("a huge file: got no error")
	}
}

func TestDirectoryLimit(t *testing.T) {
	d := open(t, resolver.DirectoryConfig{Path: t.TempDir(), Limit: 2})
	save(t, d, account(1), "1")
	save(t, d, account(2), "2")
	if err := d.Save(account(3), "3"); !errors.Is(err, resolver.ErrFull) {
		t.Errorf("one too many: got %v", err)
	}
	save(t, d, account(1), "one")

	dir := t.TempDir()
	lru := open(t, resolver.DirectoryConfig{Path: dir, Limit: 2, Evict: true})
	save(t, lru, account(1), "1")
	save(t, lru, account(2), "2")
	if _, err := lru.Fetch(t.Context(), account(1)); err != nil {
		t.Fatal(err)
	}
	save(t, lru, account(3), "3")
	if got, want := lru.Accounts(), []string{account(1), account(3)}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := open(t, resolver.DirectoryConfig{Path: dir}).Accounts(); len(got) != 2 {
		t.Errorf("on disk: got %q", got)
	}
}

func TestDirectoryTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, resolver.DirectoryConfig{Path: t.TempDir(), TTL: time.Minute})
		save(t, d, account(1), "1")
		time.Sleep(time.Minute - time.Second)
		if _, err := d.Fetch(t.Context(), account(1)); err != nil {
			t.Errorf("within its time: %v", err)
		}
		time.Sleep(time.Second)
		if _, err := d.Fetch(t.Context(), account(1)); !errors.Is(err, resolver.ErrNotFound) {
			t.Errorf("after its time: got %v", err)
		}
	})
}

// fetcher is a resolver that is a function.
type fetcher func(ctx context.Context, account string) (string, error)

func (f fetcher) Fetch(ctx context.Context, account string) (string, error) { return f(ctx, account) }

func TestCache(t *testing.T) {
	asked := 0
	c := &resolver.Cache{
		Directory: open(t, resolver.DirectoryConfig{Path: t.TempDir()}),
		Remote: fetcher(func(_ context.Context, account string) (string, error) {
			asked++
			if account == accountMissing {
				return "", resolver.ErrNotFound
			}
			return "token", nil
		}),
		Check: func(name, _ string) error {
			if name == account(2) {
				return errors.New("forged")
			}
			return nil
		},
	}
	for range 2 {
		if got, err := c.Fetch(t.Context(), account(1)); got != "token" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	if _, err := c.Fetch(t.Context(), accountMissing); !errors.Is(err, resolver.ErrNotFound) {
		t.Errorf("missing: got %v", err)
	}
	if _, err := c.Fetch(t.Context(), account(2)); err == nil || c.Directory.Has(account(2)) {
		t.Errorf("forged: got %v, kept: %v", err, c.Directory.Has(account(2)))
	}
}

var accountMissing = account(99)

// TestLookupOnce: whoever asks for an account while it is looked for waits for that.
func TestLookupOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		l := resolver.NewLookup(fetcher(func(context.Context, string) (string, error) {
			asked.Add(1)
			time.Sleep(time.Second)
			return "token", nil
		}), time.Minute)
		defer l.Close()
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if got, err := l.Fetch(t.Context(), account(1)); got != "token" || err != nil {
					t.Errorf("got %q, %v", got, err)
				}
			})
		}
		all.Wait()
		if n := asked.Load(); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
}

// TestLookupAbsent: an account that is not there is not looked for again at once, unless somebody says that it came.
func TestLookupAbsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, there := 0, false
		l := resolver.NewLookup(fetcher(func(context.Context, string) (string, error) {
			asked++
			if there {
				return "token", nil
			}
			return "", resolver.ErrNotFound
		}), time.Minute)
		defer l.Close()
		for range 5 {
			if _, err := l.Fetch(t.Context(), account(1)); !errors.Is(err, resolver.ErrNotFound) {
				t.Fatalf("got %v", err)
			}
		}
		if asked != 1 {
			t.Errorf("asked %d times", asked)
		}
		time.Sleep(time.Second)
		if _, err := l.Fetch(t.Context(), account(1)); !errors.Is(err, resolver.ErrNotFound) || asked != 2 {
			t.Errorf("a second later: got %v, asked %d times", err, asked)
		}
		there = true
		l.Forget(account(1))
		if got, err := l.Fetch(t.Context(), account(1)); got != "token" || err != nil {
			t.Errorf("after Forget: got %q, %v", got, err)
		}
		if _, err := l.Fetch(t.Context(), "made up"); !errors.Is(err, resolver.ErrName) || asked != 3 {
			t.Errorf("no name: got %v, asked %d times", err, asked)
		}
	})
}

// TestLookupBounds: a resolver that hangs holds nobody up for longer than the timeout, and few fetches go at a time.
func TestLookupBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		l := resolver.NewLookup(fetcher(func(ctx context.Context, _ string) (string, error) {
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer now.Add(-1)
			<-ctx.Done()
			return "", ctx.Err()
		}), 2*time.Second)
		defer l.Close()
		begin := time.Now()
		var all sync.WaitGroup
		for n := range 200 {
			all.Go(func() {
				if _, err := l.Fetch(t.Context(), account(n)); err == nil {
					t.Error("got no error")
				}
			})
		}
		all.Wait()
		if took := time.Since(begin); took != 2*time.Second {
			t.Errorf("took %v", took)
		}
		if n := most.Load(); n > 32 {
			t.Errorf("%d fetches at a time", n)
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, errors.New("gone away"))
		defer cancel()
		if _, err := l.Fetch(ctx, account(300)); err == nil || !strings.Contains(err.Error(), "gone away") {
			t.Errorf("who gives up: got %v", err)
		}
	})
}

func TestLookupClose(t *testing.T) {
	l := resolver.NewLookup(fetcher(func(ctx context.Context, _ string) (string, error) {
		<-ctx.Done()
		return "", fmt.Errorf("ended: %w", ctx.Err())
	}), time.Hour)
	waits := make(chan error, 1)
	go func() {
		_, err := l.Fetch(context.Background(), account(1))
		waits <- err
	}()
	l.Close()
	if err := <-waits; err == nil {
		t.Error("a fetch under way: got no error")
	}
	if _, err := l.Fetch(t.Context(), account(2)); !errors.Is(err, resolver.ErrClosed) {
		t.Errorf("after Close: got %v", err)
	}
}
