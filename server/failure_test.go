package server_test

import (
	"errors"
	"fmt"
	"testing"

	"runnel/server/servertest"
)

// A server whose disk did not keep what it was given ends, and says why.
func TestStoreFails(t *testing.T) {
	s := servertest.Start(t, fmt.Sprintf("jetstream { store_dir: %q }", t.TempDir()))
	if err := s.Err(); err != nil {
		t.Fatalf("a server that works has the error %v", err)
	}
	broken := errors.New("the disk is broken")
	go s.StoreFailed(broken)
	<-s.Done()
	if err := s.Err(); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}
