package operator_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"runnel/server/operator"
)

func TestScopes(t *testing.T) {
	w := newWorld(t)
	role := newKey(t, nkeys.CreateAccount)
	many := func(n int) []string {
		var tags []string
		for i := range n {
			tags = append(tags, fmt.Sprintf("x:%d", i))
		}
		return tags
	}
	for _, tt := range []struct {
		name        string
		allow, deny string // one entry
		tags        []string
		want        error
		allowed     []string
		denied      []string
	}{
		{name: "plain", allow: "a.b", allowed: []string{"a.b"}},
		{name: "name", allow: "a.{{name()}}", allowed: []string{"a.bob"}},
		{name: "subject", allow: "a.{{subject()}}", allowed: []string{"a." + w.user.public}},
		{name: "account name", allow: "{{account-name()}}.>", allowed: []string{"acme.>"}},
		{name: "account subject", allow: "{{account-subject()}}", allowed: []string{w.account.public}},
		{name: "within a token", allow: "a{{name()}}b", allowed: []string{"abobb"}},
		{name: "tag", allow: "a.{{tag(x)}}", tags: []string{"x:1"}, allowed: []string{"a.1"}},
		{name: "tag in another case", allow: "a.{{tag(X)}}", tags: []string{"x:1"}, allowed: []string{"a.1"}},
		{name: "tag with a colon", allow: "a.{{tag(x)}}", tags: []string{"x:p:q"}, allowed: []string{"a.p:q"}},
		{name: "account tag", allow: "a.{{account-tag(region)}}", allowed: []string{"a.eu", "a.us"}},
		{
			name: "tags multiply", allow: "{{tag(x)}}.{{tag(y)}}", tags: []string{"x:1", "x:2", "y:a", "y:b"},
			allowed: []string{"1.a", "1.b", "2.a", "2.b"},
		},
		{name: "the same tag twice", allow: "{{tag(x)}}.{{tag(x)}}", tags: []string{"x:1", "x:2"}, allowed: []string{"1.1", "2.2"}},
		{name: "queue", allow: "a.{{name()}} q{{tag(x)}}", tags: []string{"x:1"}, allowed: []string{"a.bob q1"}},
		{name: "allow without a value", allow: "a.{{tag(x)}}", denied: []string{">"}},
		{name: "allow with an empty value", allow: "a.{{tag(x)}}", tags: []string{"x:"}, denied: []string{">"}},
		{name: "allow with a blank", allow: "a.{{tag(x)}}", tags: []string{"x:a b"}, denied: []string{">"}},
		{name: "one value is no subject", allow: "a.{{tag(x)}}.b", tags: []string{"x:>", "x:1"}, allowed: []string{"a.1.b"}},
		{name: "a value like a function", allow: "a.{{tag(x)}}", tags: []string{"x:{{name()}}"}, denied: []string{">"}},
		{name: "deny", deny: "a.{{name()}}", denied: []string{"a.bob"}},
		{name: "deny without a value", deny: "a.{{tag(x)}}", want: operator.ErrTemplate},
		{name: "deny with one value that is no subject", deny: "a.{{tag(x)}}.b", tags: []string{"x:>", "x:1"}, want: operator.ErrTemplate},
		{name: "unknown function", allow: "a.{{nobody()}}", want: operator.ErrTemplate},
		{name: "blanks in a function", allow: "a.{{ name() }}", want: operator.ErrTemplate},
		{name: "not closed", allow: "a.{{tag(x)", want: operator.ErrTemplate},
		{name: "too many", allow: "{{tag(x)}}.{{account-tag(region)}}", tags: many(501), want: operator.ErrTemplate},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := w.read(t, func(c *jwt.AccountClaims) {
				c.Name = "acme"
				c.Tags = jwt.TagList{"region:eu", "region:us"}
				s := jwt.NewUserScope()
				s.Key = role.public
				if tt.allow != "" {
					s.Template.Sub.Allow.Add(tt.allow)
				}
				if tt.deny != "" {
					s.Template.Sub.Deny.Add(tt.deny)
				}
				c.SigningKeys.AddScopedSigner(s)
			})
			u := w.userBy(t, role, func(c *jwt.UserClaims) {
				c.Name = "bob"
				c.Tags = tt.tags
				c.SetScoped(true)
			})
			p, err := a.Review(u, &operator.Client{}, w.now)
			if !errors.Is(err, tt.want) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			if err != nil {
				return
			}
			if got := p.Permissions.Subscribe; !slices.Equal(got.Allow, tt.allowed) || !slices.Equal(got.Deny, tt.denied) {
				t.Errorf("got allow %q, deny %q, want %q, %q", got.Allow, got.Deny, tt.allowed, tt.denied)
			}
		})
	}
}

