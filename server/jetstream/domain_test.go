package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
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

// TestDomainPermissions: to reach the API or a bucket by the name of the domain takes the permission for what is meant.
func TestDomainPermissions(t *testing.T) {
	s := servertest.Start(t, fmt.Sprintf(`
		jetstream { store_dir: %q, domain: hub, sync: os }
		authorization: { users: [
			{ user: all, password: x }
			{ user: denied, password: x, permissions: { publish: { deny: ["$JS.API.STREAM.DELETE.>", "$KV.B.>"] } } }
			{ user: prefix, password: x, permissions: { publish: "$JS.hub.API.>" } }
			{ user: both, password: x, permissions: { publish: ["$JS.hub.API.>", "$JS.API.>", "$KV.>"] } }
		] }`, t.TempDir()))
	all, err := jetstream.New(servertest.Connect(t, s, nats.UserInfo("all", "x")))
	if err != nil {
		t.Fatal(err)
	}
	kv, err := all.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "B"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		user string
		may  bool
	}{{"denied", false}, {"prefix", false}, {"both", true}} {
		if _, err := all.CreateOrUpdateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
			t.Fatal(err)
		}
		said := make(chan error, 10)
		nc := servertest.Connect(t, s, nats.UserInfo(tt.user, "x"), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { said <- err }))
		for _, subject := range []string{"$JS.hub.API.STREAM.DELETE.S", "$JS.hub.API.$KV.B.of-" + tt.user} {
			if tt.may {
				if _, err := nc.Request(subject, nil, servertest.Patience); err != nil {
					t.Errorf("%s: %s: %v", tt.user, subject, err)
				}
				continue
			}
			if err := nc.Publish(subject, nil); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-said:
				if !errors.Is(err, nats.ErrPermissionViolation) {
					t.Errorf("%s: %s: got %v", tt.user, subject, err)
				}
			case <-time.After(servertest.Patience):
				t.Errorf("%s: %s: no error", tt.user, subject)
			}
		}
		if _, err := all.Stream(t.Context(), "S"); (err != nil) != tt.may {
			t.Errorf("%s: the stream: %v", tt.user, err)
		}
		if _, err := kv.Get(t.Context(), "of-"+tt.user); (err == nil) != tt.may {
			t.Errorf("%s: the key: %v", tt.user, err)
		}
	}
}
