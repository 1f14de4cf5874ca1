package requests_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"runnel/server/operator"
	"runnel/server/operator/requests"
	"runnel/server/operator/resolver"
)

// bus is a system account in which nothing but the test publishes.
type bus struct {
	mu       sync.Mutex // guards what follows
	handlers map[string]func(subject, reply string, payload []byte)
	sent     []string // payloads
}

func newBus() *bus {
	return &bus{handlers: make(map[string]func(subject, reply string, payload []byte))}
}

func (b *bus) Publish(subject, reply string, payload []byte) int {
	b.mu.Lock()
	b.sent = append(b.sent, string(payload))
	h := b.handlers[subject]
	b.mu.Unlock()
	if h == nil {
		return 0
	}
	h(subject, reply, payload)
	return 1
}

func (b *bus) Subscribe(pattern string, handler func(subject, reply string, payload []byte)) (cancel func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.handlers[pattern] = handler
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.handlers, pattern)
	}
}

func (b *bus) Enclose(data, failure any) []byte {
	text, err := json.Marshal(map[string]any{"data": data, "error": failure})
	if err != nil {
		return []byte(err.Error())
	}
	return text
}

// ask has a request on the subject of a pattern answered, and returns the answers.
func (b *bus) ask(t *testing.T, pattern, subject, payload string) []string {
	t.Helper()
	b.mu.Lock()
	b.sent = nil
	h := b.handlers[pattern]
	b.mu.Unlock()
	if h == nil {
		t.Fatalf("nobody subscribes to %s", pattern)
	}
	h(subject, "reply", []byte(payload))
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sent
}

// world is a server whose accounts are in a directory.
type world struct {
	trust   *operator.Trust
	source  *resolver.Source
	pushed  []string
	removed []string
	fails   error
}

func (w *world) Trust() *operator.Trust   { return w.trust }
func (w *world) System() string           { return "the system account" }
func (w *world) Source() *resolver.Source { return w.source }

func (w *world) Push(claims *operator.Account) (bool, error) {
	w.pushed = append(w.pushed, claims.Name())
	if w.fails != nil {
		return false, w.fails
	}
	return w.source.Save(claims.Name(), claims.Token())
}

func (w *world) Remove(names []string) error {
	w.removed = append(w.removed, names...)
	return w.fails
}

// newAccount makes the JWT of an account.
func newAccount(t *testing.T, by nkeys.KeyPair) (name, token string) {
	t.Helper()
	kp, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	if name, err = kp.PublicKey(); err != nil {
		t.Fatal(err)
	}
	if token, err = jwt.NewAccountClaims(name).Encode(by); err != nil {
		t.Fatal(err)
	}
	return name, token
}

// start begins to serve requests in a bubble of its own time.
func start(t *testing.T, kind resolver.Kind, test func(t *testing.T, b *bus, w *world, key nkeys.KeyPair)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		key, err := nkeys.CreateOperator()
		if err != nil {
			t.Fatal(err)
		}
		public, err := key.PublicKey()
		if err != nil {
			t.Fatal(err)
		}
		w := &world{}
		if w.trust, err = operator.NewTrust(nil, []string{public}, "2.15.2", time.Now()); err != nil {
			t.Fatal(err)
		}
		w.source, err = resolver.Open(t.Context(), resolver.Config{
			Kind: kind, Directory: resolver.DirectoryConfig{Path: t.TempDir(), AllowDelete: true},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer w.source.Close()
		b := newBus()
		s := requests.New(b, w, slog.New(slog.DiscardHandler))
		s.Subscribe()
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { s.Run(ctx) })
		test(t, b, w, key)
		cancel()
		running.Wait()
	})
}

func one(t *testing.T, answers []string, parts ...string) {
	t.Helper()
	if len(answers) != 1 {
		t.Fatalf("got answers %q", answers)
	}
	for _, p := range parts {
		if !strings.Contains(answers[0], p) {
			t.Errorf("got %.300q, want %q in it", answers[0], p)
		}
	}
}

func TestUpdate(t *testing.T) {
	start(t, resolver.KindFull, func(t *testing.T, b *bus, w *world, key nkeys.KeyPair) {
		name, token := newAccount(t, key)
		stranger, err := nkeys.CreateOperator()
		if err != nil {
			t.Fatal(err)
		}
		other, forged := newAccount(t, stranger)
		const all, each = "$SYS.REQ.CLAIMS.UPDATE", "$SYS.REQ.ACCOUNT.*.CLAIMS.UPDATE"
		one(t, b.ask(t, all, all, token+"\n"), `"code":200`, `"account":"`+name, "jwt updated")
		one(t, b.ask(t, each, "$SYS.REQ.ACCOUNT."+name+".CLAIMS.UPDATE", token), `"code":200`)
		one(t, b.ask(t, "$SYS.ACCOUNT.*.CLAIMS.UPDATE", "$SYS.ACCOUNT."+name+".CLAIMS.UPDATE", token), `"code":200`)
		if len(w.pushed) != 3 {
			t.Errorf("pushed %q", w.pushed)
		}
		one(t, b.ask(t, each, "$SYS.REQ.ACCOUNT."+other+".CLAIMS.UPDATE", token), `"code":500`, `"account":"`+other, "another subject")
		one(t, b.ask(t, all, all, forged), `"code":500`, `"account":"`+other, "not trusted")
		one(t, b.ask(t, all, all, "garbage"), `"code":500`, `"account":"n/a"`, "malformed")
		if got := b.ask(t, all, all, strings.Repeat("x", operator.MaxAccountBytes+1)); len(got) != 0 {
			t.Errorf("what is too large is answered: %.100q", got)
		}
		w.fails = errors.New("disk full")
		one(t, b.ask(t, all, all, token), `"code":500`, `"account":"`+name, "disk full")
		if len(w.pushed) != 4 {
			t.Errorf("pushed %q", w.pushed)
		}
	})
}

