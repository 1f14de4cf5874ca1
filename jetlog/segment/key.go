package segment

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"golang.org/x/crypto/chacha20poly1305"
)

// Cipher is how chunks are sealed. The numbers stand in files.
type Cipher uint8

// The ciphers.
const (
	ChaCha20Poly1305 Cipher = 1
	AES256GCM        Cipher = 2
)

// KeyID names a Key without telling it.
type KeyID [8]byte

// String is the id in hexadecimal digits.
func (id KeyID) String() string { return hex.EncodeToString(id[:]) }

// KeyBytes is the length of a secret.
const KeyBytes = 32

// Key seals files. Each file is sealed with a key of its own, which is derived from the secret and the
// file's random id.
type Key struct {
	id     KeyID
	secret []byte
}

// NewKey returns the key for a secret of KeyBytes bytes, which must be hard to guess: a random value or the
// result of a password hash.
func NewKey(secret []byte) (*Key, error) {
	if len(secret) != KeyBytes {
		return nil, fmt.Errorf("key of a segment has %d bytes, want %d", len(secret), KeyBytes)
	}
	k := &Key{secret: append([]byte(nil), secret...)}
	id, err := hkdf.Key(sha256.New, k.secret, nil, "runnel segment key id", len(k.id))
	if err != nil {
		return nil, fmt.Errorf("derive id of a segment key: %w", err)
	}
	copy(k.id[:], id)
	return k, nil
}

// ID is derived from the secret: two keys with one id are the same key.
func (k *Key) ID() KeyID { return k.id }

// String names the key and does not tell it.
func (k *Key) String() string { return "key " + k.id.String() }

// GoString is String.
func (k *Key) GoString() string { return k.String() }

// seal returns what seals the chunks of one file. The nonce of a chunk is its offset: a place in a file
// is written once, and files never share a key, so that no nonce is used twice with a key.
func (k *Key) seal(c Cipher, file FileID) (cipher.AEAD, error) {
	info := fmt.Sprintf("runnel segment file cipher %d", c)
	secret, err := hkdf.Key(sha256.New, k.secret, file[:], info, KeyBytes)
	if err != nil {
		return nil, fmt.Errorf("derive key of a segment: %w", err)
	}
	switch c {
	case ChaCha20Poly1305:
		return chacha20poly1305.New(secret)
	case AES256GCM:
		block, err := aes.NewCipher(secret)
		if err != nil {
			return nil, err
		}
		return cipher.NewGCM(block)
	default:
		return nil, fmt.Errorf("cipher %d of a segment is not known", c)
	}
}