func TestScopeSaysEverything(t *testing.T) {
	w := newWorld(t)
	role := newKey(t, nkeys.CreateAccount)
	a := w.read(t, func(c *jwt.AccountClaims) {
		s := jwt.NewUserScope()
		s.Key = role.public
		s.Template.NatsLimits.Subs = 7
		s.Template.BearerToken = true
		s.Template.Src.Add("10.0.0.0/8")
		c.SigningKeys.AddScopedSigner(s)
	})
	scoped := w.userBy(t, role, func(c *jwt.UserClaims) { c.SetScoped(true) })
	if _, err := a.Admit(scoped, &operator.Client{}, w.now); !errors.Is(err, operator.ErrAddress) {
		t.Errorf("the network of the scope: got %v", err)
	}
	p, err := a.Admit(scoped, &operator.Client{Address: address(t, "10.0.0.1")}, w.now)
	if err != nil || p.MaxSubscriptions != 7 || !p.Bearer {
		t.Errorf("the limits of the scope: got %+v, %v", p, err)
	}
	own := w.userBy(t, role, nil)
	if _, err := a.Admit(own, &operator.Client{Address: address(t, "10.0.0.1")}, w.now); !errors.Is(err, operator.ErrClaims) {
		t.Errorf("limits of its own: got %v", err)
	}
}

// FuzzScope fills templates with whatever a user is called. What comes out is never wider than the template with a
// wildcard in place of each function.
func FuzzScope(f *testing.F) {
	w := newWorld(f)
	role := newKey(f, nkeys.CreateAccount)
	for _, seed := range [][2]string{{"a.{{name()}}", "bob"}, {"{{tag(x)}}.{{tag(x)}}", "x"}, {"{{name()}}", ">"}, {"a {{name()}}", "b c"}, {"{{{{name()}}", "name()}}"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, template, name string) {
		c := jwt.NewAccountClaims(w.account.public)
		s := jwt.NewUserScope()
		s.Key = role.public
		s.Template.Pub.Allow = jwt.StringList{template}
		c.SigningKeys.AddScopedSigner(s)
		token, err := c.Encode(w.operator)
		if err != nil {
			return
		}
		a, err := w.trust.ReadAccount(token, "", w.now)
		if err != nil {
			return
		}
		uc := jwt.NewUserClaims(w.user.public)
		uc.Name, uc.IssuerAccount = name, w.account.public
		uc.Tags = jwt.TagList{"x:" + name}
		uc.SetScoped(true)
		token, err = uc.Encode(role)
		if err != nil {
			return
		}
		u, err := operator.ReadUser(token)
		if err != nil {
			return
		}
		p, err := a.Review(u, &operator.Client{}, w.now)
		if err != nil {
			return
		}
		for _, subject := range p.Permissions.Publish.Allow {
			if strings.Contains(subject, "{{") && subject != template {
				t.Errorf("template %q, name %q: %q is left", template, name, subject)
			}
			if len(strings.Fields(subject)) != len(strings.Fields(template)) {
				t.Errorf("template %q, name %q: got %q", template, name, subject)
			}
		}
		if len(p.Permissions.Publish.Allow)+len(p.Permissions.Publish.Deny) == 0 {
			t.Errorf("template %q, name %q: nothing is restricted", template, name)
		}
	})
}
