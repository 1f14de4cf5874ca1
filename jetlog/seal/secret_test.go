package seal_test

import (
	"bytes"
	"testing"

	"runnel/jetlog/seal"
	"runnel/jetlog/segment"
)

func TestKeyOf(t *testing.T) {
	key := func(secret string) []byte {
		t.Helper()
		k, err := seal.KeyOf(secret)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	a, b, again := key("some words"), key("some word"), key("some words")
	if len(a) != segment.KeyBytes {
		t.Errorf("a key has %d bytes, want %d", len(a), segment.KeyBytes)
	}
	if !bytes.Equal(a, again) {
		t.Error("the same secret gave two keys")
	}
	if bytes.Equal(a, b) {
		t.Error("two secrets gave the same key")
	}
}
