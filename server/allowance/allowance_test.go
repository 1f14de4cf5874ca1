package allowance_test

import (
	"reflect"
	"testing"

	"runnel/conf"
	"runnel/server/allowance"
	"runnel/server/jetstream/quota"
	"runnel/server/operator"
)

// TestConfigured takes limits from the options.
func TestConfigured(t *testing.T) {
	o, err := conf.Parse("test.conf", []byte(`
jetstream {}
accounts {
  A { jetstream { max_memory: 1, max_store: 2, max_streams: 3, max_consumers: 4, max_ack_pending: 5, memory_max_stream_bytes: 6, disk_max_stream_bytes: 7, max_bytes_required: true } }
  B {}
}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &quota.Limits{
		MaxMemoryBytes: 1, MaxStoreBytes: 2, MaxStreams: 3, MaxConsumers: 4, MaxAckPending: 5, MaxMemoryStreamBytes: 6, MaxStoreStreamBytes: 7,
		MaxBytesRequired: true,
	}
	if got := allowance.Configured(o, "A"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := allowance.Configured(o, "B"); got != nil {
		t.Errorf("an account without JetStream: got %+v", got)
	}
}

// TestClaimed takes limits from claims, with tiers and without.
func TestClaimed(t *testing.T) {
	if got := allowance.Claimed(nil); got != nil {
		t.Errorf("no JetStream: got %+v", got)
	}
	js := operator.JetStream{
		MaxMemoryBytes: 1, MaxStoreBytes: 2, MaxStreams: 3, MaxConsumers: 4, MaxAckPending: 5, MaxMemoryStreamBytes: 6, MaxStoreStreamBytes: 7,
		MaxBytesRequired: true,
	}
	want := quota.Limits{
		MaxMemoryBytes: 1, MaxStoreBytes: 2, MaxStreams: 3, MaxConsumers: 4, MaxAckPending: 5, MaxMemoryStreamBytes: 6, MaxStoreStreamBytes: 7,
		MaxBytesRequired: true,
	}
	if got := allowance.Claimed(&js); !reflect.DeepEqual(got, &want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	tiered := &operator.JetStream{Tiers: map[int]*operator.JetStream{1: &js, 3: {MaxStoreBytes: 9}}}
	if got := allowance.Claimed(tiered); !reflect.DeepEqual(got, &quota.Limits{Tiers: map[int]*quota.Limits{1: &want, 3: {MaxStoreBytes: 9}}}) {
		t.Errorf("tiers: got %+v", got)
	}
}
