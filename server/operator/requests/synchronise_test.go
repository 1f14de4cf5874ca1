package requests_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"runnel/server/operator/requests"
	"runnel/server/operator/resolver"
)

// TestSynchronise: a server takes over what another has and it has not, or has from an earlier time, and nothing else.
func TestSynchronise(t *testing.T) {
	start(t, resolver.KindFull, func(t *testing.T, b *bus, w *world, key nkeys.KeyPair) {
		stranger, err := nkeys.CreateOperator()
		if err != nil {
			t.Fatal(err)
		}
		kp, err := nkeys.CreateAccount()
		if err != nil {
			t.Fatal(err)
		}
		changed, err := kp.PublicKey()
		if err != nil {
			t.Fatal(err)
		}
		encode := func(name string) string {
			claims := jwt.NewAccountClaims(changed)
			claims.Name = name
			token, err := claims.Encode(key)
			if err != nil {
				t.Fatal(err)
			}
			return token
		}
		older := encode("older")
		<-time.After(time.Minute)
		newer := encode("newer")
		only, token := newAccount(t, key)
		forged, byStranger := newAccount(t, stranger)
		if _, err := w.source.Save(changed, older); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex // guards what follows
		answers := []string{changed + "|" + newer, only + "|" + token, forged + "|" + byStranger, "nonsense", ""}
		asked := 0
		b.Subscribe("$SYS.REQ.CLAIMS.PACK", func(_, reply string, sum []byte) {
			if want := w.source.Directory().Sum(); string(sum) != string(want[:]) {
				t.Errorf("the sum that is shown is %x, want %x", sum, want)
			}
			mu.Lock()
			defer mu.Unlock()
			asked++
			for _, a := range answers {
				b.Publish(reply, "", []byte(a))
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		s := requests.New(b, w, slog.New(slog.DiscardHandler))
		running.Go(func() { s.Synchronise(ctx, func() time.Duration { return requests.DefaultInterval }) })
		<-time.After(2 * requests.DefaultInterval)
		synctest.Wait()
		for account, want := range map[string]string{changed: newer, only: token, forged: ""} {
			if got, _ := w.source.Directory().Fetch(t.Context(), account); got != want {
				t.Errorf("%s: got %.40q, want %.40q", account, got, want)
			}
		}
		if len(w.pushed) != 2 {
			t.Errorf("put into force: %q, want two accounts", w.pushed)
		}
		mu.Lock()
		answers = []string{changed + "|" + older}
		mu.Unlock()
		<-time.After(3 * requests.DefaultInterval)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if got, _ := w.source.Directory().Fetch(t.Context(), changed); got != newer || asked < 3 {
			t.Errorf("after an older JWT of another server: got %.40q; asked %d times", got, asked)
		}
		cancel()
		running.Wait()
	})
}

// TestSynchroniseNothing: who has not all accounts asks nobody.
func TestSynchroniseNothing(t *testing.T) {
	start(t, resolver.KindCache, func(t *testing.T, b *bus, w *world, _ nkeys.KeyPair) {
		b.Subscribe("$SYS.REQ.CLAIMS.PACK", func(string, string, []byte) { t.Error("it asks others for all accounts") })
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		requests.New(b, w, slog.New(slog.DiscardHandler)).Synchronise(ctx, func() time.Duration { return time.Minute })
	})
}
