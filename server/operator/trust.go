package operator

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// Trust is whom a server believes about accounts: operators by their JWT, or just keys. It is immutable.
type Trust struct {
	operators []trusted
	keys      []string // trusted without an operator JWT
}

// trusted is an operator JWT that has been verified.
type trusted struct {
	claims *jwt.OperatorClaims
	token  string
}

// NewTrust verifies operator JWTs, or takes public operator keys; not both, since the keys would go around what the
// operators ask for. version is the server's, as major.minor.patch. All errors are returned, joined.
func NewTrust(tokens, keys []string, version string, now time.Time) (*Trust, error) {
	t := &Trust{keys: slices.Clone(keys)}
	var errs []error
	switch {
	case len(tokens) > 0 && len(keys) > 0:
		errs = append(errs, errors.New("operators and trusted keys exclude each other: use one of them"))
	case len(tokens) == 0 && len(keys) == 0:
		errs = append(errs, errors.New("operator mode needs an operator or trusted keys"))
	}
	for _, k := range keys {
		if !nkeys.IsValidPublicOperatorKey(k) {
			errs = append(errs, fmt.Errorf("trusted key %q is not the public key of an operator", short(k)))
		}
	}
	for i, token := range tokens {
		c, err := readOperator(token, version, now)
		if err != nil {
			errs = append(errs, fmt.Errorf("operator %d: %w", i+1, err))
			continue
		}
		t.operators = append(t.operators, trusted{c, token})
	}
	if _, err := t.system(); err != nil {
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return t, nil
}

// readOperator verifies the JWT of an operator, which signs itself.
func readOperator(token, version string, now time.Time) (*jwt.OperatorClaims, error) {
	c, err := decode(token, MaxUserBytes, jwt.DecodeOperatorClaims)
	if err != nil {
		return nil, err
	}
	if c.Issuer != c.Subject {
		return nil, fmt.Errorf("%w: an operator signs itself, this one was signed by %s", ErrUntrusted, c.Issuer)
	}
	if err := validate(c); err != nil {
		return nil, err
	}
	if err := inTime(&c.ClaimsData, now); err != nil {
		return nil, fmt.Errorf("operator %s: %w", c.Subject, err)
	}
	return c, checkVersion(c.AssertServerVersion, version)
}

// checkVersion reports whether a server of this version is new enough for one who asks for least.
func checkVersion(least, version string) error {
	if least == "" {
		return nil
	}
	a, b, c, err := jwt.ParseServerVersion(least)
	x, y, z, err2 := jwt.ParseServerVersion(version)
	if err := errors.Join(err, err2); err != nil {
		return fmt.Errorf("%w: %w", ErrClaims, err)
	}
	if cmp.Or(cmp.Compare(x, a), cmp.Compare(y, b), cmp.Compare(z, c)) < 0 {
		return fmt.Errorf("%w: %s is asked for, this is %s", ErrServerVersion, least, version)
	}
	return nil
}

// System is the public key of the system account that the operators name, empty for none.
func (t *Trust) System() string {
	s, _ := t.system() // NewTrust has seen the error
	return s
}

func (t *Trust) system() (string, error) {
	found := ""
	for _, o := range t.operators {
		switch s := o.claims.SystemAccount; {
		case s == "" || s == found:
		case found != "":
			return "", fmt.Errorf("the operators name different system accounts: %s and %s", found, s)
		default:
			found = s
		}
	}
	return found, nil
}

// AccountServer is the URL below which the first operator that names one has its accounts, empty for none.
func (t *Trust) AccountServer() string {
	for _, o := range t.operators {
		if url := o.claims.AccountServerURL; url != "" {
			return strings.TrimSuffix(url, "/") + "/accounts/"
		}
	}
	return ""
}

// Tokens are the JWTs of the operators, and Claims what they say; both to be shown.
func (t *Trust) Tokens() []string {
	var all []string
	for _, o := range t.operators {
		all = append(all, o.token)
	}
	return all
}

// Claims are the claims of the operators. They must not be changed.
func (t *Trust) Claims() []*jwt.OperatorClaims {
	var all []*jwt.OperatorClaims
	for _, o := range t.operators {
		all = append(all, o.claims)
	}
	return all
}

// issuer tells whether key may sign accounts, and whether these in turn may sign users only with signing keys. An
// operator whose JWT has expired since the start signs nothing any more.
func (t *Trust) issuer(key string, now time.Time) (strict bool, err error) {
	if slices.Contains(t.keys, key) {
		return false, nil
	}
	for _, o := range t.operators {
		c := o.claims
		if key != c.Subject && !c.SigningKeys.Contains(key) {
			continue
		}
		if key == c.Subject && c.StrictSigningKeyUsage {
			return false, fmt.Errorf("%w: operator %s signs accounts with signing keys only", ErrUntrusted, c.Subject)
		}
		if err := inTime(&c.ClaimsData, now); err != nil {
			return false, fmt.Errorf("%w: operator %s: %w", ErrUntrusted, c.Subject, err)
		}
		return c.StrictSigningKeyUsage, nil
	}
	return false, fmt.Errorf("%w: %s is the key of no operator", ErrUntrusted, short(key))
}

// Deletion reads a request to delete accounts: claims whose data has the list accounts, signed by an operator.
func (t *Trust) Deletion(token string, now time.Time) (issuer string, accounts []string, err error) {
	c, err := decode(token, MaxAccountBytes, jwt.DecodeGeneric)
	if err != nil {
		return "", nil, err
	}
	if _, err := t.issuer(c.Issuer, now); err != nil {
		return c.Issuer, nil, err
	}
	if err := inTime(&c.ClaimsData, now); err != nil {
		return c.Issuer, nil, err
	}
	list, _ := c.Data["accounts"].([]any)
	for _, entry := range list {
		name, ok := entry.(string)
		if !ok || !nkeys.IsValidPublicAccountKey(name) {
			return c.Issuer, nil, fmt.Errorf("%w: accounts has something that is no public account key", ErrClaims)
		}
		accounts = append(accounts, name)
	}
	if len(accounts) == 0 {
		return c.Issuer, nil, fmt.Errorf("%w: a list accounts of public account keys is expected", ErrClaims)
	}
	return c.Issuer, accounts, nil
}
