package process

import (
	"fmt"
	"strings"
	"time"
)

// nowhere is what a hidden server tells the others about itself: an address where nobody listens.
const nowhere = "127.0.0.1:1"

// Users that every server knows. Who gives no name is the user of the application, [AppUser].
const (
	// AppUser and AppPassword belong to the account of the application, which has streams.
	AppUser, AppPassword = "app", "app"
	// SystemUser and SystemPassword belong to the system account.
	SystemUser, SystemPassword = "sys", "sys"
)

// Config is what the configuration of one server says. Addresses are host:port.
type Config struct {
	Name string

	Client          string // where it listens for clients
	ClientAdvertise string // what it tells them about itself; Client when empty
	Monitor         string // where it listens for who looks at the pages of the monitoring

	Cluster      string        // the name of the cluster; empty: the server is alone, and what follows means nothing
	Peer         string        // where it listens for other servers
	Hidden       bool          // it tells the others an address where nobody listens, so that only proxies lead to it
	Routes       []string      // where it dials the others
	PingInterval time.Duration // between pings to servers, of which the third without an answer ends a route; its default when zero

	StoreDir   string   // empty: no streams
	SyncAlways bool     // it writes to the disk before it acknowledges; what the program does by itself when false
	Tags       []string // for the placement of streams

	Extra string // further lines
}

// Text is the config file for a program of some kind. All that matters is said, so that nothing else depends on anybody's
// defaults.
func (c Config) Text(d Dialect) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("server_name: %q", c.Name)
	line("listen: %q", c.Client)
	if c.ClientAdvertise != "" {
		line("client_advertise: %q", c.ClientAdvertise)
	}
	line("http: %q", c.Monitor)
	if len(c.Tags) > 0 {
		line("server_tags: [%s]", quoted(c.Tags))
	}
	line("lame_duck_grace_period: 100ms")
	line("lame_duck_duration: 30s")
	if c.Cluster != "" {
		b.WriteString(c.cluster(d))
	}
	enabled := ""
	if c.StoreDir != "" {
		enabled = "jetstream: enabled, "
		line("jetstream {")
		line("  store_dir: %q", c.StoreDir)
		line("  max_file: 4GB")
		line("  max_mem: 256MB")
		if c.SyncAlways {
			line("  sync_interval: always")
		}
		line("}")
	}
	line("accounts {")
	line("  APP { %susers: [ { user: %s, password: %s } ] }", enabled, AppUser, AppPassword)
	line("  SYS { users: [ { user: %s, password: %s } ] }", SystemUser, SystemPassword)
	line("}")
	line("system_account: SYS")
	line("no_auth_user: %s", AppUser)
	b.WriteString(c.Extra)
	return b.String()
}

// cluster is the block about other servers.
func (c Config) cluster(d Dialect) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("cluster {")
	line("  name: %q", c.Cluster)
	line("  listen: %q", c.Peer)
	if c.Hidden {
		line("  advertise: %q", nowhere)
	}
	if c.PingInterval != 0 {
		line("  ping_interval: %q", c.PingInterval)
		line("  ping_max: 2")
	}
	var routes []string
	for _, r := range c.Routes {
		routes = append(routes, "nats-route://"+r)
	}
	if d == Incumbent && len(routes) > 0 {
		// It takes the number of its routes for that of the servers, as all of them commonly have the same list.
		routes = append(routes, "nats-route://"+c.Peer)
	}
	line("  routes: [%s]", quoted(routes))
	line("}")
	return b.String()
}

// quoted is a list of texts as a config file has it.
func quoted(texts []string) string {
	var all []string
	for _, text := range texts {
		all = append(all, fmt.Sprintf("%q", text))
	}
	return strings.Join(all, ", ")
}
