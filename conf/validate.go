package conf

import (
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"runnel/conf/syntax"
)

// Validate checks the rules between keys. [Parse] does it too; whoever changes
// options afterwards, say by command line flags, calls it again. A non-nil
// error is an [Errors].
func (o *Options) Validate() error {
	r := &syntax.Report{}
	o.check(r)
	return r.Errors.AsError()
}

// checker holds what the rules need.
type checker struct {
	*syntax.Report
	o *Options
	// plain counts the passwords in plain text; the first is at plainPath.
	plain     int
	plainPath string
}

// check adds to r whatever is wrong with o.
func (o *Options) check(r *syntax.Report) {
	c := &checker{Report: r, o: o}
	c.server()
	c.limits()
	c.monitor()
	c.tls("tls", o.TLS, true)
	c.webSocket()
	c.cluster()
	c.access()
	c.accounts()
	c.jetStream()
	if c.plain > 0 {
		c.unwise(c.plainPath, "passwords in plain text: %d; bcrypt hashes or nkeys are safer", c.plain)
	}
}

// wrong reports an error about the key with that path.
func (c *checker) wrong(path, format string, args ...any) {
	c.Fail(c.o.position(path), "%s: "+format, append([]any{path}, args...)...)
}

// unwise warns about the key with that path.
func (c *checker) unwise(path, format string, args ...any) {
	c.Warn(c.o.position(path), "%s: "+format, append([]any{path}, args...)...)
}

// port checks a port, which flags may have set.
func (c *checker) port(path string, port int) {
	if port < -1 || port > maxPort {
		c.wrong(path, "the port %d is out of range, it must be between -1 and %d", port, maxPort)
	}
}

// advertised checks an address that others are told: a host, or host:port.
func (c *checker) advertised(path, address string) {
	if address == "" {
		return
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host, port = address, "1"
		if strings.Count(address, ":") == 1 || strings.ContainsAny(address, "[] ") {
			host = ""
		}
	}
	n, err := strconv.Atoi(port)
	if host == "" || err != nil || n < 1 || n > maxPort {
		c.wrong(path, "expected host or host:port, got %q", syntax.Shorten(address))
	}
}

// name checks a name that becomes part of subjects or log lines.
func (c *checker) name(path, name string) {
	if strings.ContainsAny(name, " \t\r\n") {
		c.wrong(path, "the name %q must not contain blanks", syntax.Shorten(name))
	}
}

func (c *checker) server() {
	o := c.o
	c.name("server_name", o.ServerName)
	c.port("port", o.Port)
	c.port("prof_port", o.Profile.Port)
	c.advertised("client_advertise", o.ClientAdvertise)
	const shortest = 30 * time.Second
	if o.LameDuck.Duration < shortest {
		c.wrong("lame_duck_duration", "%s is too short, it must be at least %s", o.LameDuck.Duration, shortest)
	} else if g := o.LameDuck.GracePeriod; g < 0 || g >= o.LameDuck.Duration {
		c.wrong("lame_duck_grace_period", "%s must be less than lame_duck_duration, which is %s", g, o.LameDuck.Duration)
	}
	if o.NoSystemAccount && o.SystemAccount != "" {
		c.wrong("system_account", "no_system_account is set too")
	}
}

func (c *checker) limits() {
	l, v := &c.o.Limits, &c.o.Liveness
	if int64(l.MaxPayloadBytes) > l.MaxPendingBytes {
		c.wrong("max_payload", "%d is more than max_pending, which is %d", l.MaxPayloadBytes, l.MaxPendingBytes)
	}
	const wise = 8 << 20
	if l.MaxPayloadBytes > wise {
		c.unwise("max_payload", "messages over %d bytes slow everything down", wise)
	}
	for _, limit := range []struct {
		path string
		n    int64
	}{
		{"max_payload", int64(l.MaxPayloadBytes)},
		{"max_control_line", int64(l.MaxControlLineBytes)},
		{"ping_max", int64(v.PingMax)},
		{"ping_interval", int64(v.PingInterval)},
		{"write_deadline", int64(v.WriteDeadline)},
	} {
		if limit.n <= 0 {
			c.wrong(limit.path, "it must be more than 0")
		}
	}
}

func (c *checker) monitor() {
	m := &c.o.Monitor
	c.port("http", m.Port)
	c.port("https", m.HTTPSPort)
	if m.Port != 0 && m.HTTPSPort != 0 {
		c.wrong("https", "monitoring is served either by http or by https, not both")
	}
	if m.HTTPSPort != 0 && c.o.TLS == nil {
		c.wrong("https", "it needs a tls block with a certificate")
	}
}

