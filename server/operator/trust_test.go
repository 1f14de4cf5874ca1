package operator_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"runnel/server/operator"
)

func TestNewTrust(t *testing.T) {
	w := newWorld(t)
	other := newKey(t, nkeys.CreateOperator)
	valid := w.operatorToken(t, nil)
	parts := strings.Split(valid, ".")
	stranger := jwt.NewOperatorClaims(w.operator.public)
	for _, tt := range []struct {
		name         string
		tokens, keys []string
		want         error // nil: any for bad, or none for good
		good         bool
	}{
		{name: "one operator", tokens: []string{valid}, good: true},
		{name: "keys", keys: []string{w.operator.public, other.public}, good: true},
		{name: "two operators", tokens: []string{valid, other.sign(t, jwt.NewOperatorClaims(other.public))}, good: true},
		{name: "nothing"},
		{name: "both", tokens: []string{valid}, keys: []string{other.public}},
		{name: "no operator key", keys: []string{w.account.public}},
		{name: "garbage", tokens: []string{"a.b.c"}, want: operator.ErrMalformed},
		{name: "empty", tokens: []string{""}, want: operator.ErrMalformed},
		{name: "large", tokens: []string{strings.Repeat("a", operator.MaxUserBytes+1)}, want: operator.ErrTooLarge},
		{name: "broken signature", tokens: []string{parts[0] + "." + parts[1] + "." + strings.Repeat("A", len(parts[2]))}, want: operator.ErrMalformed},
		{name: "an account's token", tokens: []string{w.accountToken(t, w.operator, nil)}, want: operator.ErrMalformed},
		{name: "signed by another", tokens: []string{other.sign(t, stranger)}, want: operator.ErrUntrusted},
		{name: "expired", tokens: []string{w.operatorToken(t, func(c *jwt.OperatorClaims) { c.Expires = w.now.Unix() - 1 })}, want: operator.ErrExpired},
		{name: "future", tokens: []string{w.operatorToken(t, func(c *jwt.OperatorClaims) { c.NotBefore = w.now.Unix() + 100 })}, want: operator.ErrNotYetValid},
		{name: "same version", tokens: []string{w.operatorToken(t, func(c *jwt.OperatorClaims) { c.AssertServerVersion = "2.15.2" })}, good: true},
		{name: "newer patch", tokens: []string{w.operatorToken(t, func(c *jwt.OperatorClaims) { c.AssertServerVersion = "2.15.3" })}, want: operator.ErrServerVersion},
		{name: "older minor, newer patch", tokens: []string{w.operatorToken(t, func(c *jwt.OperatorClaims) { c.AssertServerVersion = "2.14.9" })}, good: true},
		{
			name: "two system accounts",
			tokens: []string{
				w.operatorToken(t, func(c *jwt.OperatorClaims) { c.SystemAccount = w.account.public }),
				other.sign(t, func() jwt.Claims {
					c := jwt.NewOperatorClaims(other.public)
					c.SystemAccount = newKey(t, nkeys.CreateAccount).public
					return c
				}()),
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			trust, err := operator.NewTrust(tt.tokens, tt.keys, "2.15.2", w.now)
			if (err == nil) != tt.good || tt.want != nil && !errors.Is(err, tt.want) {
				t.Fatalf("got error %v, want %v (good: %v)", err, tt.want, tt.good)
			}
			if err != nil && len(tt.tokens) > 0 && len(tt.tokens[0]) > 20 && strings.Contains(err.Error(), tt.tokens[0]) {
				t.Errorf("the error has the token: %v", err)
			}
			if (trust != nil) != tt.good {
				t.Errorf("got trust %v", trust)
			}
		})
	}
}

