package operator

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"

	"runnel/server/accounts"
)

// exportsWanted is what a Plan asks for: another account by its name, nil when there is none.
type exportsWanted = func(name string) *Account

// Plan is what a server makes of the claims of an account.
type Plan struct {
	// Account is what the accounts of a registry are made of. Its users are not there: they come with JWTs.
	Account accounts.AccountConfig
	// Until is when the plan is to be made again, since an activation token or the account ends; zero for never.
	Until time.Time
	// Refused are imports whose activation token is not good, as errors. They are in Account without approval, so that
	// nothing but an export to everybody serves them.
	Refused []error
}

// Plan works out what the claims of the account mean, now. exporter finds the accounts that it imports from; for one
// that is not found no import is approved. An account shares nothing when its time is over, or has not come. cluster is the name of the server's cluster, which mappings may be for.
func (a *Account) Plan(exporter exportsWanted, cluster string, now time.Time) *Plan {
	c := a.claims
	p := &Plan{Account: accounts.AccountConfig{
		Name: a.Name(),
		NKey: a.Name(),
		Limits: accounts.Limits{
			MaxConnections:   Bound(c.Limits.Conn),
			MaxSubscriptions: Bound(c.Limits.Subs),
			MaxPayload:       Bound(c.Limits.Payload),
			MaxLeafNodes:     Bound(c.Limits.LeafNodeConn),
		},
		Mappings: mappings(c.Mappings, cluster),
	}}
	if err := a.Check(now); err != nil {
		if errors.Is(err, ErrNotYetValid) {
			p.Until = time.Unix(c.NotBefore, 0)
		}
		return p
	}
	p.Until = a.Expires()
	for _, e := range c.Exports {
		p.Account.Exports = append(p.Account.Exports, exportConfig(e))
	}
	for _, i := range c.Imports {
		p.addImport(a, i, exporter, now)
	}
	if t := c.Trace; t != nil && t.Destination != "" {
		sampling := t.Sampling
		if sampling == 0 {
			sampling = 100
		}
		p.Account.Trace = &accounts.TraceConfig{Destination: string(t.Destination), Sampling: sampling}
	}
	return p
}

// Exporters are the names of the accounts that the account imports from.
func (a *Account) Exporters() []string {
	seen := make(map[string]bool)
	for _, i := range a.claims.Imports {
		seen[i.Account] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// Bound translates a limit of a token: -1 is none, 0 allows nothing at all.
func Bound(limit int64) int64 {
	switch {
	case limit < 0:
		return 0
	case limit == 0:
		return accounts.Nothing
	}
	return limit
}

// exportConfig translates an export.
func exportConfig(e *jwt.Export) accounts.ExportConfig {
	out := accounts.ExportConfig{
		Service:              e.IsService(),
		Subject:              string(e.Subject),
		Private:              e.TokenReq,
		AccountTokenPosition: int(e.AccountTokenPosition),
		AllowTrace:           e.AllowTrace,
	}
	if !out.Service {
		return out
	}
	switch {
	case e.IsStreamResponse():
		out.Response = accounts.ResponseStream
	case e.IsChunkedResponse():
		out.Response = accounts.ResponseChunked
	}
	out.Threshold = e.ResponseThreshold
	if l := e.Latency; l != nil {
		out.Latency = &accounts.LatencyConfig{Subject: string(l.Results), Sampling: int(l.Sampling)}
	}
	return out
}

// addImport translates an import. Tokens write it down in two ways: with a local subject, or, the older one, with the
// prefix of a stream or the subject of a service at its exporter.
func (p *Plan) addImport(a *Account, i *jwt.Import, exporter exportsWanted, now time.Time) {
	out := accounts.ImportConfig{
		Service:    i.IsService(),
		Account:    i.Account,
		Subject:    string(i.Subject),
		To:         string(i.LocalSubject),
		Share:      i.Share && i.IsService(),
		AllowTrace: i.AllowTrace,
	}
	switch to := i.GetTo(); {
	case out.To != "" || to == "":
	case out.Service:
		out.Subject, out.To = to, out.Subject
	default:
		out.To = strings.TrimSuffix(to, ".") + "." + out.Subject
	}
	if i.Token != "" {
		until, err := a.activation(i, out.Subject, exporter(i.Account), now)
		out.Approved = err == nil
		if err != nil {
			p.Refused = append(p.Refused, err)
		}
		p.Until = earlier(p.Until, until)
	}
	p.Account.Imports = append(p.Account.Imports, out)
}

// mappings translates the mappings for servers of that cluster. Their order in the token is lost, so they come sorted.
func mappings(m jwt.Mapping, cluster string) []accounts.MappingConfig {
	var all []accounts.MappingConfig
	for _, source := range slices.Sorted(maps.Keys(m)) {
		out := accounts.MappingConfig{Source: string(source)}
		for _, d := range m[source] {
			if d.Cluster != "" && d.Cluster != cluster {
				continue
			}
			out.Destinations = append(out.Destinations, accounts.MappingDestination{
				Subject: string(d.Subject), Weight: int(d.GetWeight()),
			})
		}
		if len(out.Destinations) > 0 {
			all = append(all, out)
		}
	}
	return all
}

// JetStream is what an account may store. -1 is no limit.
type JetStream struct {
	MaxMemoryBytes, MaxStoreBytes             int64
	MaxStreams, MaxConsumers, MaxAckPending   int64
	MaxMemoryStreamBytes, MaxStoreStreamBytes int64
	// MaxBytesRequired asks that every stream has max_bytes.
	MaxBytesRequired bool
	// Tiers are the limits for streams of one number of replicas each. If there are some the rest is zero.
	Tiers map[int]*JetStream
}

// JetStream tells what the account may store, nil when it has no JetStream.
func (a *Account) JetStream() *JetStream {
	l := &a.claims.Limits
	if !l.IsJSEnabled() {
		return nil
	}
	if len(l.JetStreamTieredLimits) == 0 {
		return jetStream(&l.JetStreamLimits)
	}
	all := &JetStream{Tiers: make(map[int]*JetStream)}
	for name, tier := range l.JetStreamTieredLimits {
		// A tier of another name is of no streams.
		if replicas, err := strconv.Atoi(strings.TrimPrefix(name, "R")); err == nil && replicas > 0 {
			all.Tiers[replicas] = jetStream(&tier)
		}
	}
	return all
}

// jetStream translates limits, of an account or of a tier.
func jetStream(js *jwt.JetStreamLimits) *JetStream {
	return &JetStream{
		MaxMemoryBytes:       js.MemoryStorage,
		MaxStoreBytes:        js.DiskStorage,
		MaxStreams:           unlessZero(js.Streams),
		MaxConsumers:         unlessZero(js.Consumer),
		MaxAckPending:        unlessZero(js.MaxAckPending),
		MaxMemoryStreamBytes: unlessZero(js.MemoryMaxStreamBytes),
		MaxStoreStreamBytes:  unlessZero(js.DiskMaxStreamBytes),
		MaxBytesRequired:     js.MaxBytesRequired,
	}
}

// unlessZero is the limit, where tokens write 0 for none.
func unlessZero(limit int64) int64 {
	if limit == 0 {
		return -1
	}
	return limit
}
