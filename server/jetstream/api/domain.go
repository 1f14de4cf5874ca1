package api

import "strings"

// DomainPrefix returns the prefix of the API's subjects by the name of a domain.
func DomainPrefix(domain string) string { return "$JS." + domain + ".API." }

// Prefixes are those of the API's subjects on a server with a domain, empty for none.
func Prefixes(domain string) []string {
	list := []string{"$JS.API."}
	if domain != "" {
		list = append(list, DomainPrefix(domain))
	}
	return list
}

// The calls of the API that all servers of a cluster subscribe to in every account, by their first words, and those of the system account
// besides.
const (
	sharedWords = "INFO STREAM.> CONSUMER.CREATE.> CONSUMER.DURABLE.> CONSUMER.INFO.> CONSUMER.NAMES.> CONSUMER.LIST.> CONSUMER.DELETE.> " +
		"CONSUMER.PAUSE.> CONSUMER.RESET.> CONSUMER.UNPIN.> CONSUMER.LEADER.> CONSUMER.PEER.>"
	systemWords = " META.> SERVER.> ACCOUNT.>"
)

// SharedSubjects are those of the calls that all servers of a cluster subscribe to, in the system account or another one. Those that are missing
// are subscribed to by stream: so a request to a stream that there is not reaches nobody, and whoever asks learns that.
func SharedSubjects(domain string, system bool) (subjects []string) {
	words := sharedWords
	if system {
		words += systemWords
	}
	for _, prefix := range Prefixes(domain) {
		for word := range strings.FieldsSeq(words) {
			subjects = append(subjects, prefix+word)
		}
	}
	return subjects
}

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
