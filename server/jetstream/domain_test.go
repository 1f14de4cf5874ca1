package jetstream_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"runnel/server/servertest"
)

// With a domain, clients reach the API and the buckets by its name too; without one they do not.
func TestDomain(t *testing.T) {
	s := servertest.Start(t, fmt.Sprintf("jetstream { store_dir: %q, domain: hub, sync: os }", t.TempDir()))
	nc := servertest.Connect(t, s)
	ctx, cancel := context.WithTimeout(context.Background(), servertest.Patience)
	defer cancel()
	js, err := jetstream.NewWithDomain(nc, "hub")
	if err != nil {
		t.Fatal(err)
	}
	kv, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "B"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.PutString(ctx, "key", "value"); err != nil {
		t.Fatalf("put through the domain: %v", err)
	}
	e, err := kv.Get(ctx, "key")
	if err != nil || string(e.Value()) != "value" {
		t.Fatalf("get: got %v, %v", e, err)
	}
	info, err := js.AccountInfo(ctx)
	if err != nil || info.Domain != "hub" {
		t.Errorf("account info names the domain %q, %v, want hub", info.Domain, err)
	}
	local, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := local.KeyValue(ctx, "B"); err != nil {
		t.Errorf("without the domain: %v", err)
	}
	other, err := jetstream.NewWithDomain(nc, "other")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.AccountInfo(ctx); err == nil {
		t.Error("a domain that is not ours answers")
	}
}
