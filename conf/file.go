package conf

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// ParseFile reads and decodes a config file. Its errors are those of [Parse];
// a file that cannot be read gives an [Errors] with one entry too.
func ParseFile(path string) (*Options, error) {
	text, err := readFile(path)
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
	r := &report{}
	root := parseText(r, name, text)
	complete := len(r.errors) == 0
	o := Defaults()
	d := &decoder{report: r, positions: o.positions, elsewhere: elsewhere}
	readKeys(d, "", root, serverKeys, o)
	o.fillIn()
	if complete { // else keys would be missed that are there
		o.check(r)
	}
	if err := r.errors.asError(); err != nil {
		return nil, err
	}
	o.File = name
	o.Digest = digest(root)
	o.Warnings = r.warnings.sorted()
	return o, nil
}

// fillIn puts defaults that depend on other keys. Zero stands for the default
// wherever nothing at all makes no sense.
func (o *Options) fillIn() {
	standard := Defaults()
	o.Host = cmp.Or(o.Host, standard.Host)
	o.Port = cmp.Or(o.Port, standard.Port)
	o.Monitor.BasePath = cmp.Or(o.Monitor.BasePath, standard.Monitor.BasePath)
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
	if o.JetStream != nil {
		o.JetStream.StoreDir = cmp.Or(o.JetStream.StoreDir, o.StoreDir)
		o.JetStream.InfoQueueLimit = cmp.Or(o.JetStream.InfoQueueLimit, o.JetStream.RequestQueueLimit)
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

// digest identifies a config by the JSON of its values. The incumbent does the
// same, so that equal files have equal digests on both.
func digest(root *value) string {
	h := sha256.New()
	// Nothing in a config can fail to encode: see plain.
	_ = json.NewEncoder(h).Encode(root.plain())
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// plain returns v as encoding/json knows it. Of repeated keys the last counts.
func (v *value) plain() any {
	switch v.kind {
	case kindMap:
		m := make(map[string]any, len(v.fields))
		for _, f := range v.fields {
			m[f.key] = f.value.plain()
		}
		return m
	case kindArray:
		a := make([]any, len(v.items))
		for i, item := range v.items {
			a[i] = item.plain()
		}
		return a
	case kindBoolean:
		return v.boolean
	case kindInteger:
		if !v.outOfRange {
			return v.number
		}
	case kindFloat:
		if !math.IsInf(v.float, 0) {
			return v.float
		}
	case kindTime:
		return v.time
	}
	return v.text
}
