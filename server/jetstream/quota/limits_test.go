package quota_test

import (
	"errors"
	"fmt"
	"testing"

	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/quota"
)

// tiers are limits for streams with one and with three replicas.
func tiers() *quota.Limits {
	return &quota.Limits{Tiers: map[int]*quota.Limits{
		1: {MaxMemoryBytes: 10, MaxStoreBytes: 100, MaxStreams: 1, MaxConsumers: -1, MaxAckPending: -1, MaxStoreStreamBytes: 50},
		3: {MaxMemoryBytes: -1, MaxStoreBytes: 300, MaxStreams: -1, MaxConsumers: 3, MaxAckPending: 33, MaxBytesRequired: true},
	}}
}

// code is that of an error of the API, 0 for none.
func code(t *testing.T, err error) config.Code {
	t.Helper()
	var known *api.Error
	if err != nil && !errors.As(err, &known) {
		t.Fatalf("got %v, want an error of the API", err)
	}
	if known == nil {
		return 0
	}
	return config.Code(known.ErrCode)
}

// TestLimitsOf finds the limits of streams by their number of replicas.
func TestLimitsOf(t *testing.T) {
	for _, tt := range []struct {
		name     string
		limits   *quota.Limits
		replicas int
		store    int64
		code     config.Code
	}{
		{"no tiers", quota.Unlimited(), 5, -1, 0},
		{"of one", tiers(), 1, 100, 0},
		{"not said", tiers(), 0, 100, 0},
		{"of three", tiers(), 3, 300, 0},
		{"of none", tiers(), 2, 0, api.NoTier},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.limits.Of(tt.replicas)
			if c := code(t, err); c != tt.code {
				t.Fatalf("got the error %v, want %d", err, tt.code)
			}
			if err == nil && got.MaxBytes(config.FileStorage) != tt.store {
				t.Errorf("got %d bytes, want %d", got.MaxBytes(config.FileStorage), tt.store)
			}
		})
	}
}

// TestCheckStream refuses what no stream of an account may have.
func TestCheckStream(t *testing.T) {
	one, three := tiers().Tiers[1], tiers().Tiers[3]
	for _, tt := range []struct {
		name   string
		limits *quota.Limits
		cfg    config.Stream
		code   config.Code
	}{
		{"no limit of its own", one, config.Stream{}, 0},
		{"as much as may be", one, config.Stream{MaxBytes: 50}, 0},
		{"more", one, config.Stream{MaxBytes: 51}, api.MaxBytesExceeds},
		{"more, in memory", one, config.Stream{MaxBytes: 51, Storage: config.MemoryStorage}, 0},
		{"none where it is needed", three, config.Stream{}, api.MaxBytesRequired},
		{"one where it is needed", three, config.Stream{MaxBytes: 1}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if c := code(t, tt.limits.CheckStream(&tt.cfg)); c != tt.code {
				t.Errorf("got %d, want %d", c, tt.code)
			}
		})
	}
}

// TestShow puts what an account has and may have into the words of the API.
func TestShow(t *testing.T) {
	has := make(quota.ByTier)
	*has.Of(0) = api.Usage{Store: 7, ReservedStore: 8, Streams: 1, Consumers: 2}
	more := quota.ByTier{3: {Store: 30, Memory: 9, ReservedMemory: 3, Streams: 2}, 2: {Streams: 1}}
	has.Add(more)
	has.Add(nil)
	const all = "9 37 3 8 4 2"
	got, none := has.Show(quota.Unlimited())
	if none != nil || got.Limits != api.Unlimited() || figures(&got) != all {
		t.Errorf("without tiers: got %+v, %v", got, none)
	}
	if got, none = has.Show(nil); none != nil || got.Limits != api.Unlimited() {
		t.Errorf("without limits: got %+v, %v", got, none)
	}
	got, by := has.Show(tiers())
	if got.Limits != (api.AccountLimits{}) || figures(&got) != all || len(by) != 2 {
		t.Errorf("with tiers: got %+v, %+v", got, by)
	}
	one, three := by["R1"].Usage, by["R3"].Usage
	if one.Limits.MaxStore != 100 || one.Limits.StoreStreamBytes != 50 || one.Limits.MemoryStreamBytes != -1 || three.Limits.MaxAckPending != 33 {
		t.Errorf("limits of the tiers: got %+v and %+v", one.Limits, three.Limits)
	}
	if got, want := figures(&one), "0 7 0 8 1 2"; got != want {
		t.Errorf("R1: got %s, want %s", got, want)
	}
	if got, want := figures(&three), "9 30 3 0 2 0"; got != want {
		t.Errorf("R3: got %s, want %s", got, want)
	}
}

// figures are those of a usage: memory and storage, the same reserved, streams, consumers.
func figures(u *api.Usage) string {
	return fmt.Sprint(u.Memory, u.Store, u.ReservedMemory, u.ReservedStore, u.Streams, u.Consumers)
}

// TestAddBytes: a sum of sizes never becomes negative.
func TestAddBytes(t *testing.T) {
	const most = 1<<63 - 1
	if a, b, c := quota.AddBytes(1, 2), quota.AddBytes(most, 1), quota.AddBytes(most, most); a != 3 || b != most || c != most {
		t.Errorf("got %d, %d, %d", a, b, c)
	}
}