func TestTrustShows(t *testing.T) {
	w := newWorld(t)
	token := w.operatorToken(t, func(c *jwt.OperatorClaims) {
		c.SystemAccount = w.account.public
		c.AccountServerURL = "https://accounts.example/jwt/v1/"
	})
	trust, err := operator.NewTrust([]string{token}, nil, "2.15.2", w.now)
	if err != nil {
		t.Fatal(err)
	}
	if got := trust.System(); got != w.account.public {
		t.Errorf("system account: got %q", got)
	}
	if got, want := trust.AccountServer(), "https://accounts.example/jwt/v1/accounts/"; got != want {
		t.Errorf("account server: got %q, want %q", got, want)
	}
	if got := trust.Tokens(); !slices.Equal(got, []string{token}) {
		t.Errorf("tokens: got %q", got)
	}
	if got := trust.Claims(); len(got) != 1 || got[0].Subject != w.operator.public {
		t.Errorf("claims: got %v", got)
	}
	none, err := operator.NewTrust(nil, []string{w.operator.public}, "2.15.2", w.now)
	if err != nil {
		t.Fatal(err)
	}
	if none.System() != "" || none.AccountServer() != "" || none.Tokens() != nil || none.Claims() != nil {
		t.Errorf("keys alone: got %q %q %q %v", none.System(), none.AccountServer(), none.Tokens(), none.Claims())
	}
}

func TestReadAccount(t *testing.T) {
	w := newWorld(t)
	signing, other := newKey(t, nkeys.CreateOperator), newKey(t, nkeys.CreateOperator)
	plain := w.trusting(t, func(c *jwt.OperatorClaims) { c.SigningKeys.Add(signing.public) })
	strict := w.trusting(t, func(c *jwt.OperatorClaims) {
		c.SigningKeys.Add(signing.public)
		c.StrictSigningKeyUsage = true
	})
	short := w.trusting(t, func(c *jwt.OperatorClaims) { c.Expires = w.now.Unix() + 60 })
	keys, err := operator.NewTrust(nil, []string{other.public}, "2.15.2", w.now)
	if err != nil {
		t.Fatal(err)
	}
	exports := func(c *jwt.AccountClaims) {
		c.Exports.Add(&jwt.Export{Subject: "a..b", Type: jwt.Stream})
	}
	later := w.now.Add(time.Hour)
	for _, tt := range []struct {
		name  string
		trust *operator.Trust
		token string
		about string
		now   time.Time
		want  error
	}{
		{"by the operator", plain, w.accountToken(t, w.operator, nil), w.account.public, w.now, nil},
		{"by a signing key", plain, w.accountToken(t, signing, nil), w.account.public, w.now, nil},
		{"whoever it is", plain, w.accountToken(t, signing, nil), "", w.now, nil},
		{"by a trusted key", keys, w.accountToken(t, other, nil), w.account.public, w.now, nil},
		{"by a stranger", plain, w.accountToken(t, other, nil), w.account.public, w.now, operator.ErrUntrusted},
		{"by itself", plain, w.accountToken(t, w.account, nil), w.account.public, w.now, operator.ErrUntrusted},
		{"strict: by the operator", strict, w.accountToken(t, w.operator, nil), w.account.public, w.now, operator.ErrUntrusted},
		{"strict: by a signing key", strict, w.accountToken(t, signing, nil), w.account.public, w.now, nil},
		{"about another", plain, w.accountToken(t, signing, nil), newKey(t, nkeys.CreateAccount).public, w.now, operator.ErrWrongSubject},
		{"after the operator's end", short, w.accountToken(t, w.operator, nil), w.account.public, later, operator.ErrExpired},
		{"senseless", plain, w.accountToken(t, signing, exports), w.account.public, w.now, operator.ErrClaims},
		{"a user's", plain, w.account.sign(t, jwt.NewUserClaims(w.user.public)), w.account.public, w.now, operator.ErrMalformed},
		{"huge", plain, strings.Repeat("x", operator.MaxAccountBytes+1), w.account.public, w.now, operator.ErrTooLarge},
		{"garbage", plain, "e30.e30.e30", w.account.public, w.now, operator.ErrMalformed},
		{"empty", plain, "", w.account.public, w.now, operator.ErrMalformed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, err := tt.trust.ReadAccount(tt.token, tt.about, tt.now)
			if !errors.Is(err, tt.want) {
				t.Fatalf("got error %v, want %v", err, tt.want)
			}
			if err == nil && (a.Name() != w.account.public || a.Token() != tt.token) {
				t.Errorf("got account %s", a.Name())
			}
		})
	}
}

