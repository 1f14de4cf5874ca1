package main

import (
	"cmp"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"runnel/conf"
)

// flagTLSTimeout is the time for a TLS handshake where no file sets one.
const flagTLSTimeout = 2 * time.Second

// commandLine is what the flags of the server say. Those that set options are
// kept as functions, so that they win over the file at the start and again
// after each reload.
type commandLine struct {
	configFile string
	check      bool   // -t
	version    bool   // -v
	help       bool   // -h
	helpTLS    bool   // --help_tls
	newcomer   bool   // there is not a single argument
	signal     string // what --signal says

	overrides []func(*conf.Options) error
}

// parseCommandLine reads the flags. What is wrong with them is written to
// stderr, with a word on usage.
func parseCommandLine(args []string, stderr io.Writer) (*commandLine, error) {
	c := &commandLine{newcomer: len(args) == 0}
	flags := flag.NewFlagSet("runnel", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprint(stderr, usageText) }
	c.register(flags)
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		err := fmt.Errorf("unrecognized command: %q", flags.Arg(0))
		fmt.Fprintf(stderr, "runnel: %v\n%s", err, usageText)
		return nil, err
	}
	return c, nil
}

// apply sets options as the flags say and checks the whole.
func (c *commandLine) apply(o *conf.Options) error {
	for _, override := range c.overrides {
		if err := override(o); err != nil {
			return err
		}
	}
	return o.Validate()
}

// options reads the config file, or takes the defaults without one, and lets
// the flags have the last word. It is called at the start and again for each
// reload. What is wrong with a file is a conf.Errors.
//
// Who says nothing at all gets a server to look at, with streams. Whoever says
// anything gets what he says and no streams without asking.
func (c *commandLine) options() (*conf.Options, error) {
	o := conf.Defaults()
	if c.newcomer {
		o.JetStream = block("jetstream {}").JetStream
	}
	if c.configFile != "" {
		var err error
		if o, err = conf.ParseFile(c.configFile); err != nil {
			return nil, err
		}
	}
	return o, c.apply(o)
}

// register defines all flags.
func (c *commandLine) register(flags *flag.FlagSet) {
	r := registrar{c, flags}
	// The texts that package flag would show are empty: help.txt has them.
	flags.StringVar(&c.configFile, "c", "", "")
	flags.StringVar(&c.configFile, "config", "", "")
	flags.BoolVar(&c.check, "t", false, "")
	flags.StringVar(&c.signal, "sl", "", "")
	flags.StringVar(&c.signal, "signal", "", "")
	for _, name := range []string{"v", "version"} {
		flags.BoolVar(&c.version, name, false, "")
	}
	for _, name := range []string{"h", "help"} {
		flags.BoolVar(&c.help, name, false, "")
	}
	flags.BoolVar(&c.helpTLS, "help_tls", false, "")
	r.serverFlags()
	r.logFlags()
	r.securityFlags()
	r.clusterFlags()
}

// registrar defines flags that override options.
type registrar struct {
	c     *commandLine
	flags *flag.FlagSet
}

// override keeps a function to be applied to the options, in the order of the
// command line: of two flags for the same thing the last wins.
func (r registrar) override(f func(*conf.Options) error) {
	r.c.overrides = append(r.c.overrides, f)
}

// text defines a flag under several names, separated by blanks.
func (r registrar) text(names string, set func(o *conf.Options, value string)) {
	for name := range strings.FieldsSeq(names) {
		r.flags.Func(name, "", func(value string) error {
			r.override(func(o *conf.Options) error { set(o, value); return nil })
			return nil
		})
	}
}

// number defines a flag whose value is an integer of at least least.
func (r registrar) number(names string, least int, set func(o *conf.Options, value int)) {
	for name := range strings.FieldsSeq(names) {
		r.flags.Func(name, "", func(value string) error {
			n, err := strconv.Atoi(value)
			if err != nil {
				return errors.New("not a whole number")
			}
			if n < least {
				return fmt.Errorf("less than %d", least)
			}
			r.override(func(o *conf.Options) error { set(o, n); return nil })
			return nil
		})
	}
}

