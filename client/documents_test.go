package client_test

import (
	"testing"

	"runnel/client/documenttest"
)

// TestPatternDocuments runs what the documents of patterns show. That with a database is run in sqltest.
func TestPatternDocuments(t *testing.T) {
	for _, name := range []string{"work-queue", "fan-out", "request-reply", "keys", "delay", "exactly-once", "dead-letters"} {
		t.Run(name, func(t *testing.T) { documenttest.Run(t, "../docs/patterns/"+name+".md") })
	}
}
