package resolver_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"runnel/server/operator/resolver"
)

func openSource(t *testing.T, cfg resolver.Config) *resolver.Source {
	t.Helper()
	s, err := resolver.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// expect checks what a source has of an account, "" for nothing.
func expect(t *testing.T, s *resolver.Source, account, want string) {
	t.Helper()
	got, err := s.Fetch(t.Context(), account)
	if got != want || (want == "") != errors.Is(err, resolver.ErrNotFound) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestSourceMemory(t *testing.T) {
	s := openSource(t, resolver.Config{Kind: resolver.KindMemory, Preload: map[string]string{account(1): "one"}})
	expect(t, s, account(1), "one")
	expect(t, s, account(2), "")
	if kept, err := s.Save(account(1), "new"); !kept || err != nil {
		t.Errorf("save: got %v, %v", kept, err)
	}
	expect(t, s, account(1), "new")
	if kept, err := s.Save(account(2), "two"); kept || err != nil {
		t.Errorf("save of another: got %v, %v", kept, err)
	}
	if err := s.Delete(account(1)); !errors.Is(err, resolver.ErrNoDeletes) || s.Directory() != nil || s.Complete() {
		t.Errorf("delete: got %v", err)
	}
}

func TestSourceFull(t *testing.T) {
	cfg := resolver.Config{
		Kind: resolver.KindFull, Preload: map[string]string{account(1): "old"},
		Directory: resolver.DirectoryConfig{Path: t.TempDir(), AllowDelete: true},
	}
	s := openSource(t, cfg)
	expect(t, s, account(1), "old")
	expect(t, s, account(2), "") // and it is remembered that it is not there
	for n, token := range map[int]string{1: "new", 2: "two"} {
		if kept, err := s.Save(account(n), token); !kept || err != nil {
			t.Errorf("save: got %v, %v", kept, err)
		}
	}
	expect(t, s, account(2), "two")
	if !s.Complete() || len(s.Directory().Accounts()) != 2 {
		t.Errorf("has %q", s.Directory().Accounts())
	}
	again := openSource(t, cfg)
	expect(t, again, account(1), "new") // not what is preloaded
	if err := again.Delete(account(2)); err != nil {
		t.Error(err)
	}
	expect(t, again, account(2), "")
	cfg.Preload = map[string]string{"../x": "x"}
	if _, err := resolver.Open(t.Context(), cfg); !errors.Is(err, resolver.ErrName) {
		t.Errorf("preload of what is no account: got %v", err)
	}
}

func TestSourceCache(t *testing.T) {
	s := openSource(t, resolver.Config{
		Kind: resolver.KindCache, Directory: resolver.DirectoryConfig{Path: t.TempDir()},
		Remote: fetcher(func(_ context.Context, name string) (string, error) { return "token", nil }),
		Check:  func(string, string) error { return nil },
	})
	if kept, err := s.Save(account(1), "pushed"); kept || err != nil {
		t.Errorf("save before it was asked for: got %v, %v", kept, err)
	}
	expect(t, s, account(1), "token")
	if kept, err := s.Save(account(1), "pushed"); !kept || err != nil {
		t.Errorf("save: got %v, %v", kept, err)
	}
	expect(t, s, account(1), "pushed")
	if s.Complete() {
		t.Error("a cache says that it has all accounts")
	}
}

func TestSourceURL(t *testing.T) {
	site := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(site.Close)
	for _, cfg := range []resolver.Config{
		{Kind: resolver.KindURL, URL: site.URL + "/"}, // nothing there
		{Kind: resolver.KindURL, URL: "accounts"},
		{Kind: resolver.KindFull},
		{Kind: "other"},
	} {
		if s, err := resolver.Open(t.Context(), cfg); err == nil {
			s.Close()
			t.Errorf("%+v: got no error", cfg)
		}
	}
}