// toggle defines a flag that is true when it stands alone.
func (r registrar) toggle(names string, set func(o *conf.Options, on bool)) {
	for name := range strings.FieldsSeq(names) {
		r.flags.BoolFunc(name, "", func(value string) error {
			on, err := strconv.ParseBool(value)
			if err != nil {
				return errors.New("neither true nor false")
			}
			r.override(func(o *conf.Options) error { set(o, on); return nil })
			return nil
		})
	}
}

// serverFlags say where the server listens, what it is called and which files
// it writes.
func (r registrar) serverFlags() {
	r.text("a addr net", func(o *conf.Options, v string) { o.Host = v })
	r.number("p port", -1, func(o *conf.Options, v int) { o.Port = v })
	r.text("n name server_name", func(o *conf.Options, v string) { o.ServerName = v })
	r.text("client_advertise", func(o *conf.Options, v string) { o.ClientAdvertise = v })
	r.text("P pid", func(o *conf.Options, v string) { o.PIDFile = v })
	r.text("ports_file_dir", func(o *conf.Options, v string) { o.PortsFileDir = v })
	r.number("m http_port", -1, func(o *conf.Options, v int) { o.Monitor.Port = v })
	r.number("ms https_port", -1, func(o *conf.Options, v int) { o.Monitor.HTTPSPort = v })
	r.number("profile", -1, func(o *conf.Options, v int) { o.Profile.Port = v })
	r.toggle("js jetstream", func(o *conf.Options, on bool) {
		if o.JetStream == nil && on {
			o.JetStream = block("jetstream {}").JetStream
			o.JetStream.StoreDir = cmp.Or(o.StoreDir, conf.DefaultStoreDir)
		}
		if o.JetStream != nil {
			o.JetStream.Enabled = on
		}
	})
	r.text("sd store_dir", func(o *conf.Options, v string) {
		o.StoreDir = v
		if o.JetStream != nil {
			o.JetStream.StoreDir = v
		}
	})
}

// logFlags say what is logged and where. The short ones combine two or three
// switches; verbose means with the traffic of the system account.
func (r registrar) logFlags() {
	r.text("l log", func(o *conf.Options, v string) { o.Log.File = v })
	r.toggle("T logtime", func(o *conf.Options, on bool) { o.Log.Time = on })
	r.toggle("logtime_utc", func(o *conf.Options, on bool) { o.Log.TimeUTC = on })
	r.toggle("s syslog", func(o *conf.Options, on bool) { o.Log.Syslog = on })
	r.text("r remote_syslog", func(o *conf.Options, v string) { o.Log.RemoteSyslog = v })
	debug := func(o *conf.Options, on bool) { o.Log.Debug = on }
	trace := func(o *conf.Options, on bool) { o.Log.Trace = on }
	verbose := func(o *conf.Options, on bool) { o.Log.Trace, o.Log.TraceVerbose = on, on }
	r.toggle("D debug", debug)
	r.toggle("V trace", trace)
	r.toggle("VV", verbose)
	r.toggle("DV", func(o *conf.Options, on bool) { debug(o, on); trace(o, on) })
	r.toggle("DVV", func(o *conf.Options, on bool) { debug(o, on); verbose(o, on) })
	r.number("log_size_limit", 0, func(o *conf.Options, v int) { o.Log.MaxFileBytes = int64(v) })
	r.number("max_traced_msg_len", 0, func(o *conf.Options, v int) { o.Log.MaxTracedBytes = v })
}

