package conf

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"runnel/conf/syntax"
)

// ParseFile reads and decodes a config file. Its errors are those of [Parse];
// a file that cannot be read gives an [Errors] with one entry too.
func ParseFile(path string) (*Options, error) {
	text, err := syntax.ReadFile(path)
	if err != nil {
		return nil, Errors{{File: path, Text: fmt.Sprintf("cannot read the config: %v", err)}}
	}
	o, err := Parse(path, text)
	if err != nil {
		return nil, err
	}
	if w := exposed(path, o); w != nil {
		o.Warnings = append(Errors{*w}, o.Warnings...)
	}
	return o, nil
}

// Parse decodes the text of a config file called name; files that it includes
// are looked for beside that. The options start from [Defaults] and are
// validated. A non-nil error is an [Errors] with all that is wrong, and the
// options are then nil.
func Parse(name string, text []byte) (*Options, error) {
	r := &syntax.Report{}
	root := syntax.Parse(r, name, text)
	complete := len(r.Errors) == 0
	o := Defaults()
	readKeys(newDecoder(r, o), "", root, serverKeys, o)
	o.fillIn()
	if complete { // else keys would be missed that are there
		o.check(r)
	}
	if err := r.Errors.AsError(); err != nil {
		return nil, err
	}
	o.File = name
	o.Digest = root.Digest()
	o.Warnings = r.Warnings.Sorted()
	return o, nil
}

// fillIn puts defaults that depend on other keys. Zero stands for the default
// wherever nothing at all makes no sense.
func (o *Options) fillIn() {
	standard := Defaults()
	o.Host = cmp.Or(o.Host, standard.Host)
	o.Port = cmp.Or(o.Port, standard.Port)
	if !strings.HasPrefix(o.Monitor.BasePath, "/") {
		o.Monitor.BasePath = "/" + o.Monitor.BasePath
	}
	l, std := &o.Limits, standard.Limits
	l.MaxConnections = cmp.Or(l.MaxConnections, std.MaxConnections)
	l.MaxControlLineBytes = cmp.Or(l.MaxControlLineBytes, std.MaxControlLineBytes)
	l.MaxPayloadBytes = cmp.Or(l.MaxPayloadBytes, std.MaxPayloadBytes)
	l.MaxPendingBytes = cmp.Or(l.MaxPendingBytes, std.MaxPendingBytes)
	l.MaxClosedClients = cmp.Or(l.MaxClosedClients, std.MaxClosedClients)
	v, live := &o.Liveness, standard.Liveness
	v.PingInterval = cmp.Or(v.PingInterval, live.PingInterval)
	v.PingMax = cmp.Or(v.PingMax, live.PingMax)
	v.WriteDeadline = cmp.Or(v.WriteDeadline, live.WriteDeadline)
	if j, std := o.JetStream, newJetStream(); j != nil {
		j.StoreDir = cmp.Or(j.StoreDir, o.StoreDir, DefaultStoreDir)
		j.Limits.DefaultMaxConsumers = cmp.Or(j.Limits.DefaultMaxConsumers, std.Limits.DefaultMaxConsumers)
		j.MaxBufferedBytes = cmp.Or(j.MaxBufferedBytes, std.MaxBufferedBytes)
		j.MaxBufferedMessages = cmp.Or(j.MaxBufferedMessages, std.MaxBufferedMessages)
		j.RequestQueueLimit = cmp.Or(j.RequestQueueLimit, std.RequestQueueLimit)
		j.InfoQueueLimit = cmp.Or(j.InfoQueueLimit, j.RequestQueueLimit)
	}
	if n := o.LeafNodes; n != nil && n.Port == 0 && len(n.Remotes) == 0 {
		n.Port = 7422
	}
}

// AuthTimeout returns how long a client may take to present credentials: what
// is configured, or else a second more than the TLS handshake, or 2 s.
func (o *Options) AuthTimeout() time.Duration {
	switch {
	case o.Authorization.Timeout != 0:
		return o.Authorization.Timeout
	case o.TLS != nil:
		return o.TLS.Timeout + time.Second
	}
	return 2 * time.Second
}
