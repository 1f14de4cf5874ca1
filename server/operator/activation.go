package operator

import (
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/jwt/v2"

	"runnel/subjects"
)

// The reasons why an activation token does not open an import, besides those of other tokens.
var (
	// ErrNoExporter: the account to import from is not known.
	ErrNoExporter = errors.New("exporting account is not known")
	// ErrNotCovered: the token is for something else.
	ErrNotCovered = errors.New("token does not cover the import")
)

// activation checks the token that opens an import from the exporter, of a subject of it. It returns when the outcome
// changes by itself: when the token ends, or begins.
func (a *Account) activation(i *jwt.Import, subject string, exporter *Account, now time.Time) (until time.Time, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("account %s: import of %q from %s: activation token: %w", a.Name(), short(subject), short(i.Account), err)
		}
	}()
	if exporter == nil {
		return until, ErrNoExporter
	}
	c, err := decode(i.Token, MaxUserBytes, jwt.DecodeActivationClaims)
	if err != nil {
		return until, err
	}
	if err := inTime(&c.ClaimsData, now); err != nil {
		if errors.Is(err, ErrNotYetValid) {
			until = time.Unix(c.NotBefore, 0)
		}
		return until, err
	}
	switch {
	case c.Subject != a.Name():
		return until, fmt.Errorf("%w: %s", ErrWrongSubject, short(c.Subject))
	case c.Issuer != exporter.Name() && (!exporter.Trusts(c.Issuer) || c.IssuerAccount != exporter.Name()):
		return until, fmt.Errorf("%w: %s is no key of the exporting account", ErrUntrusted, short(c.Issuer))
	case c.ImportType != i.Type || !subjects.ValidPattern(subject) || !subjects.ValidPattern(string(c.ImportSubject)) ||
		!subjects.Subset(subject, string(c.ImportSubject)):
		return until, fmt.Errorf("%w: it is for the %s %q", ErrNotCovered, c.ImportType, short(string(c.ImportSubject)))
	case exporter.revokes(c, i.Type, subject):
		return until, ErrRevoked
	}
	return end(&c.ClaimsData), nil
}

// revokes reports whether an export that includes the subject has revoked the token.
func (a *Account) revokes(c *jwt.ActivationClaims, kind jwt.ExportType, subject string) bool {
	for _, e := range a.claims.Exports {
		if e.Type == kind && subjects.Subset(subject, string(e.Subject)) && e.IsClaimRevoked(c) {
			return true
		}
	}
	return false
}