func TestAccountTimes(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct {
		name          string
		before, until int64
		want          error
	}{
		{"always", 0, 0, nil},
		{"expires now", 0, w.now.Unix(), operator.ErrExpired},
		{"expires in a second", 0, w.now.Unix() + 1, nil},
		{"begins now", w.now.Unix(), 0, nil},
		{"begins in a second", w.now.Unix() + 1, 0, operator.ErrNotYetValid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := w.read(t, func(c *jwt.AccountClaims) { c.NotBefore, c.Expires = tt.before, tt.until })
			if err := a.Check(w.now); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if got := a.Expires(); got.IsZero() != (tt.until == 0) || !got.IsZero() && got.Unix() != tt.until {
				t.Errorf("expires %v", got)
			}
		})
	}
}

func TestAccountShows(t *testing.T) {
	w := newWorld(t)
	a := w.read(t, func(c *jwt.AccountClaims) {
		c.Name = "orders"
		c.Tags.Add("team:x")
	})
	if a.Label() != "orders" || a.Issuer() != w.operator.public || !slices.Equal(a.Tags(), []string{"team:x"}) || a.Callout() != nil {
		t.Errorf("got %q %q %q %v", a.Label(), a.Issuer(), a.Tags(), a.Callout())
	}
	if a.Claims().Name != "orders" {
		t.Errorf("claims: got %v", a.Claims())
	}
	asks := w.read(t, func(c *jwt.AccountClaims) { c.EnableExternalAuthorization(w.user.public) })
	if c := asks.Callout(); c == nil || !slices.Equal(c.AuthUsers, []string{w.user.public}) {
		t.Errorf("callout: got %v", c)
	}
	if got := operator.Subject(a.Token()); got != w.account.public {
		t.Errorf("subject: got %q", got)
	}
	if got := operator.Subject("garbage"); got != "" {
		t.Errorf("subject of garbage: got %q", got)
	}
}

func TestBootstrap(t *testing.T) {
	w := newWorld(t)
	a, err := operator.Bootstrap(w.account.public)
	if err != nil {
		t.Fatal(err)
	}
	if a.Name() != w.account.public || a.Token() != "" {
		t.Errorf("got %q %q", a.Name(), a.Token())
	}
	if _, err := a.Review(w.userBy(t, w.account, nil), &operator.Client{}, w.now); err != nil {
		t.Errorf("a user of it: %v", err)
	}
	if _, err := operator.Bootstrap(w.user.public); !errors.Is(err, operator.ErrClaims) {
		t.Errorf("a user's key: got %v", err)
	}
}

func TestDeletion(t *testing.T) {
	w := newWorld(t)
	request := func(by key, data map[string]any, change func(*jwt.GenericClaims)) string {
		c := jwt.NewGenericClaims(by.public)
		c.Data = data
		if change != nil {
			change(c)
		}
		return by.sign(t, c)
	}
	list := map[string]any{"accounts": []string{w.account.public}}
	for _, tt := range []struct {
		name, token string
		want        error
	}{
		{"good", request(w.operator, list, nil), nil},
		{"stranger", request(newKey(t, nkeys.CreateOperator), list, nil), operator.ErrUntrusted},
		{"nothing", request(w.operator, nil, nil), operator.ErrClaims},
		{"no list", request(w.operator, map[string]any{"accounts": w.account.public}, nil), operator.ErrClaims},
		{"no keys", request(w.operator, map[string]any{"accounts": []any{1}}, nil), operator.ErrClaims},
		{"no account", request(w.operator, map[string]any{"accounts": []string{"../x"}}, nil), operator.ErrClaims},
		{"expired", request(w.operator, list, func(c *jwt.GenericClaims) { c.Expires = w.now.Unix() - 1 }), operator.ErrExpired},
		{"garbage", "x", operator.ErrMalformed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			issuer, accounts, err := w.trust.Deletion(tt.token, w.now)
			if !errors.Is(err, tt.want) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			if err == nil && (issuer != w.operator.public || !slices.Equal(accounts, []string{w.account.public})) {
				t.Errorf("got %q %q", issuer, accounts)
			}
		})
	}
}
