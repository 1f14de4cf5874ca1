package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
)

// What the configuration of the server must have for tenants, as tenantsFile has it: two users, each with its
// name as its password, and a subject of the publisher's account that the other account knows by another name.
const (
	tenantsFile     = "docs/examples/tenants.conf"
	publishingUser  = "bench-publisher"
	subscribingUser = "bench-subscriber"
	importedSubject = "imported" // for what is published as DefaultSubject
	probeToken      = ".probe"
)

// errNotCrossed is why a server without mapping or import cannot run tenants.
var errNotCrossed = errors.New("what " + publishingUser + " publishes does not reach " + subscribingUser)

// tenantScenarios are those that need a configuration of the server.
func tenantScenarios() []Scenario {
	return []Scenario{{
		Name: "tenants", Explanation: "pubsub between two accounts: the publisher's permissions, a mapping of its subject and an import of the stream lie in between. " +
			"Start the server with -c " + tenantsFile + ".",
		Variants: sizes(Params{Publishers: 1, Subscribers: 1}, 16, 128, 1<<10, 8<<10, 32<<10),
		load:     1e6, fan: toSubscribers, label: bySize, run: runTenants, advise: adviseTenants,
	}}
}

// runTenants is runPubSub from one account to another.
func runTenants(ctx context.Context, s *session) error {
	if s.target.Subject != DefaultSubject {
		return fmt.Errorf("the subjects of tenants are those of %s: leave --subject %s out", tenantsFile, s.target.Subject)
	}
	imported := importedSubject + s.prefix[len(DefaultSubject):]
	t := pubSub(s, nil)
	for _, group := range t.groups {
		group[0].pattern = imported
	}
	t.publishing = []nats.Option{nats.UserInfo(publishingUser, publishingUser)}
	t.listening = []nats.Option{nats.UserInfo(subscribingUser, subscribingUser)}
	t.ready = func(ctx context.Context, f *flow) error {
		return f.crosses(ctx, s.prefix+probeToken, imported+probeToken)
	}
	return runTopology(ctx, s, t)
}

// crosses sends one message ahead of the load, so that a server on which none would arrive is told from one
// that loses them.
func (f *flow) crosses(ctx context.Context, from, to string) error {
	publisher, subscriber := f.publishers[0].conn, f.subConns[0]
	sub, err := subscriber.SubscribeSync(to)
	if err != nil {
		return fmt.Errorf("subscribe to %s: %w", to, err)
	}
	if err := f.flush(ctx, subscriber); err != nil {
		return err
	}
	if err := publisher.Publish(from, nil); err != nil {
		return fmt.Errorf("publish to %s: %w", from, err)
	}
	for _, nc := range []*nats.Conn{publisher, subscriber} {
		if err := f.flush(ctx, nc); err != nil {
			return err
		}
		if err := nc.LastError(); err != nil {
			return err // a violation of permissions, which is also the reason why nothing comes
		}
	}
	if came, _, err := sub.Pending(); err != nil || came == 0 {
		return errors.Join(errNotCrossed, err)
	}
	return sub.Unsubscribe()
}

// adviseTenants says what to do about a server that has not the configuration which tenants needs.
func adviseTenants(err error) error {
	for _, missing := range []error{nats.ErrAuthorization, nats.ErrPermissionViolation, errNotCrossed} {
		if errors.Is(err, missing) {
			return fmt.Errorf("%w: start the server with the accounts of tenants, as in `runnel -c %s`", err, tenantsFile)
		}
	}
	return err
}
