package operator_test

import (
	"encoding/base64"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"runnel/server/accounts"
	"runnel/server/operator"
)

const nonce = "PXoWU7zWAMt75FY"

func (k key) signature(t testing.TB, text string) string {
	t.Helper()
	b, err := k.Sign([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

func TestReadUser(t *testing.T) {
	w := newWorld(t)
	valid := w.account.sign(t, jwt.NewUserClaims(w.user.public))
	senseless := jwt.NewUserClaims(w.user.public)
	senseless.Src.Add("everywhere")
	for _, tt := range []struct {
		name, token string
		want        error
	}{
		{"good", valid, nil},
		{"none", "", operator.ErrNoToken},
		{"huge", strings.Repeat("x", operator.MaxUserBytes+1), operator.ErrTooLarge},
		{"cut", valid[:len(valid)-9], operator.ErrMalformed},
		{"an account's", w.accountToken(t, w.operator, nil), operator.ErrMalformed},
		{"senseless", w.account.sign(t, senseless), operator.ErrClaims},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u, err := operator.ReadUser(tt.token)
			if !errors.Is(err, tt.want) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			if err == nil && (u.NKey() != w.user.public || u.Account() != w.account.public || u.Token() != tt.token) {
				t.Errorf("got %q of %q", u.NKey(), u.Account())
			}
		})
	}
}

func TestAdmit(t *testing.T) {
	w := newWorld(t)
	signing, stranger := newKey(t, nkeys.CreateAccount), newKey(t, nkeys.CreateAccount)
	good := operator.Client{Nonce: nonce, Signature: w.user.signature(t, nonce), Address: netip.MustParseAddr("10.1.2.3")}
	with := func(change func(*operator.Client)) operator.Client {
		c := good
		change(&c)
		return c
	}
	bearer := func(c *jwt.UserClaims) { c.BearerToken = true }
	sign := func(c *jwt.AccountClaims) { c.SigningKeys.Add(signing.public) }
	standard, _ := base64.RawURLEncoding.DecodeString(good.Signature)
	for _, tt := range []struct {
		name    string
		account func(*jwt.AccountClaims)
		by      key
		user    func(*jwt.UserClaims)
		client  operator.Client
		want    error
	}{
		{name: "good", client: good},
		{name: "standard base64", client: with(func(c *operator.Client) { c.Signature = base64.StdEncoding.EncodeToString(standard) })},
		{name: "no signature", client: with(func(c *operator.Client) { c.Signature = "" }), want: operator.ErrSignature},
		{name: "no nonce", client: with(func(c *operator.Client) { c.Nonce = "" }), want: operator.ErrSignature},
		{name: "another nonce", client: with(func(c *operator.Client) { c.Nonce = "x" }), want: operator.ErrSignature},
		{name: "no base64", client: with(func(c *operator.Client) { c.Signature = "???" }), want: operator.ErrSignature},
		{name: "signed by another", client: with(func(c *operator.Client) { c.Signature = stranger.signature(t, nonce) }), want: operator.ErrSignature},
		{name: "bearer", user: bearer},
		{name: "bearer disallowed", account: func(c *jwt.AccountClaims) { c.Limits.DisallowBearer = true }, user: bearer, client: good, want: operator.ErrBearer},
		{name: "signing key", account: sign, by: signing, client: good},
		{name: "unknown signing key", by: signing, client: good, want: operator.ErrUntrusted},
		{
			name: "signing key that names no account", account: sign, by: signing, client: good,
			user: func(c *jwt.UserClaims) { c.IssuerAccount = "" }, want: operator.ErrWrongSubject,
		},
		{
			name: "another account's user", by: stranger, client: good,
			user: func(c *jwt.UserClaims) { c.IssuerAccount = "" }, want: operator.ErrWrongSubject,
		},
		{name: "expired", user: func(c *jwt.UserClaims) { c.Expires = w.now.Unix() }, client: good, want: operator.ErrExpired},
		{name: "future", user: func(c *jwt.UserClaims) { c.NotBefore = w.now.Unix() + 1 }, client: good, want: operator.ErrNotYetValid},
		{name: "revoked", account: func(c *jwt.AccountClaims) { c.RevokeAt(w.user.public, w.now.Add(time.Hour)) }, client: good, want: operator.ErrRevoked},
		{name: "all revoked", account: func(c *jwt.AccountClaims) { c.RevokeAt("*", w.now.Add(time.Hour)) }, client: good, want: operator.ErrRevoked},
		{name: "revoked before it was issued", account: func(c *jwt.AccountClaims) { c.RevokeAt("*", w.now.Add(-time.Hour)) }, client: good},
		{name: "another revoked", account: func(c *jwt.AccountClaims) { c.Revoke(newKey(t, nkeys.CreateUser).public) }, client: good},
		{name: "other type", user: func(c *jwt.UserClaims) { c.AllowedConnectionTypes.Add("WEBSOCKET") }, client: good, want: operator.ErrConnectionType},
		{name: "unknown type", user: func(c *jwt.UserClaims) { c.AllowedConnectionTypes.Add("TELEGRAPH") }, client: good, want: operator.ErrConnectionType},
		{name: "unknown type and this", user: func(c *jwt.UserClaims) { c.AllowedConnectionTypes.Add("TELEGRAPH", "STANDARD") }, client: good},
		{
			name: "websocket", user: func(c *jwt.UserClaims) { c.AllowedConnectionTypes.Add("WEBSOCKET") },
			client: with(func(c *operator.Client) { c.Type = accounts.WebSocket }),
		},
		{name: "network", user: func(c *jwt.UserClaims) { c.Src.Add("192.168.0.0/16", "10.0.0.0/8") }, client: good},
		{name: "other network", user: func(c *jwt.UserClaims) { c.Src.Add("192.168.0.0/16") }, client: good, want: operator.ErrAddress},
		{
			name: "mapped address", user: func(c *jwt.UserClaims) { c.Src.Add("10.0.0.0/8") },
			client: with(func(c *operator.Client) { c.Address = netip.MustParseAddr("::ffff:10.1.2.3") }),
		},
		{
			name: "from nowhere", user: func(c *jwt.UserClaims) { c.Src.Add("0.0.0.0/0") },
			client: with(func(c *operator.Client) { c.Address = netip.Addr{} }), want: operator.ErrAddress,
		},
		{name: "proxy", user: func(c *jwt.UserClaims) { c.ProxyRequired = true }, client: good, want: operator.ErrProxy},
		{
			name: "through a proxy", user: func(c *jwt.UserClaims) { c.ProxyRequired = true },
			client: with(func(c *operator.Client) { c.Proxied = true }),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			by := tt.by
			if by.KeyPair == nil {
				by = w.account
			}
			a := w.read(t, tt.account)
			p, err := a.Admit(w.userBy(t, by, tt.user), &tt.client, w.now)
			if !errors.Is(err, tt.want) || (p == nil) != (err != nil) {
				t.Fatalf("got %v, %v, want %v", p, err, tt.want)
			}
		})
	}
}

