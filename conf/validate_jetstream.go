package conf

import (
	"strings"

	"runnel/conf/syntax"
	"runnel/subjects"
)

// jetStream checks the store of streams, and that what the accounts may use of
// it is there.
func (c *checker) jetStream() {
	c.accountsJetStream()
	j := c.o.JetStream
	if j == nil || !j.Enabled {
		return
	}
	c.domain(j.Domain)
	_, hasKey := c.o.Position("jetstream.key")
	_, hasCipher := c.o.Position("jetstream.cipher")
	switch {
	case hasKey && j.Key == "":
		c.wrong("jetstream.key", "it is empty, which would store in the clear; leave the key out if that is meant")
	case hasCipher && j.Key == "":
		c.unwise("jetstream.cipher", "there is no key, so nothing is encrypted")
	}
	if j.StoreDir == "" {
		c.wrong("jetstream.store_dir", "it needs a folder")
	}
	if j.Sync == SyncInterval && j.SyncInterval <= 0 {
		c.wrong("jetstream.sync", "the pause between syncs must be more than 0")
	}
}

// domain checks that a domain can stand in the subjects of requests: as one
// token, and not the one that requests without a domain have in its place.
func (c *checker) domain(domain string) {
	switch {
	case domain == "":
	case !subjects.ValidLiteral(domain) || strings.Contains(domain, "."):
		c.wrong("jetstream.domain", "%q must be one token of a subject: no dots, no blanks, no wildcards", syntax.Shorten(domain))
	case domain == "API":
		c.wrong("jetstream.domain", "requests to a domain %q could not be told from those without a domain", domain)
	}
}

// accountsJetStream checks what accounts ask for. All that they state is
// reserved for them, so it must be there.
func (c *checker) accountsJetStream() {
	o := c.o
	var memoryBytes, storeBytes int64
	for i := range o.Accounts {
		a := &o.Accounts[i]
		if a.JetStream == nil {
			continue
		}
		path := join(element("accounts", a.Name), "jetstream")
		switch {
		case a.Name == o.systemAccount():
			c.wrong(path, "the system account cannot use JetStream")
		case o.JetStream == nil || !o.JetStream.Enabled:
			c.unwise(path, "the server has no JetStream; add a jetstream block to it")
		default:
			memoryBytes = c.reserve(path+".max_memory", memoryBytes, a.JetStream.MaxMemoryBytes, o.JetStream.MaxMemoryBytes)
			storeBytes = c.reserve(path+".max_store", storeBytes, a.JetStream.MaxStoreBytes, o.JetStream.MaxStoreBytes)
		}
	}
}

// reserve adds what an account states to what the ones before it have, and
// reports it if the server has less. It returns the sum.
func (c *checker) reserve(path string, before, stated, limit int64) int64 {
	if stated <= 0 || limit < 0 {
		return before
	}
	if stated > limit-before {
		c.wrong(path, "%d bytes are more than the server has left for this account: %d of %d", stated, limit-before, limit)
		return before
	}
	return before + stated
}