// securityFlags say who may connect. Any flag that TLS needs turns it on, so
// that a forgotten --tls does not leave a server in the clear.
func (r registrar) securityFlags() {
	r.text("user", func(o *conf.Options, v string) { o.Authorization.Username = v })
	r.text("pass", func(o *conf.Options, v string) { o.Authorization.Password = v })
	r.text("auth", func(o *conf.Options, v string) { o.Authorization.Token = v })
	secure := func(o *conf.Options) *conf.TLS {
		if o.TLS == nil {
			o.TLS = &conf.TLS{MinVersion: tls.VersionTLS12, Timeout: flagTLSTimeout}
		}
		return o.TLS
	}
	r.toggle("tls", func(o *conf.Options, on bool) {
		if on {
			secure(o)
		} else {
			o.TLS = nil
		}
	})
	r.toggle("tlsverify", func(o *conf.Options, on bool) { secure(o).Verify = on })
	r.text("tlscert", func(o *conf.Options, v string) { secure(o).CertFile = v })
	r.text("tlskey", func(o *conf.Options, v string) { secure(o).KeyFile = v })
	r.text("tlscacert", func(o *conf.Options, v string) { secure(o).CAFile = v })
}

// clusterFlags join servers. Whether URLs are well formed is checked with the
// flag, what they mean together with the rest of the options.
func (r registrar) clusterFlags() {
	cluster := func(o *conf.Options) *conf.Cluster {
		if o.Cluster == nil {
			o.Cluster = block("cluster {}").Cluster
		}
		return o.Cluster
	}
	r.text("cluster_name", func(o *conf.Options, v string) { cluster(o).Name = v })
	r.text("cluster_advertise", func(o *conf.Options, v string) { cluster(o).Advertise = v })
	r.toggle("no_advertise", func(o *conf.Options, on bool) { cluster(o).NoAdvertise = on })
	r.number("connect_retries", 0, func(o *conf.Options, v int) { cluster(o).ConnectRetries = v })
	r.flags.Func("routes", "", func(value string) error {
		routes := strings.Split(value, ",")
		for i := range routes {
			routes[i] = strings.TrimSpace(routes[i])
			if _, err := parseHostURL(routes[i]); err != nil {
				return err
			}
		}
		r.override(func(o *conf.Options) error { cluster(o).Routes = routes; return nil })
		return nil
	})
	for _, name := range []string{"cluster", "cluster_listen"} {
		r.flags.Func(name, "", func(value string) error {
			address, free := strings.CutSuffix(value, anyPort)
			if free {
				address += ":0" // which a URL can have
			}
			u, err := parseHostURL(address)
			if err != nil {
				return err
			}
			r.override(func(o *conf.Options) error {
				err := listenAt(cluster(o), u)
				if free {
					cluster(o).Port = -1
				}
				return err
			})
			return nil
		})
	}
}

// anyPort is how a URL ends that asks for any port that is free.
const anyPort = ":-1"

// block makes a block of options with its defaults, which only package conf
// knows. The text is one of ours and always parses.
func block(text string) *conf.Options {
	o, err := conf.Parse("command line", []byte(text))
	if err != nil {
		return conf.Defaults()
	}
	return o
}

// parseHostURL reads scheme://[user:password@]host:port.
func parseHostURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("not a URL")
	}
	if u.Scheme == "" || u.Hostname() == "" {
		return nil, errors.New("not a URL of the form nats://host:port")
	}
	return u, nil
}

// listenAt makes a cluster listen where a URL says, and ask for the user and
// password in it.
func listenAt(c *conf.Cluster, u *url.URL) error {
	host, port, err := net.SplitHostPort(u.Host)
	if err != nil {
		return fmt.Errorf("cluster URL %s: %w", u.Redacted(), err)
	}
	c.Host = host
	if c.Port, err = strconv.Atoi(port); err != nil {
		return fmt.Errorf("cluster URL %s: port is not a number", u.Redacted())
	}
	if u.User != nil {
		c.Authorization.Username = u.User.Username()
		c.Authorization.Password, _ = u.User.Password()
	}
	return nil
}
