package accounts

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"regexp"

	"golang.org/x/crypto/bcrypt"
)

// digestKey makes digests of secrets useless outside the process.
type digestKey [sha256.Size]byte

// digest is what is kept of a secret in clear. Digests have one length, so that
// the time to compare them tells nothing about the secret.
type digest [sha256.Size]byte

func (k *digestKey) digest(secret string) (d digest) {
	mac := hmac.New(sha256.New, k[:])
	mac.Write([]byte(secret))
	mac.Sum(d[:0])
	return d
}

// secret is a configured password or token. It never has the text in clear.
type secret struct {
	digest digest
	// hash is the bcrypt hash when the secret was configured as one.
	hash []byte
}

// bcryptLike is what was meant as a bcrypt hash, bcryptHash what is one.
var (
	bcryptLike = regexp.MustCompile(`^\$2[aby]\$`)
	bcryptHash = regexp.MustCompile(`^\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}$`)
)

// newSecret returns the secret for a configured text. Its errors do not repeat
// the text.
func newSecret(text string, key *digestKey) (secret, error) {
	s := secret{digest: key.digest(text)}
	if !bcryptLike.MatchString(text) {
		return s, nil
	}
	s.hash = []byte(text)
	if _, err := bcrypt.Cost(s.hash); err != nil || !bcryptHash.MatchString(text) {
		return s, fmt.Errorf("begins like a bcrypt hash but is not one")
	}
	return s, nil
}

// cost returns the bcrypt cost, 0 for a secret in clear.
func (s *secret) cost() int {
	if s.hash == nil {
		return 0
	}
	cost, err := bcrypt.Cost(s.hash)
	if err != nil {
		return 0 // newSecret refuses such hashes
	}
	return cost
}

// matches reports whether text is the secret.
func (s *secret) matches(text string, key *digestKey) bool {
	if s.hash != nil {
		return bcrypt.CompareHashAndPassword(s.hash, []byte(text)) == nil
	}
	given := key.digest(text)
	return subtle.ConstantTimeCompare(given[:], s.digest[:]) == 1
}

// same reports whether two secrets were configured with the same text.
func (s *secret) same(other *secret) bool { return s.digest == other.digest }
