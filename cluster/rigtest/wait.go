package rigtest

import (
	"testing"
	"time"
)

// Patience is how long the functions of this package wait for what must come. Only a failure uses it up. It is longer
// than any election takes on a machine that is busy with other tests.
const Patience = 60 * time.Second

// again is the pause between two looks at a condition.
const again = 20 * time.Millisecond

// Eventually waits until a condition holds that servers bring about, and ends the test when it does not. what completes
// "waited in vain for", and condition says what is there instead.
func Eventually(t testing.TB, what string, condition func() error) {
	t.Helper()
	if err := eventually(condition); err != nil {
		t.Fatalf("waited in vain for %s: %v", what, err)
	}
}

// eventually returns what a condition still complains about at the end.
func eventually(condition func() error) error {
	deadline := time.NewTimer(Patience)
	defer deadline.Stop()
	ticker := time.NewTicker(again)
	defer ticker.Stop()
	for {
		err := condition()
		if err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-deadline.C:
			return err
		}
	}
}