func TestStrictOperator(t *testing.T) {
	w := newWorld(t)
	operatorSigning, signing := newKey(t, nkeys.CreateOperator), newKey(t, nkeys.CreateAccount)
	trust := w.trusting(t, func(c *jwt.OperatorClaims) {
		c.StrictSigningKeyUsage = true
		c.SigningKeys.Add(operatorSigning.public)
	})
	a, err := trust.ReadAccount(w.accountToken(t, operatorSigning, func(c *jwt.AccountClaims) { c.SigningKeys.Add(signing.public) }), "", w.now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Review(w.userBy(t, w.account, nil), &operator.Client{}, w.now); !errors.Is(err, operator.ErrUntrusted) {
		t.Errorf("by the account's own key: got %v", err)
	}
	if _, err := a.Review(w.userBy(t, signing, nil), &operator.Client{}, w.now); err != nil {
		t.Errorf("by a signing key: %v", err)
	}
}

func TestPermit(t *testing.T) {
	w := newWorld(t)
	a := w.read(t, func(c *jwt.AccountClaims) { c.DefaultPermissions.Pub.Deny.Add("secret.>") })
	expires := w.now.Add(time.Hour).Truncate(time.Second)
	p, err := a.Review(w.userBy(t, w.account, func(c *jwt.UserClaims) {
		c.Pub.Allow.Add("a")
		c.Sub.Allow.Add("b q")
		c.Resp = &jwt.ResponsePermission{MaxMsgs: 3, Expires: time.Second}
		c.NatsLimits = jwt.NatsLimits{Subs: 5, Data: -1, Payload: 0}
		c.Expires = expires.Unix()
		c.Tags.Add("x:1")
		c.Name = "bob"
	}), &operator.Client{}, w.now)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.Permissions.Publish.Allow, []string{"a"}) || !slices.Equal(p.Permissions.Subscribe.Allow, []string{"b q"}) ||
		*p.Permissions.Responses != (accounts.ResponsePermission{Max: 3, Expires: time.Second}) {
		t.Errorf("permissions: got %+v", p.Permissions)
	}
	if p.MaxSubscriptions != 5 || p.MaxPayload != 0 || !p.Expires.Equal(expires) {
		t.Errorf("got %d, %d, %v", p.MaxSubscriptions, p.MaxPayload, p.Expires)
	}
	p, err = a.Review(w.userBy(t, w.account, nil), &operator.Client{}, w.now)
	if err != nil {
		t.Fatal(err)
	}
	if p.Permissions == nil || !slices.Equal(p.Permissions.Publish.Deny, []string{"secret.>"}) {
		t.Errorf("default permissions: got %+v", p.Permissions)
	}
	if p.MaxSubscriptions != -1 || p.MaxPayload != -1 || !p.Expires.IsZero() {
		t.Errorf("without limits: got %d, %d, %v", p.MaxSubscriptions, p.MaxPayload, p.Expires)
	}
	if p, err = w.read(t, nil).Review(w.userBy(t, w.account, nil), &operator.Client{}, w.now); err != nil || p.Permissions != nil {
		t.Errorf("no permissions: got %+v, %v", p, err)
	}
}

