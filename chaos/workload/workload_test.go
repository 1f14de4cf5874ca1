package workload_test

import (
	"testing"

	"runnel/chaos/history"
	"runnel/chaos/workload"
)

// did is what each workload must have done with success, so that a check that finds nothing means something.
var did = map[string][]string{
	"W1":  {history.Publish, history.Final, history.Drained},
	"W2":  {history.Publish, history.Read, history.Final, history.Drained},
	"W3":  {history.Publish, history.Fetch, history.Ack, history.Drained},
	"W4":  {history.Publish, history.Final, history.Drained},
	"W5":  {history.Swap, history.Get, history.StaleGet, history.Final, history.Drained},
	"W6":  {history.Put, history.WatchStart, history.Watch, history.WatchEnd, history.Final, history.Drained},
	"W7":  {history.Publish, history.Fetch, history.Ack, history.Final, history.Drained},
	"W8":  {history.Add, history.Commit, history.Final, history.Drained},
	"W9":  {history.Publish, history.Fetch, history.Ack, history.Final, history.Drained},
	"W10": {history.CreateStream, history.Publish, history.Exists, history.Listed, history.Final, history.Drained},
	"W11": {history.Publish, history.Fetch, history.Ack, history.Final, history.Redrive, history.Drained},
	"W13": {history.Publish, history.Fetch, history.Final, history.Drained},
	"W14": {history.Publish, history.Fetch, history.Ack, history.Erase, history.Final, history.Drained},
}

// messages is how many each workload has to store to be of use.
var messages = map[string]int{
	"W1": 200, "W2": 200, "W3": 150, "W4": 100, "W5": 100, "W6": 200, "W7": 100, "W8": 50, "W9": 200, "W10": 100, "W11": 100, "W13": 100, "W14": 100,
}

func TestWithoutFaults(t *testing.T) {
	for _, name := range workload.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config(alone(t))
			ops := run(t, name, cfg, plan{enough: stored(messages[name])})
			t.Log(summary(ops))
			clean(t, findings(name, ops, cfg))
			for _, kind := range did[name] {
				if count(ops, kind, history.OK) == 0 {
					t.Errorf("there is no %s", kind)
				}
			}
		})
	}
}