// tls checks a tls block. A listener needs a certificate.
func (c *checker) tls(path string, t *TLS, listener bool) {
	if t == nil {
		return
	}
	if (t.CertFile == "") != (t.KeyFile == "") {
		c.wrong(path, "cert_file and key_file go together, one is missing")
	} else if listener && t.CertFile == "" && len(t.Certificates) == 0 && t.CertStore.Store == "" {
		c.wrong(path, "a listener needs cert_file and key_file")
	}
	for i, pair := range t.Certificates {
		if pair.CertFile == "" || pair.KeyFile == "" {
			c.wrong(indexed(path+".certs", i), "cert_file and key_file go together, one is missing")
		}
	}
	if listener && t.Insecure {
		c.unwise(path+".insecure", "it concerns outgoing connections and does nothing here")
	}
	for _, suite := range t.CipherSuites {
		if isInsecure(suite) && !t.AllowInsecureCipherSuites {
			c.wrong(path+".cipher_suites", "an insecure cipher suite needs allow_insecure_cipher_suites: true")
		}
	}
}

func (c *checker) webSocket() {
	w := c.o.WebSocket
	if w == nil {
		return
	}
	c.port("websocket.port", w.Port)
	c.advertised("websocket.advertise", w.Advertise)
	if w.Port != 0 && w.TLS == nil && !w.NoTLS {
		c.wrong("websocket", "it needs a tls block, or no_tls: true")
	}
	c.tls("websocket.tls", w.TLS, true)
	c.single("websocket.authorization", &w.Authorization)
	for _, origin := range w.AllowedOrigins {
		if u, err := url.Parse(origin); err != nil || u.Host == "" {
			c.wrong("websocket.allowed_origins", "expected an origin like https://example.com, got %q", syntax.Shorten(origin))
		}
	}
	for name, text := range w.Headers {
		if name == "" || strings.ContainsAny(name, " \t\r\n:") || strings.ContainsAny(text, "\r\n") {
			c.wrong(element("websocket.headers", name), "not a header that HTTP can carry")
		}
	}
}

// dedicated checks the accounts that get connections of their own. Those of operator mode are not known here.
func (c *checker) dedicated(n *Cluster) {
	if c.o.Operator.Enabled() {
		return
	}
	known := map[string]bool{globalAccount: true, c.o.systemAccount(): true}
	for i := range c.o.Accounts {
		known[c.o.Accounts[i].Name] = true
	}
	for _, name := range n.Accounts {
		if !known[name] {
			c.wrong("cluster.accounts", "there is no account %q", syntax.Shorten(name))
		}
	}
}

// cluster checks what a server tells and asks of other servers.
func (c *checker) cluster() {
	o := c.o
	if n := o.Cluster; n != nil {
		c.name("cluster.name", n.Name)
		c.port("cluster.port", n.Port)
		c.advertised("cluster.advertise", n.Advertise)
		c.single("cluster.authorization", &n.Authorization)
		if n.Authorization.Token != "" {
			c.wrong("cluster.authorization.token", "servers show one another a user and a password, not a token")
		}
		if n.Port == 0 && len(n.Routes) == 0 {
			c.unwise("cluster", "without listen and without routes this server has no others")
		}
		c.dedicated(n)
		if t := n.Compression.RTTThresholds; len(t) == 0 || len(t) > 3 || !slices.IsSorted(t) {
			c.wrong("cluster.compression.rtt_thresholds", "expected one to three round trip times in ascending order, got %v", t)
		}
		c.tls("cluster.tls", n.TLS, true)
		c.permissions("cluster.permissions", n.Permissions)
	}
	if g := o.Gateway; g != nil {
		c.name("gateway.name", g.Name)
		c.advertised("gateway.advertise", g.Advertise)
		c.tls("gateway.tls", g.TLS, true)
		if g.Name == "" {
			c.wrong("gateway", "it needs a name, that of the cluster")
		} else if o.Cluster != nil && o.Cluster.Name != "" && o.Cluster.Name != g.Name {
			c.wrong("gateway.name", "%q differs from the name of the cluster, %q", g.Name, o.Cluster.Name)
		}
	}
	if n := o.LeafNodes; n != nil {
		c.advertised("leafnodes.advertise", n.Advertise)
		c.tls("leafnodes.tls", n.TLS, n.Port != 0)
		for i := range n.Remotes {
			if len(n.Remotes[i].URLs) == 0 {
				c.wrong(indexed("leafnodes.remotes", i), "it needs a url")
			}
		}
	}
	if m := o.MQTT; m != nil {
		c.tls("mqtt.tls", m.TLS, true)
		c.single("mqtt.authorization", &m.Authorization)
	}
}
