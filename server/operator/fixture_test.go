package operator_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"runnel/server/operator"
)

// key is a pair of keys.
type key struct {
	nkeys.KeyPair
	public string
}

func newKey(t testing.TB, make func() (nkeys.KeyPair, error)) key {
	t.Helper()
	pair, err := make()
	if err != nil {
		t.Fatal(err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return key{pair, public}
}

// sign encodes claims.
func (k key) sign(t testing.TB, c jwt.Claims) string {
	t.Helper()
	token, err := c.Encode(k)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// world is an operator with one account and one user.
type world struct {
	operator, account, user key
	trust                   *operator.Trust
	now                     time.Time
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{
		operator: newKey(t, nkeys.CreateOperator),
		account:  newKey(t, nkeys.CreateAccount),
		user:     newKey(t, nkeys.CreateUser),
		now:      time.Now(),
	}
	w.trust = w.trusting(t, nil)
	return w
}

// trusting is a trust in the operator, after change was made to its claims.
func (w *world) trusting(t testing.TB, change func(*jwt.OperatorClaims)) *operator.Trust {
	t.Helper()
	trust, err := operator.NewTrust([]string{w.operatorToken(t, change)}, nil, "2.15.2", w.now)
	if err != nil {
		t.Fatal(err)
	}
	return trust
}

func (w *world) operatorToken(t testing.TB, change func(*jwt.OperatorClaims)) string {
	t.Helper()
	c := jwt.NewOperatorClaims(w.operator.public)
	if change != nil {
		change(c)
	}
	return w.operator.sign(t, c)
}

func (w *world) accountToken(t testing.TB, by key, change func(*jwt.AccountClaims)) string {
	t.Helper()
	c := jwt.NewAccountClaims(w.account.public)
	if change != nil {
		change(c)
	}
	return by.sign(t, c)
}

// read is the account after change was made to its claims.
func (w *world) read(t testing.TB, change func(*jwt.AccountClaims)) *operator.Account {
	t.Helper()
	a, err := w.trust.ReadAccount(w.accountToken(t, w.operator, change), w.account.public, w.now)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// userBy is the user, signed by a key of the account, after change was made to its claims.
func (w *world) userBy(t testing.TB, by key, change func(*jwt.UserClaims)) *operator.User {
	t.Helper()
	c := jwt.NewUserClaims(w.user.public)
	if by.public != w.account.public {
		c.IssuerAccount = w.account.public
	}
	if change != nil {
		change(c)
	}
	u, err := operator.ReadUser(by.sign(t, c))
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func address(t testing.TB, text string) netip.Addr {
	t.Helper()
	a, err := netip.ParseAddr(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
