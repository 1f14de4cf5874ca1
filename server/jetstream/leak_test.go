package jetstream_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"

	"runnel/server/servertest"
)

// subscriptionsOf returns how many subscriptions the server has.
func subscriptionsOf(t *testing.T, system *nats.Conn) uint64 {
	t.Helper()
	m, err := system.Request("$SYS.REQ.SERVER.PING.VARZ", nil, servertest.Patience)
	if err != nil {
		t.Fatal(err)
	}
	var varz struct {
		Data struct {
			Subscriptions uint64
		}
	}
	if err := json.Unmarshal(m.Data, &varz); err != nil || varz.Data.Subscriptions == 0 {
		t.Fatalf("%v: %s", err, m.Data)
	}
	return varz.Data.Subscriptions
}

const twoAccounts = `
	accounts { A { users: [{user: a, password: a}], jetstream: enabled }, SYS { users: [{user: s, password: s}] } }
	system_account: SYS`

// TestNothingLeaks makes streams and consumers of every kind, uses them and deletes them again, over and over: nothing
// of them stays.
func TestNothingLeaks(t *testing.T) {
	rounds := 700
	if testing.Short() {
		rounds = 50
	}
	s := servertest.Start(t, fmt.Sprintf("jetstream { store_dir: %q, sync: os }\n%s", t.TempDir(), twoAccounts))
	system := servertest.Connect(t, s, nats.UserInfo("s", "s"))
	nc := servertest.Connect(t, s, nats.UserInfo("a", "a"))
	for _, inbox := range []string{"inbox", "deliver.>"} {
		if _, err := nc.Subscribe(inbox, func(*nats.Msg) {}); err != nil {
			t.Fatal(err)
		}
	}
	round := func(i int) error {
		name := fmt.Sprintf("s%d", i)
		for _, step := range []struct{ subject, body string }{
			{"$JS.API.STREAM.CREATE." + name, fmt.Sprintf(
				`{"name":%q,"subjects":["%s.>"],"max_age":600000000000,"allow_msg_ttl":true,"retention":%q,"storage":%q}`,
				name, name, []string{"limits", "interest", "workqueue"}[i%3], []string{"file", "memory"}[i%2])},
			{"$JS.API.CONSUMER.CREATE." + name + ".pull", fmt.Sprintf(
				`{"stream_name":%q,"config":{"name":"pull","durable_name":"pull","ack_policy":"explicit","filter_subject":"%s.a"}}`, name, name)},
			{"$JS.API.CONSUMER.CREATE." + name + ".push", fmt.Sprintf(
				`{"stream_name":%q,"config":{"name":"push","deliver_subject":"deliver.%s","idle_heartbeat":60000000000,"flow_control":true,"ack_policy":"explicit","filter_subject":"%s.b"}}`, name, name, name)},
			{name + ".a", ""},
			{name + ".b", ""},
		} {
			m, err := nc.Request(step.subject, []byte(step.body), servertest.Patience)
			if err != nil {
				return fmt.Errorf("%s: %w", step.subject, err)
			}
			var refused struct{ Error *nats.APIError }
			if err := json.Unmarshal(m.Data, &refused); err != nil || refused.Error != nil {
				return fmt.Errorf("%s %s: %s", step.subject, step.body, m.Data)
			}
		}
		// The first message comes and waits to be acknowledged; the second request waits for good.
		for range 2 {
			if err := nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+name+".pull", "inbox", []byte(`{"batch":1,"expires":600000000000}`)); err != nil {
				return err
			}
		}
		if i%2 == 0 {
			if err := ask(nc, "CONSUMER.DELETE."+name+".pull", nil, nil); err != nil {
				return err
			}
		}
		return ask(nc, "STREAM.DELETE."+name, nil, nil)
	}
	many(t, rounds, round) // fills the caches, which have bounds
	before, subscriptions := weigh(), subscriptionsOf(t, system)
	for range 2 {
		many(t, rounds, round)
	}
	servertest.Eventually(t, "as many subscriptions as before", func() bool { return subscriptionsOf(t, system) == subscriptions })
	servertest.Eventually(t, "as many goroutines as before", func() bool { return weigh().goroutines <= before.goroutines+inFlight })
	// A stream with two consumers takes some ten kilobytes, so all would be twice as much as is allowed. The caches of the engine
	// remember some for a while: how many rounds there are makes no difference to that.
	const most = 8 << 20
	var after burden
	servertest.Eventually(t, "as much memory as before", func() bool {
		after = weigh()
		return after.heap-before.heap < most
	})
	t.Logf("before %+v, after %+v", before, after)
}

// TestAccountsComeAndGo removes an account that has streams, and gives it back: they rest meanwhile, and nothing of them
// is lost.
func TestAccountsComeAndGo(t *testing.T) {
	dir := t.TempDir()
	config := func(accounts string) string {
		return fmt.Sprintf("jetstream { store_dir: %q }\nsystem_account: SYS\naccounts { SYS { users: [{user: s, password: s}] }, %s }", dir, accounts)
	}
	const both = `A { users: [{user: a, password: a}], jetstream: enabled }, B { users: [{user: b, password: b}], jetstream: enabled }`
	const one = `B { users: [{user: b, password: b}], jetstream: enabled }`
	const off = `A { users: [{user: a, password: a}] }, B { users: [{user: b, password: b}], jetstream: enabled }`
	s := servertest.Start(t, config(both))
	system := servertest.Connect(t, s, nats.UserInfo("s", "s"))
	b := &before{t, servertest.Connect(t, s, nats.UserInfo("b", "b"))}
	b.stream("s", `"max_msgs":10`)
	fill := func() map[string]string {
		a := &before{t, servertest.Connect(t, s, nats.UserInfo("a", "a"))}
		a.stream("s", `"max_msgs":10`)
		a.consumer("s", "c", `"ack_wait":3600000000000`)
		a.publish("s.a", "1")
		a.publish("s.a", "2")
		a.pull("s", "c", `{"batch":2}`, 2)
		all := everything(t, a.nc)
		a.nc.Close()
		return all
	}
	want := fill()
	var resting uint64
	for range 3 {
		for _, without := range []string{one, off} {
			if _, err := s.Reload(servertest.Options(t, config(without))); err != nil {
				t.Fatal(err)
			}
			b.publish("s.b", "while the other account rests")
			if _, err := s.Reload(servertest.Options(t, config(both))); err != nil {
				t.Fatal(err)
			}
			a := servertest.Connect(t, s, nats.UserInfo("a", "a"))
			if got := everything(t, a); len(got) != len(want) || got["s"] != want["s"] || got["s.c"] != want["s.c"] {
				t.Fatalf("got %v, want %v", got, want)
			}
			n := subscriptionsOf(t, system)
			if resting == 0 {
				resting = n
			}
			a.Close()
			if n != resting {
				t.Errorf("there are %d subscriptions, were %d", n, resting)
			}
		}
	}
}
