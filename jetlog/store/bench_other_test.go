//go:build !unix

package store_test

import (
	"testing"
	"time"
)

// processorTime is not known here.
func processorTime(*testing.B) time.Duration { return 0 }
