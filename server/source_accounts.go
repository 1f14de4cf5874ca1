package server

import (
	"runnel/server/accounts"
	"runnel/server/monitor"
)

// Accounts implements monitor.Source.
func (src source) Accounts() []monitor.Account {
	var all []monitor.Account
	for a := range src.accountsNamed("") {
		all = append(all, src.s.accountFigures(a))
	}
	return all
}

// Account implements monitor.Source.
func (src source) Account(name string) (monitor.Account, bool) {
	a := src.s.state.Load().policy.Account(name)
	if a == nil {
		return monitor.Account{}, false
	}
	return src.s.accountFigures(a), true
}

// accountFigures counts from the account's view: what its clients were sent, and what was received from them.
func (s *Server) accountFigures(a *accounts.Account) monitor.Account {
	t := &a.Traffic
	return monitor.Account{
		Name:             a.Name(),
		NameTag:          s.labelOf(a),
		Connections:      int(a.Connections()),
		TotalConnections: int(a.Connections()),
		Subscriptions:    a.Interest().Len(),
		Sent:             monitor.AccountTraffic{Traffic: monitor.Traffic{Msgs: t.OutMsgs.Load(), Bytes: t.OutBytes.Load()}},
		Received:         monitor.AccountTraffic{Traffic: monitor.Traffic{Msgs: t.InMsgs.Load(), Bytes: t.InBytes.Load()}},
		SlowConsumers:    t.SlowConsumers.Load(),
	}
}

// AccountDetail implements monitor.Source.
func (src source) AccountDetail(name string) (monitor.AccountDetail, bool) {
	st := src.s.state.Load()
	a := st.policy.Account(name)
	if a == nil {
		return monitor.AccountDetail{}, false
	}
	stats, shared := src.SubscriptionStats(name), a.Shared()
	out := monitor.AccountDetail{
		Name:              name,
		NameTag:           name,
		UpdateTime:        st.loaded.UTC(),
		IsSystem:          a == st.policy.System(),
		Complete:          true,
		Connections:       int(a.Connections()),
		Subscriptions:     a.Interest().Len(),
		Limits:            shownLimits(a.Limits()),
		Mappings:          shownMappings(shared.Mappings),
		Exports:           shownExports(shared.Exports),
		Imports:           shownImports(shared.Imports),
		SubscriptionStats: &stats,
	}
	src.s.describeClaims(&out)
	return out, true
}

// shownLimits are limits as /accountz has them, nil for none.
func shownLimits(l accounts.Limits) *monitor.AccountLimits {
	show := func(most int64) *int64 {
		switch {
		case most == accounts.Nothing:
			return new(int64)
		case most <= 0:
			return nil
		}
		return &most
	}
	out := monitor.AccountLimits{
		MaxConnections: show(l.MaxConnections), MaxLeafNodes: show(l.MaxLeafNodes),
		MaxSubscriptions: show(l.MaxSubscriptions), MaxPayload: show(l.MaxPayload),
	}
	if out == (monitor.AccountLimits{}) {
		return nil
	}
	return &out
}

// shownMappings are mappings as /accountz has them.
func shownMappings(list []accounts.MappingConfig) map[string][]monitor.Mapping {
	if len(list) == 0 {
		return nil
	}
	all := make(map[string][]monitor.Mapping, len(list))
	for i := range list {
		for _, d := range list[i].Destinations {
			all[list[i].Source] = append(all[list[i].Source], monitor.Mapping{Subject: d.Subject, Weight: d.Weight})
		}
	}
	return all
}

// shownExports are exports as /accountz has them.
func shownExports(list []accounts.ExportConfig) []monitor.Export {
	all := make([]monitor.Export, 0, len(list))
	for i := range list {
		e := &list[i]
		shown := monitor.Export{
			Subject: e.Subject, Type: sharedType(e.Service), ApprovedAccounts: e.Accounts, TokenRequired: e.Private,
			TokenPosition: e.AccountTokenPosition, Latency: shownLatency(e.Latency),
		}
		if e.Service {
			shown.ResponseType = [...]string{"Singleton", "Streamed", "Chunked"}[e.Response]
		}
		all = append(all, shown)
	}
	return all
}

// shownImports are imports as /accountz has them.
func shownImports(list []accounts.Imported) []monitor.Import {
	all := make([]monitor.Import, 0, len(list))
	for i := range list {
		m := &list[i]
		shown := monitor.Import{
			Subject: m.Subject, Account: m.Account, LocalSubject: m.Local, Type: sharedType(m.Service), Invalid: !m.Valid,
			Share: m.Share, Latency: shownLatency(m.Latency),
		}
		if m.Service {
			shown.To = m.Local
		}
		all = append(all, shown)
	}
	return all
}

func sharedType(service bool) string {
	if service {
		return "service"
	}
	return "stream"
}

func shownLatency(l *accounts.LatencyConfig) *monitor.Latency {
	if l == nil {
		return nil
	}
	return &monitor.Latency{Sampling: l.Sampling, Results: l.Subject}
}
