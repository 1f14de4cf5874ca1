package rigtest

import (
	"fmt"
	"strings"
	"time"
)

// nowhere is what a server tells the others about itself: an address where nobody listens, so that they reach it through
// their proxies only.
const nowhere = "127.0.0.1:1"

// Users that every server knows. Who says nothing is the user of the application.
const (
	// SystemUser and SystemPassword belong to the system account.
	SystemUser, SystemPassword = "sys", "sys"
)

// settings is what the configuration of one server says.
type settings struct {
	name                   string
	client, cluster, http  string   // where it listens, as host:port
	routes                 []string // where it dials the others
	storeDir               string   // empty: no streams
	syncAlways, advertised bool
	pingInterval           time.Duration
	extra                  string
}

// text is the config file. All that matters to a rig is said, so that it does not depend on anybody's defaults.
func (s settings) text() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("server_name: %q", s.name)
	line("listen: %q", s.client)
	line("http: %q", s.http)
	line("lame_duck_grace_period: 100ms")
	line("lame_duck_duration: 30s")
	line("cluster {")
	line("  name: rig")
	line("  listen: %q", s.cluster)
	if !s.advertised {
		line("  advertise: %q", nowhere)
	}
	if s.pingInterval != 0 {
		line("  ping_interval: %q", s.pingInterval)
		line("  ping_max: 2")
	}
	line("  routes: [")
	for _, r := range s.routes {
		line("    \"nats-route://%s\"", r)
	}
	line("  ]")
	line("}")
	enabled := ""
	if s.storeDir != "" {
		enabled = "jetstream: enabled, "
		line("jetstream {")
		line("  store_dir: %q", s.storeDir)
		line("  max_file: 4GB")
		line("  max_mem: 256MB")
		if s.syncAlways {
			line("  sync_interval: always")
		}
		line("}")
	}
	line("accounts {")
	line("  APP { %susers: [ { user: app, password: app } ] }", enabled)
	line("  SYS { users: [ { user: %s, password: %s } ] }", SystemUser, SystemPassword)
	line("}")
	line("system_account: SYS")
	line("no_auth_user: app")
	b.WriteString(s.extra)
	return b.String()
}
