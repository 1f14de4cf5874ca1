package seal

import (
	"fmt"

	"golang.org/x/crypto/scrypt"

	"runnel/jetlog/segment"
)

// The cost of KeyOf: about a tenth of a second and 32 MiB, once at the start of a program.
const (
	secretCost   = 1 << 15
	secretBlock  = 8
	secretFactor = 1
)

// secretSalt sets our keys apart from what others derive from the same words. It is the same for all stores, so that a
// store can be opened before anything of it is read.
const secretSalt = "runnel store key 1"

// KeyOf returns the key for a secret that people choose, of any length: slowly, so that guessing is slow too.
func KeyOf(secret string) ([]byte, error) {
	key, err := scrypt.Key([]byte(secret), []byte(secretSalt), secretCost, secretBlock, secretFactor, segment.KeyBytes)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	return key, nil
}
