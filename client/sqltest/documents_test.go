package sqltest

import (
	"testing"

	"runnel/client/documenttest"
)

// TestPatternDocument runs what the document of outbox and inbox shows.
func TestPatternDocument(t *testing.T) {
	documenttest.Run(t, "../../docs/patterns/outbox-inbox.md")
}
