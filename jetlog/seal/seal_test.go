package seal_test

import (
	"bytes"
	"errors"
	"testing"

	"runnel/jetlog/seal"
	"runnel/jetlog/segment"
)

func key(n byte) []byte { return bytes.Repeat([]byte{n}, segment.KeyBytes) }

func sealer(t *testing.T, e seal.Encryption, purpose string) *seal.Sealer {
	t.Helper()
	s, err := seal.New(e, purpose)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSealedRecords(t *testing.T) {
	for _, c := range []segment.Cipher{0, segment.ChaCha20Poly1305, segment.AES256GCM} {
		s := sealer(t, seal.Encryption{Key: key(1), Cipher: c}, "log")
		plain, bound := []byte("a record"), []byte("its place")
		sealed := s.Seal([]byte("before"), plain, bound)
		if len(sealed)-len("before") > len(plain)+s.Overhead() || bytes.Contains(sealed, plain) {
			t.Fatalf("cipher %d: %q, overhead %d", c, sealed, s.Overhead())
		}
		sealed = sealed[len("before"):]
		got, err := s.Open([]byte("before"), sealed, bound)
		if err != nil || string(got) != "beforea record" {
			t.Errorf("cipher %d: %q, %v", c, got, err)
		}
		if again := s.Seal(nil, plain, bound); bytes.Equal(again, sealed) {
			t.Errorf("cipher %d: the same record is sealed alike twice", c)
		}
		rotated := sealer(t, seal.Encryption{Key: key(2), Previous: [][]byte{key(1)}, Cipher: c}, "log")
		if got, err := rotated.Open(nil, sealed, bound); err != nil || !bytes.Equal(got, plain) {
			t.Errorf("cipher %d, with the previous key: %q, %v", c, got, err)
		}
		if got, err := rotated.Open(nil, rotated.Seal(nil, plain, bound), bound); err != nil || !bytes.Equal(got, plain) {
			t.Errorf("cipher %d, with the new key: %q, %v", c, got, err)
		}
		refuses(t, s, sealed, bound, c)
	}
}

// refuses wants an error for whatever is not exactly what was sealed.
func refuses(t *testing.T, s *seal.Sealer, sealed, bound []byte, c segment.Cipher) {
	t.Helper()
	if _, err := s.Open(nil, sealed, []byte("another")); err == nil {
		t.Errorf("cipher %d: opened at another place", c)
	}
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 64
		if _, err := s.Open(nil, changed, bound); err == nil {
			t.Errorf("cipher %d: byte %d may be changed", c, i)
		}
		if _, err := s.Open(nil, sealed[:i], bound); err == nil {
			t.Errorf("cipher %d: opened with %d bytes", c, i)
		}
	}
	if _, err := sealer(t, seal.Encryption{Key: key(9)}, "log").Open(nil, sealed, bound); !errors.Is(err, seal.ErrKey) {
		t.Errorf("cipher %d: opened with another key: %v", c, err)
	}
	if _, err := sealer(t, seal.Encryption{Key: key(1)}, "manifest").Open(nil, sealed, bound); err == nil {
		t.Errorf("cipher %d: opened for another purpose", c)
	}
}

func TestWithoutKey(t *testing.T) {
	if s := sealer(t, seal.Encryption{}, "log"); s != nil {
		t.Errorf("got %v for no keys", s)
	}
	s := sealer(t, seal.Encryption{Previous: [][]byte{key(1)}}, "log")
	if got, err := s.Open(nil, s.Seal(nil, []byte("plain"), nil), nil); err != nil || string(got) != "plain" {
		t.Errorf("with previous keys only: %q, %v", got, err)
	}
	if first, all := s.SegmentKeys(); first != nil || len(all) != 1 {
		t.Errorf("keys of segments: %v, %v", first, all)
	}
	if _, err := seal.New(seal.Encryption{Key: []byte("short")}, "log"); err == nil {
		t.Error("a short key is taken")
	}
}

func FuzzOpen(f *testing.F) {
	s, err := seal.New(seal.Encryption{Key: key(1)}, "log")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(s.Seal(nil, []byte("x"), nil))
	f.Add([]byte{2, 1, 2, 3})
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = s.Open(nil, b, nil) })
}
