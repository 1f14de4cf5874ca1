package api

import "strings"

// DomainPrefix returns the prefix of the API's subjects by the name of a domain.
func DomainPrefix(domain string) string { return "$JS." + domain + ".API." }

// FromDomain returns the subject that is meant by one with the prefix of the domain: `$KV.`, `$OBJ.` and `$O.` after the
// prefix are buckets of the domain, the rest is the API. It reports whether the subject has that prefix and something
// after it.
func FromDomain(domain, subject string) (string, bool) {
	rest, ok := strings.CutPrefix(subject, DomainPrefix(domain))
	switch {
	case !ok || rest == "" || domain == "":
		return "", false
	case strings.HasPrefix(rest, "$KV."), strings.HasPrefix(rest, "$OBJ."), strings.HasPrefix(rest, "$O."):
		return rest, true
	}
	return "$JS.API." + rest, true
}
