// Package sharing turns what the options say about exports, imports, mappings and traces of accounts into what package
// accounts compiles.
package sharing

import (
	"slices"

	"runnel/conf"
	"runnel/server/accounts"
)

// Configure adds to cfg what an account of the options shares with others, rewrites and has traced.
func Configure(o *conf.Options, a *conf.Account, cfg *accounts.AccountConfig) {
	cfg.NKey = a.NKey
	for i := range a.Exports {
		cfg.Exports = append(cfg.Exports, exportConfig(&a.Exports[i]))
	}
	for i := range a.Imports {
		cfg.Imports = append(cfg.Imports, importConfig(&a.Imports[i]))
	}
	cfg.Mappings = Mappings(o, a.Mappings)
	if t := a.MessageTrace; t != nil {
		cfg.Trace = &accounts.TraceConfig{Destination: t.Destination, Sampling: t.Sampling}
	}
}

// exportConfig translates an export. Response types were checked when the file was read.
func exportConfig(e *conf.Export) accounts.ExportConfig {
	out := accounts.ExportConfig{
		Service:              e.Service,
		Subject:              e.Subject,
		Accounts:             e.Accounts,
		AccountTokenPosition: e.AccountTokenPosition,
		AllowTrace:           e.AllowTrace,
	}
	if e.Latency != nil {
		out.Latency = &accounts.LatencyConfig{Subject: e.Latency.Subject, Sampling: e.Latency.Sampling}
	}
	if !e.Service {
		return out
	}
	out.Threshold = e.ResponseThreshold
	switch e.ResponseType {
	case "stream":
		out.Response = accounts.ResponseStream
	case "chunked":
		out.Response = accounts.ResponseChunked
	}
	return out
}

// importConfig translates an import. The prefix of a stream is put before its subject.
func importConfig(i *conf.Import) accounts.ImportConfig {
	to := i.To
	if i.Prefix != "" {
		to = i.Prefix + "." + i.Subject
	}
	return accounts.ImportConfig{
		Service:    i.Service,
		Account:    i.Account,
		Subject:    i.Subject,
		To:         to,
		Share:      i.Share,
		AllowTrace: i.AllowTrace,
	}
}

// Mappings translates mappings. Destinations of the server's own cluster take the place of those of
// none; those of other clusters are left out.
func Mappings(o *conf.Options, list []conf.Mapping) []accounts.MappingConfig {
	own := ""
	if o.Cluster != nil {
		own = o.Cluster.Name
	}
	var out []accounts.MappingConfig
	for i := range list {
		cluster := ""
		if slices.ContainsFunc(list[i].Destinations, func(d conf.MappingDestination) bool { return d.Cluster == own }) {
			cluster = own
		}
		m := accounts.MappingConfig{Source: list[i].Source}
		for _, d := range list[i].Destinations {
			if d.Cluster == cluster {
				m.Destinations = append(m.Destinations, accounts.MappingDestination{Subject: d.Subject, Weight: d.Weight})
			}
		}
		if len(m.Destinations) > 0 {
			out = append(out, m)
		}
	}
	return out
}