func TestLists(t *testing.T) {
	start(t, resolver.KindFull, func(t *testing.T, b *bus, w *world, key nkeys.KeyPair) {
		const list, pack = "$SYS.REQ.CLAIMS.LIST", "$SYS.REQ.CLAIMS.PACK"
		one(t, b.ask(t, list, list, ""), `"data":[]`)
		name, token := newAccount(t, key)
		if _, err := w.source.Save(name, token); err != nil {
			t.Fatal(err)
		}
		one(t, b.ask(t, list, list, ""), `"data":["`+name+`"]`)
		if got := b.ask(t, pack, pack, ""); len(got) != 2 || got[0] != name+"|"+token || got[1] != "" {
			t.Errorf("pack: got %q", got)
		}
		sum := w.source.Directory().Sum()
		for _, shown := range []string{string(sum[:]), hex.EncodeToString(sum[:])} {
			if got := b.ask(t, pack, pack, shown); len(got) != 1 || got[0] != "" {
				t.Errorf("pack for who has the same: got %q", got)
			}
		}
		const lookup = "$SYS.REQ.ACCOUNT.*.CLAIMS.LOOKUP"
		one(t, b.ask(t, lookup, "$SYS.REQ.ACCOUNT."+name+".CLAIMS.LOOKUP", ""), token)
		other, _ := newAccount(t, key)
		if got := b.ask(t, lookup, "$SYS.REQ.ACCOUNT."+other+".CLAIMS.LOOKUP", ""); len(got) != 1 || got[0] != "" {
			t.Errorf("lookup of an unknown account: got %q", got)
		}
	})
}

func TestDelete(t *testing.T) {
	start(t, resolver.KindFull, func(t *testing.T, b *bus, w *world, key nkeys.KeyPair) {
		const subject = "$SYS.REQ.CLAIMS.DELETE"
		name, _ := newAccount(t, key)
		request := func(by nkeys.KeyPair) string {
			public, err := by.PublicKey()
			if err != nil {
				t.Fatal(err)
			}
			c := jwt.NewGenericClaims(public)
			c.Data["accounts"] = []string{name}
			token, err := c.Encode(by)
			if err != nil {
				t.Fatal(err)
			}
			return token
		}
		one(t, b.ask(t, subject, subject, request(key)), `"code":200`, "deleted 1 accounts")
		stranger, err := nkeys.CreateOperator()
		if err != nil {
			t.Fatal(err)
		}
		one(t, b.ask(t, subject, subject, request(stranger)), `"code":500`, "not trusted")
		if len(w.removed) != 1 || w.removed[0] != name {
			t.Errorf("removed %q", w.removed)
		}
		w.fails = resolver.ErrNoDeletes
		one(t, b.ask(t, subject, subject, request(key)), `"code":500`, "not allowed")
	})
}

// TestSubjects: only what the source can answer is subscribed to, and that changes with it.
func TestSubjects(t *testing.T) {
	counts := map[resolver.Kind]int{resolver.KindMemory: 2, resolver.KindCache: 5, resolver.KindFull: 7}
	for kind, want := range counts {
		start(t, kind, func(t *testing.T, b *bus, _ *world, _ nkeys.KeyPair) {
			if len(b.handlers) != want {
				t.Errorf("%s: %d subscriptions, want %d", kind, len(b.handlers), want)
			}
		})
	}
}

func TestRemote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		r := requests.Remote{Bus: b}
		if _, err := r.Fetch(t.Context(), "A"); !errors.Is(err, requests.ErrNobody) {
			t.Errorf("nobody there: got %v", err)
		}
		answer := "token"
		b.Subscribe("$SYS.REQ.ACCOUNT.A.CLAIMS.LOOKUP", func(_, reply string, _ []byte) {
			switch answer {
			case "none":
			case "":
				b.Publish(reply, "", nil)
			case "of another":
				b.Publish(reply, "", nil)
				b.Publish(reply, "", []byte(answer))
			default:
				b.Publish(reply, "", []byte(answer))
				b.Publish(reply, "", []byte("late"))
			}
		})
		if got, err := r.Fetch(t.Context(), "A"); got != "token" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		answer = "of another"
		if got, err := r.Fetch(t.Context(), "A"); got != answer || err != nil {
			t.Errorf("one server does not know the account, another does: got %q, %v", got, err)
		}
		answer = ""
		if _, err := r.Fetch(t.Context(), "A"); !errors.Is(err, resolver.ErrNotFound) {
			t.Errorf("an empty answer: got %v", err)
		}
		answer = "none"
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.Fetch(ctx, "A"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("no answer: got %v", err)
		}
		if len(b.handlers) != 1 {
			t.Errorf("%d subscriptions are left", len(b.handlers))
		}
	})
}
