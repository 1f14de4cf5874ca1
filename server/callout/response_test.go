package callout_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"runnel/server/callout"
)

// TestRead gives an answer each thing that can be wrong with it.
func TestRead(t *testing.T) {
	w := newWorld(t, false, 0)
	_, user := key(t, nkeys.CreateUser)
	_, otherUser := key(t, nkeys.CreateUser)
	_, otherServer := key(t, nkeys.CreateServer)
	stranger, _ := key(t, nkeys.CreateAccount)
	now := time.Now()
	claims := func(change func(*jwt.AuthorizationResponseClaims)) []byte {
		return sign(t, w.claims(user, change), w.issuer)
	}
	seal := func(b []byte, by nkeys.KeyPair, to string) []byte {
		sealed, err := by.Seal(b, to)
		if err != nil {
			t.Fatal(err)
		}
		return sealed
	}
	good := claims(nil)
	otherCurve, _ := key(t, nkeys.CreateCurveKeys)
	userToken := jwt.NewUserClaims(user)
	type C = jwt.AuthorizationResponseClaims
	tests := []struct {
		name    string
		payload []byte
		xkey    string
		want    error
		text    string
	}{
		{"good", good, "", nil, ""},
		{"good until then", claims(func(c *C) { c.Expires = now.Unix() + 1; c.NotBefore = now.Unix() }), "", nil, ""},
		{"good and sealed", seal(good, w.service, w.curve), w.xkey, nil, ""},
		{"in clear though it might be sealed", good, w.xkey, nil, ""},
		{"empty", nil, "", callout.ErrMalformed, ""},
		{"text", []byte("hello"), "", callout.ErrMalformed, ""},
		{"three parts", []byte("a.b.c"), "", callout.ErrMalformed, ""},
		{"cut short", good[:len(good)-10], "", callout.ErrMalformed, ""},
		{"changed", append([]byte("x"), good...), "", callout.ErrMalformed, ""},
		{"of another kind", sign(t, userToken, w.issuer), "", callout.ErrMalformed, ""},
		{"too large", claims(func(c *C) { c.Jwt = strings.Repeat("x", callout.MaxAnswerBytes) }), "", callout.ErrMalformed, "bytes"},
		{"sealed with another key", seal(good, otherCurve, w.curve), w.xkey, callout.ErrMalformed, "xkey"},
		{"sealed without need", seal(good, w.service, w.curve), "", callout.ErrMalformed, "sealed"},
		{"sealed garbage", []byte("xkv1garbage"), w.xkey, callout.ErrMalformed, ""},
		{"another issuer", sign(t, w.claims(user, nil), stranger), "", callout.ErrUntrusted, ""},
		{"a signing key of an account", claims(func(c *C) { c.IssuerAccount = w.account }), "", callout.ErrUntrusted, ""},
		{"another user", claims(func(c *C) { c.Subject = otherUser }), "", callout.ErrMisdirected, "user_nkey"},
		{"another server", claims(func(c *C) { c.Audience = otherServer }), "", callout.ErrMisdirected, "audience"},
		{"no audience", claims(func(c *C) { c.Audience = "" }), "", callout.ErrMisdirected, "audience"},
		{"expired", claims(func(c *C) { c.Expires = now.Unix() }), "", callout.ErrStale, "expired"},
		{"not yet valid", claims(func(c *C) { c.NotBefore = now.Unix() + 1 }), "", callout.ErrStale, "not yet"},
		{"an error", claims(func(c *C) { c.Jwt, c.Error = "", "go away" }), "", callout.ErrRefused, `"go away"`},
		{"a long error", claims(func(c *C) { c.Jwt, c.Error = "", strings.Repeat("no\n", 1000) }), "", callout.ErrRefused, `no\n`},
		{"an error and a user", claims(func(c *C) { c.Error = "go away" }), "", callout.ErrMalformed, "either"},
		{"neither", claims(func(c *C) { c.Jwt = "" }), "", callout.ErrMalformed, "either"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := callout.Expectation{
				User: user, Server: w.id, Curve: w.keys.Curve, XKey: tt.xkey,
				Trusts: func(issuer, account string) bool { return issuer == w.account && account == "" },
			}
			got, err := e.Read(tt.payload, now)
			if !errors.Is(err, tt.want) {
				t.Fatalf("got error %v, want %v", err, tt.want)
			}
			if tt.want == nil {
				if got != "the user" {
					t.Errorf("got %q, want the user", got)
				}
				return
			}
			if got != "" {
				t.Errorf("got %q beside an error", got)
			}
			if text := err.Error(); !strings.Contains(text, tt.text) || len(text) > 1000 || strings.Contains(text, "\n") {
				t.Errorf("got error %.1200q, want one short line with %q in it", text, tt.text)
			}
		})
	}
}

// FuzzRead: whatever is answered, it is refused with one of the errors, or it is what the issuer has signed.
func FuzzRead(f *testing.F) {
	w := newWorld(f, true, 0)
	_, user := key(f, nkeys.CreateUser)
	good := sign(f, w.claims(user, nil), w.issuer)
	sealed, err := w.service.Seal(good, w.curve)
	if err != nil {
		f.Fatal(err)
	}
	refused := sign(f, w.claims(user, func(c *jwt.AuthorizationResponseClaims) { c.Jwt, c.Error = "", "no" }), w.issuer)
	for _, seed := range [][]byte{good, sealed, refused, nil, []byte("a.b.c"), []byte("xkv1"), good[:len(good)/2], sealed[:40]} {
		f.Add(seed)
	}
	known := []error{callout.ErrMalformed, callout.ErrUntrusted, callout.ErrMisdirected, callout.ErrStale, callout.ErrRefused}
	e := callout.Expectation{
		User: user, Server: w.id, Curve: w.keys.Curve, XKey: w.xkey,
		Trusts: func(issuer, _ string) bool { return issuer == w.account },
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		got, err := e.Read(payload, time.Now())
		if err == nil {
			if got != "the user" {
				t.Errorf("got %q from %q", got, payload)
			}
			return
		}
		for _, k := range known {
			if errors.Is(err, k) {
				return
			}
		}
		t.Errorf("got an unnamed error %v", err)
	})
}