func TestWindows(t *testing.T) {
	w := newWorld(t)
	a := w.read(t, nil)
	day := func(clock string) time.Time {
		at, err := time.Parse(time.RFC3339, clock)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for _, tt := range []struct {
		name, zone string
		times      []jwt.TimeRange
		now        time.Time
		want       error
		ends       time.Time
	}{
		{"inside", "UTC", []jwt.TimeRange{{Start: "08:00:00", End: "17:00:00"}}, day("2030-05-01T09:00:00Z"), nil, day("2030-05-01T17:00:00Z")},
		{"at the start", "UTC", []jwt.TimeRange{{Start: "08:00:00", End: "17:00:00"}}, day("2030-05-01T08:00:00Z"), nil, day("2030-05-01T17:00:00Z")},
		{"at the end", "UTC", []jwt.TimeRange{{Start: "08:00:00", End: "17:00:00"}}, day("2030-05-01T17:00:00Z"), operator.ErrTimeOfDay, time.Time{}},
		{"before", "UTC", []jwt.TimeRange{{Start: "08:00:00", End: "17:00:00"}}, day("2030-05-01T07:59:59Z"), operator.ErrTimeOfDay, time.Time{}},
		{"over midnight, evening", "UTC", []jwt.TimeRange{{Start: "22:00:00", End: "06:00:00"}}, day("2030-05-01T23:00:00Z"), nil, day("2030-05-02T06:00:00Z")},
		{"over midnight, morning", "UTC", []jwt.TimeRange{{Start: "22:00:00", End: "06:00:00"}}, day("2030-05-01T03:00:00Z"), nil, day("2030-05-01T06:00:00Z")},
		{"over midnight, noon", "UTC", []jwt.TimeRange{{Start: "22:00:00", End: "06:00:00"}}, day("2030-05-01T12:00:00Z"), operator.ErrTimeOfDay, time.Time{}},
		{
			"the longest of two", "UTC",
			[]jwt.TimeRange{{Start: "08:00:00", End: "10:00:00"}, {Start: "09:00:00", End: "12:00:00"}},
			day("2030-05-01T09:30:00Z"), nil, day("2030-05-01T12:00:00Z"),
		},
		{"elsewhere", "Asia/Tokyo", []jwt.TimeRange{{Start: "08:00:00", End: "17:00:00"}}, day("2030-05-01T00:00:00Z"), nil, day("2030-05-01T08:00:00Z")},
		{"elsewhere outside", "Asia/Tokyo", []jwt.TimeRange{{Start: "08:00:00", End: "17:00:00"}}, day("2030-05-01T09:00:00Z"), operator.ErrTimeOfDay, time.Time{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u := w.userBy(t, w.account, func(c *jwt.UserClaims) {
				c.Times, c.Locale = tt.times, tt.zone
			})
			p, err := a.Review(u, &operator.Client{}, tt.now)
			if !errors.Is(err, tt.want) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			if err == nil && !p.Expires.Equal(tt.ends) {
				t.Errorf("got %v, want %v", p.Expires, tt.ends)
			}
		})
	}
	early := w.userBy(t, w.account, func(c *jwt.UserClaims) {
		c.Times, c.Locale = []jwt.TimeRange{{Start: "08:00:00", End: "17:00:00"}}, "UTC"
		c.Expires = day("2030-05-01T10:00:00Z").Unix()
	})
	if p, err := a.Review(early, &operator.Client{}, day("2030-05-01T09:00:00Z")); err != nil || !p.Expires.Equal(day("2030-05-01T10:00:00Z")) {
		t.Errorf("the token ends before the window: got %+v, %v", p, err)
	}
}
