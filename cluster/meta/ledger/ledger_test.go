package ledger_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/raft"

	"runnel/cluster/meta/ledger"
)

const (
	page    = 4096
	entries = 80
)

// fill writes entries and votes, removes some entries at the beginning, and returns what the file was like on the way and in the end.
func fill(t *testing.T, path string) (older, last []byte) {
	t.Helper()
	s, err := ledger.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := uint64(1); i <= entries; i++ {
		if i == entries { // the mark is set when the file is opened anew
			if s, err = ledger.Open(path); err != nil {
				t.Fatal(err)
			}
		}
		err := errors.Join(s.StoreLogs([]*raft.Log{entry(i)}), s.SetUint64([]byte("CurrentTerm"), i), s.SetUint64([]byte("LastVoteTerm"), i), s.Set([]byte("LastVoteCand"), []byte("node")))
		if i == entries/2 {
			err = errors.Join(err, s.DeleteRange(1, 20))
			older = read(t, path)
		}
		if i == entries-1 {
			err = errors.Join(err, s.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return older, read(t, path)
}

// entry is the one of an index.
func entry(i uint64) *raft.Log {
	return &raft.Log{Index: i, Term: i, Type: raft.LogCommand, Data: bytes.Repeat([]byte{byte(i)}, int(i*397%3000)+1)}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// look opens a file that may be damaged, and reports an error if what is in it is neither refused nor what was written.
func look(t *testing.T, path string, content []byte) (refused bool, err error) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := ledger.Open(path)
	if err != nil {
		if !errors.Is(err, ledger.ErrDamaged) {
			return true, fmt.Errorf("refused, and not as damaged: %w", err)
		}
		return true, nil
	}
	defer s.Close()
	first, err := s.FirstIndex()
	last, err2 := s.LastIndex()
	if err := errors.Join(err, err2); err != nil || first != 21 || last != entries {
		return false, fmt.Errorf("it has %d to %d, %w", first, last, err)
	}
	for i := first; i <= last; i++ {
		var l raft.Log
		if err := s.GetLog(i, &l); err != nil || l.Term != i || !bytes.Equal(l.Data, entry(i).Data) || l.Extensions != nil {
			return false, fmt.Errorf("entry %d is %+v: %w", i, l, err)
		}
	}
	for _, key := range []string{"CurrentTerm", "LastVoteTerm"} {
		if v, err := s.GetUint64([]byte(key)); err != nil || v != entries {
			return false, fmt.Errorf("%s is %d: %w", key, v, err)
		}
	}
	if v, err := s.Get([]byte("LastVoteCand")); err != nil || string(v) != "node" {
		return false, fmt.Errorf("the vote is for %q: %w", v, err)
	}
	return false, nil
}

// TestDamage damages a file in many ways: it is refused, or has what was written.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	older, last := fill(t, filepath.Join(dir, "log"))
	if refused, err := look(t, filepath.Join(dir, "whole"), last); refused || err != nil {
		t.Fatalf("the whole file: refused %t, %v", refused, err)
	}
	refusals, tries := 0, 0
	try := func(name string, content []byte) {
		t.Helper()
		tries++ // a file each: bolt does not let go of one that it has come to grief with
		path := filepath.Join(dir, fmt.Sprint(tries))
		refused, err := look(t, path, content)
		_ = os.Remove(path) // it is removed with its folder otherwise
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if refused {
			refusals++
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 90 {
		b := bytes.Clone(last)
		at := random.IntN(len(b))
		b[at] ^= 1 << random.IntN(8)
		try(fmt.Sprintf("bit flipped in byte %d", at), b)
		if n%3 == 0 {
			at := random.IntN(len(b)/page) * page
			clear(b[at : at+page])
			try(fmt.Sprintf("page %d zeroed", at/page), b)
		}
	}
	for at := 2 * page; at+page <= len(last); at += page {
		b := bytes.Clone(last)
		b[at+12] ^= 1
		try(fmt.Sprintf("page %d longer or shorter", at/page), b)
		if b[at+8] != 1 || b[at+10] < 2 { // it has pages below it
			continue
		}
		b = bytes.Clone(last)
		second := at + 2*16
		b[second+int(binary.LittleEndian.Uint32(b[second:]))+7] ^= 1
		try(fmt.Sprintf("another key for the second page below page %d", at/page), b)
	}
	for _, key := range []string{"CurrentTerm", "LastVoteTerm", "LastVoteCand"} {
		for at := range last {
			if bytes.HasPrefix(last[at:], []byte(key)) {
				b := bytes.Clone(last)
				b[at+len(key)-1] ^= 1
				try(fmt.Sprintf("another name for %s at byte %d", key, at), b)
			}
		}
	}
	for at := page; at < len(last); at += 7 * page / 2 {
		try(fmt.Sprintf("cut at byte %d", at), last[:at])
	}
	for at := 0; at+page <= len(older); at += page {
		for _, pages := range []int{1, 4} {
			if at == 0 && pages > 1 {
				continue // both heads as they were: nobody can tell that from a file that is that old
			}
			b := bytes.Clone(last)
			copy(b[at:min(at+pages*page, len(older))], older[at:])
			try(fmt.Sprintf("%d pages from %d on are old ones", pages, at/page), b)
		}
	}
	if refusals < 50 {
		t.Errorf("%d are refused: the test does not damage what matters", refusals)
	}
}

// TestNew opens what is not there, or empty: nothing is in it. A place where nothing can be is an error.
func TestNew(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"new", "empty"} {
		path := filepath.Join(dir, name)
		if name == "empty" {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s, err := ledger.Open(path)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		first, err := s.FirstIndex()
		last, err2 := s.LastIndex()
		if first != 0 || last != 0 || errors.Join(err, err2) != nil {
			t.Errorf("%s: %d to %d, %v, %v", name, first, last, err, err2)
		}
		if _, err := s.GetUint64([]byte("CurrentTerm")); err == nil || err.Error() != "not found" { // as raft wants it
			t.Errorf("%s: a term: %v", name, err)
		}
		if err := s.GetLog(1, new(raft.Log)); !errors.Is(err, raft.ErrLogNotFound) {
			t.Errorf("%s: entry 1: %v", name, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := ledger.Open(filepath.Join(dir, "no", "log")); err == nil {
		t.Error("a file in no folder was made")
	}
}

// TestValues keeps values: a number is one of eight bytes, and the extensions of entries, which raft does not use, are not kept.
func TestValues(t *testing.T) {
	s, err := ledger.Open(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Set([]byte("k"), []byte("short")); err != nil {
		t.Fatal(err)
	}
	if v, err := s.GetUint64([]byte("k")); !errors.Is(err, ledger.ErrDamaged) {
		t.Errorf("a number of five bytes is %d, %v", v, err)
	}
	if err := s.Set([]byte("k"), nil); err != nil {
		t.Fatal(err)
	}
	if v, err := s.Get([]byte("k")); err != nil || len(v) != 0 {
		t.Errorf("an empty value is %q, %v", v, err)
	}
	l := entry(1)
	l.Extensions = []byte("x")
	if err := s.StoreLog(l); err != nil || string(l.Extensions) != "x" {
		t.Errorf("the caller's entry is %+v, %v", l, err)
	}
	var got raft.Log
	if err := s.GetLog(1, &got); err != nil || got.Extensions != nil || !bytes.Equal(got.Data, l.Data) {
		t.Errorf("got %+v, %v", got, err)
	}
}
