// Package seal encrypts small things: records of the log and of the manifest, each for itself. Segments
// are sealed by package segment, with the same keys.
//
// A sealed record names its key, so a key can be replaced while records of the former one are still
// read. Each purpose has keys of its own, derived from the secret: what was sealed for one is worth
// nothing for another.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"

	"golang.org/x/crypto/chacha20poly1305"

	"runnel/jetlog/segment"
)

// Encryption says how a store is encrypted. The zero value does not encrypt.
type Encryption struct {
	// Key encrypts what is written: segment.KeyBytes bytes that are hard to guess. Nil does not encrypt.
	Key []byte
	// Previous keys only decrypt what was written with them.
	Previous [][]byte
	// Cipher is how Key encrypts; 0 means segment.ChaCha20Poly1305.
	Cipher segment.Cipher
}

// ErrKey is the error for a record that no key of the configuration opens.
var ErrKey = errors.New("encrypted with a key that is not known: configure it as previous key")

var errShort = errors.New("sealed record is too short")

// Sealer encrypts records; it is safe for concurrent use. A sealed record is: cipher | key id | nonce | sealed. Nonces are random,
// and a key seals at most 2^32 records under one nonce prefix: 24 bytes of nonce for ChaCha20; for
// AES-GCM each record has a key of its own, derived from 16 random bytes in front.
type Sealer struct {
	first *sealKey
	keys  map[segment.KeyID]*sealKey
}

// sealKey is one key, for one purpose.
type sealKey struct {
	id      segment.KeyID
	cipher  segment.Cipher
	secret  []byte
	chacha  cipher.AEAD
	segment *segment.Key
}

const (
	saltBytes    = 16
	sealOverhead = 1 + 8 + chacha20poly1305.NonceSizeX + saltBytes + 16
)

// New returns what seals for a purpose, nil if nothing is encrypted.
func New(e Encryption, purpose string) (*Sealer, error) {
	s := &Sealer{keys: map[segment.KeyID]*sealKey{}}
	secrets := e.Previous
	if e.Key != nil {
		secrets = append([][]byte{e.Key}, e.Previous...)
	}
	for i, secret := range secrets {
		k, err := newSealKey(secret, e.Cipher, purpose)
		if err != nil {
			return nil, err
		}
		if i == 0 && e.Key != nil {
			s.first = k
		}
		s.keys[k.id] = k
	}
	if len(secrets) == 0 {
		return nil, nil
	}
	return s, nil
}

func newSealKey(secret []byte, c segment.Cipher, purpose string) (*sealKey, error) {
	key, err := segment.NewKey(secret)
	if err != nil {
		return nil, fmt.Errorf("encryption key: %w", err)
	}
	derived, err := hkdf.Key(sha256.New, secret, nil, "runnel "+purpose, chacha20poly1305.KeySize)
	if err != nil {
		return nil, fmt.Errorf("encryption key: %w", err)
	}
	aead, err := chacha20poly1305.NewX(derived)
	if err != nil {
		return nil, fmt.Errorf("encryption key: %w", err)
	}
	if c == 0 {
		c = segment.ChaCha20Poly1305
	}
	return &sealKey{id: key.ID(), cipher: c, secret: derived, chacha: aead, segment: key}, nil
}

// aes returns the cipher of one record.
func (k *sealKey) aes(salt []byte) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, k.secret, salt, "record", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// Seal implements wal.Cipher.
func (s *Sealer) Seal(dst, plain, bound []byte) []byte {
	k := s.first
	if k == nil { // only previous keys: what is written now is not encrypted
		return append(append(dst, 0), plain...)
	}
	dst = append(append(dst, byte(k.cipher)), k.id[:]...)
	at := len(dst)
	if k.cipher == segment.AES256GCM {
		dst = append(dst, make([]byte, saltBytes)...)
		rand.Read(dst[at:]) // never fails
		aead, err := k.aes(dst[at:])
		if err != nil {
			panic(fmt.Sprintf("derive a key: %v", err)) // lengths are fixed: it cannot be
		}
		return aead.Seal(dst, make([]byte, aead.NonceSize()), plain, bound)
	}
	dst = append(dst, make([]byte, chacha20poly1305.NonceSizeX)...)
	rand.Read(dst[at:])
	return k.chacha.Seal(dst, dst[at:], plain, bound)
}

// Open implements wal.Cipher.
func (s *Sealer) Open(dst, sealed, bound []byte) ([]byte, error) {
	if len(sealed) > 0 && sealed[0] == 0 && s.first == nil {
		return append(dst, sealed[1:]...), nil
	}
	if len(sealed) < 9 {
		return nil, errShort
	}
	if c := segment.Cipher(sealed[0]); c != segment.ChaCha20Poly1305 && c != segment.AES256GCM {
		return nil, errors.New("record is not sealed, or with a cipher that this program does not know")
	}
	k := s.keys[segment.KeyID(sealed[1:9])]
	if k == nil {
		return nil, ErrKey
	}
	rest := sealed[9:]
	aead, nonceBytes := k.chacha, chacha20poly1305.NonceSizeX
	nonce := rest[:min(nonceBytes, len(rest))]
	if segment.Cipher(sealed[0]) == segment.AES256GCM {
		if len(rest) < saltBytes {
			return nil, errShort
		}
		var err error
		if aead, err = k.aes(rest[:saltBytes]); err != nil {
			return nil, err
		}
		nonceBytes, nonce = saltBytes, make([]byte, aead.NonceSize())
	}
	if len(rest) < nonceBytes {
		return nil, errShort
	}
	return aead.Open(dst, nonce, rest[nonceBytes:], bound)
}

// Overhead implements wal.Cipher.
func (s *Sealer) Overhead() int { return sealOverhead }

// SegmentKeys returns what segments are written with, nil for none, and what they may be read with.
func (s *Sealer) SegmentKeys() (first *segment.Key, all []*segment.Key) {
	if s == nil {
		return nil, nil
	}
	for _, k := range s.keys {
		all = append(all, k.segment)
	}
	if s.first != nil {
		first = s.first.segment
	}
	return first, all
}
