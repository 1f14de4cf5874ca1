package operator_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"runnel/server/operator"
)

// signText encodes claims of which each part may be of any kind.
func (k key) signText(t testing.TB, claims any) string {
	t.Helper()
	text, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"typ":"JWT","alg":"ed25519-nkey"}`)) + "." + encode(text)
	signature, err := k.Sign([]byte(signed))
	if err != nil {
		t.Fatal(err)
	}
	return signed + "." + encode(signature)
}

// oddities take the place of what claims say.
var oddities = [...]any{
	nil,
	[]any{},
	[]any{nil},
	[]any{[]any{nil}},
	[]any{map[string]any{}},
	map[string]any{},
	map[string]any{"": nil},
	map[string]any{"x": []any{nil}},
	"", "x", -1, 0, 1, -1 << 63, 1<<63 - 1, 1e300, true,
}

// eachOddity calls f for each part of v, of the JSON of which it is a part, in turn being each of the oddities.
func eachOddity(v any, put func(any), f func(what string)) {
	for _, odd := range oddities {
		put(odd)
		f(fmt.Sprintf("%.60v is now %v", v, odd))
	}
	put(v)
	switch v := v.(type) {
	case map[string]any:
		for name, part := range v {
			eachOddity(part, func(x any) { v[name] = x }, f)
		}
	case []any:
		for i, part := range v {
			eachOddity(part, func(x any) { v[i] = x }, f)
		}
	}
}

// TestOddClaims: whatever stands in a part of a token that is signed well, nobody stumbles over it.
func TestOddClaims(t *testing.T) {
	w, signer := newWorld(t), newKey(t, nkeys.CreateAccount)
	user := jwt.NewUserClaims(w.user.public)
	user.Name, user.IssuerAccount, user.Tags = "name", w.account.public, jwt.TagList{"a:b"}
	user.Pub.Allow, user.Sub.Deny, user.Resp = jwt.StringList{"a.>"}, jwt.StringList{"b"}, &jwt.ResponsePermission{MaxMsgs: 1}
	user.Src, user.Times, user.Locale = jwt.CIDRList{"0.0.0.0/0"}, []jwt.TimeRange{{Start: "00:00:00", End: "23:59:59"}}, "UTC"
	user.AllowedConnectionTypes = jwt.StringList{"STANDARD"}

	activation := jwt.NewActivationClaims(w.account.public)
	activation.ImportSubject, activation.ImportType = "foo.>", jwt.Stream
	account := jwt.NewAccountClaims(w.account.public)
	account.Exports.Add(
		&jwt.Export{Subject: "foo.>", Type: jwt.Stream, TokenReq: true, Revocations: jwt.RevocationList{w.user.public: 5}},
		&jwt.Export{Subject: "service.*", Type: jwt.Service, AccountTokenPosition: 2, Latency: &jwt.ServiceLatency{Sampling: 10, Results: "l"}})
	account.Imports.Add(&jwt.Import{
		Account: signer.public, Subject: "foo.bar", Type: jwt.Stream, Token: signer.sign(t, activation), LocalSubject: "x.bar",
	})
	account.Mappings = jwt.Mapping{"q.*": {{Subject: "z.$1", Weight: 50, Cluster: "c"}}}
	account.SigningKeys.AddScopedSigner(&jwt.UserScope{Kind: jwt.UserScopeType, Key: signer.public, Role: "r"})
	account.Revocations, account.Tags = jwt.RevocationList{w.user.public: 5}, jwt.TagList{"a:b"}
	account.Trace, account.Authorization.AuthUsers = &jwt.MsgTrace{Destination: "t", Sampling: 5}, jwt.StringList{w.user.public}
	account.Limits.JetStreamTieredLimits = jwt.JetStreamTieredLimits{"R1": {DiskStorage: 5}}

	literal := jwt.NewAccountClaims(w.account.public)
	literal.Limits.WildcardExports = false
	literal.Exports.Add(&jwt.Export{Subject: "foo", Type: jwt.Stream})

	own := jwt.NewOperatorClaims(w.operator.public)
	own.SigningKeys, own.SystemAccount, own.AssertServerVersion = jwt.StringList{w.operator.public}, w.account.public, "2.0.0"
	deletion := jwt.NewGenericClaims(w.operator.public)
	deletion.Data["accounts"] = []string{w.account.public}

	client := &operator.Client{Address: address(t, "127.0.0.1")}
	admit := func(token string) error {
		u, err := operator.ReadUser(token)
		if err != nil {
			return err
		}
		_, err = w.read(t, nil).Review(u, client, w.now)
		_, _ = u.Permit(client, w.now)
		return err
	}
	read := func(token string) error {
		_ = operator.Subject(token)
		a, err := w.trust.ReadAccount(token, "", w.now)
		if err != nil {
			return err
		}
		a.Plan(func(string) *operator.Account { return a }, "c", w.now)
		_, _, _, _ = a.Exporters(), a.Callout(), a.JetStream(), a.Trusts(signer.public)
		_ = a.Check(w.now)
		return nil
	}
	for _, tc := range []struct {
		name   string
		claims jwt.Claims
		by     key
		read   func(token string) error
	}{
		{"user", user, w.account, admit},
		{"account", account, w.operator, read},
		{"account without wildcards", literal, w.operator, read},
		{"operator", own, w.operator, func(token string) error {
			_, err := operator.NewTrust([]string{token}, nil, "2.15.2", w.now)
			return err
		}},
		{"deletion", deletion, w.operator, func(token string) error {
			_, _, err := w.trust.Deletion(token, w.now)
			return err
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text, err := base64.RawURLEncoding.DecodeString(part(tc.by.sign(t, tc.claims), 1))
			if err != nil {
				t.Fatal(err)
			}
			var all any
			if err := json.Unmarshal(text, &all); err != nil {
				t.Fatal(err)
			}
			if err := tc.read(tc.by.signText(t, all)); err != nil {
				t.Fatalf("as it is: %v", err)
			}
			eachOddity(all, func(x any) { all = x }, func(what string) {
				defer func() {
					if r := recover(); r != nil {
						t.Errorf("%s: %v", what, r)
					}
				}()
				_ = tc.read(tc.by.signText(t, all))
			})
		})
	}
	// The token of an import is signed by its exporter, whom nobody knows.
	text, err := base64.RawURLEncoding.DecodeString(part(signer.sign(t, activation), 1))
	if err != nil {
		t.Fatal(err)
	}
	var all any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	eachOddity(all, func(x any) { all = x }, func(what string) {
		defer func() {
			if r := recover(); r != nil {
				t.Errorf("activation: %s: %v", what, r)
			}
		}()
		account.Imports[0].Token = signer.signText(t, all)
		_ = read(w.operator.sign(t, account))
	})
}

// part is one of the parts of a token.
func part(token string, n int) string { return strings.Split(token, ".")[n] }
