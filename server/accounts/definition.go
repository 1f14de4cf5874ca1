package accounts

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nkeys"

	"runnel/subjects"
)

// definition is what an account offers, wants and rewrites, as far as that is in order by itself.
// It is immutable.
type definition struct {
	account  *Account
	terms    terms
	exports  subjects.Patterns[*export]
	imports  []*wanted
	mappings *mappings
}

// export is one export of an account.
type export struct {
	*ExportConfig
	order int
}

// wanted is one import of an account.
type wanted struct {
	*ImportConfig
	route
	order int
}

// newDefinition checks what cfg says about sharing. What it returns an error for is left out; the
// errors name the account and the entry.
func newDefinition(a *Account, cfg *AccountConfig) (*definition, []error) {
	d := &definition{account: a, terms: terms{
		limits: cfg.Limits, nkey: cfg.NKey, exports: cfg.Exports, mappings: cfg.Mappings,
	}}
	var errs []error
	fail := func(where string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("account %q: %s%w", a.name, where, err))
		}
	}
	if cfg.NKey != "" && !nkeys.IsValidPublicAccountKey(cfg.NKey) {
		fail("", errors.New("its nkey is not the public key of an account"))
	}
	if t := cfg.Trace; t != nil {
		fail("message trace: ", t.validate())
		d.terms.trace = t
	}
	for i := range cfg.Exports {
		fail(fmt.Sprintf("exports[%d]: ", i), d.addExport(&cfg.Exports[i], i))
	}
	seen := make(map[importKey]bool, len(cfg.Imports))
	for i := range cfg.Imports {
		fail(fmt.Sprintf("imports[%d]: ", i), d.addImport(&cfg.Imports[i], i, seen))
	}
	d.terms.imports = d.imports
	var wrong []error
	d.mappings, wrong = newMappings(cfg.Mappings)
	for _, err := range wrong {
		fail("", err)
	}
	return d, errs
}

func (t *TraceConfig) validate() error {
	switch {
	case !subjects.ValidLiteral(t.Destination):
		return fmt.Errorf("the destination %q is not a valid subject without wildcards", t.Destination)
	case t.Sampling < 1 || t.Sampling > allWeights:
		return fmt.Errorf("sampling of %d percent: use 1 to 100", t.Sampling)
	}
	return nil
}

// addExport checks and adds an export.
func (d *definition) addExport(cfg *ExportConfig, order int) error {
	if err := cfg.validate(); err != nil {
		return err
	}
	d.exports.Add(cfg.Subject, &export{cfg, order})
	return nil
}

func (cfg *ExportConfig) validate() error {
	if !subjects.ValidPattern(cfg.Subject) {
		return fmt.Errorf("%q is not a valid subject", cfg.Subject)
	}
	if n := cfg.AccountTokenPosition; n != 0 && tokenAt(cfg.Subject, n) != "*" {
		return fmt.Errorf("account token position: token %d of %q is not the wildcard `*`", n, cfg.Subject)
	}
	switch {
	case cfg.Response > ResponseChunked:
		return fmt.Errorf("unknown response type %d", cfg.Response)
	case cfg.Threshold < 0:
		return fmt.Errorf("the threshold %v is negative", cfg.Threshold)
	case !cfg.Service && (cfg.Latency != nil || cfg.Response != ResponseSingle || cfg.Threshold != 0):
		return errors.New("a stream has neither response type, threshold nor latency")
	case cfg.Latency == nil:
		return nil
	case !subjects.ValidLiteral(cfg.Latency.Subject):
		return fmt.Errorf("latency: %q is not a valid subject without wildcards", cfg.Latency.Subject)
	case cfg.Latency.Sampling < 0 || cfg.Latency.Sampling > allWeights:
		return fmt.Errorf("latency: sampling of %d percent: use 0 to 100", cfg.Latency.Sampling)
	}
	return nil
}

// tokenAt returns the nth token of a subject, from 1, or nothing.
func tokenAt(subject string, n int) string {
	i := 0
	for token := range subjects.Tokens(subject) {
		if i++; i == n {
			return token
		}
	}
	return ""
}

// importKey is what two imports of an account must not have in common. Requests would not know which
// of two services of one account they are for; two accounts may offer the same service.
type importKey struct {
	service              bool
	account, local, back string
}

// addImport checks and adds an import. seen has those before it.
func (d *definition) addImport(cfg *ImportConfig, order int, seen map[importKey]bool) error {
	r, err := newRoute(cfg.Subject, cfg.To)
	if err != nil {
		return err
	}
	key := importKey{service: cfg.Service, account: cfg.Account, local: r.local}
	if !cfg.Service {
		key.back = r.back
	}
	if seen[key] {
		return fmt.Errorf("a %v of account %q is imported as %q already", kind(cfg.Service), cfg.Account, r.local)
	}
	seen[key] = true
	d.imports = append(d.imports, &wanted{cfg, r, order})
	return nil
}

// find returns the export that an import by another account goes through: the first that includes
// its subject and is for the importer. Where there are exports of exactly that subject, the others do
// not count. Without any it returns ErrNotExported or ErrNotAllowed.
func (d *definition) find(importer *definition, w *wanted) (*export, error) {
	var found []*export
	for e := range d.exports.Overlapping(w.Subject) {
		if e.Service == w.Service && subjects.Subset(w.Subject, e.Subject) {
			found = append(found, e)
		}
	}
	if len(found) == 0 {
		return nil, ErrNotExported
	}
	exactly := func(e *export) bool { return e.Subject == w.Subject }
	if slices.ContainsFunc(found, exactly) {
		found = slices.DeleteFunc(found, func(e *export) bool { return !exactly(e) })
	}
	found = slices.DeleteFunc(found, func(e *export) bool { return !e.allows(importer, w) })
	if len(found) == 0 {
		return nil, ErrNotAllowed
	}
	return slices.MinFunc(found, func(a, b *export) int { return cmp.Compare(a.order, b.order) }), nil
}

// allows reports whether the export is for that import of an account.
func (e *export) allows(importer *definition, w *wanted) bool {
	if n := e.AccountTokenPosition; n != 0 {
		token := tokenAt(w.Subject, n)
		if token == "" || token != importer.account.name && token != importer.terms.nkey {
			return false
		}
	}
	public := !e.Private && len(e.Accounts) == 0
	return public || w.Approved || slices.Contains(e.Accounts, importer.account.name)
}
