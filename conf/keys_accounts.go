package conf

import "time"

// unlimited is the default of account limits.
const unlimited = -1

var accountKeys = []key[Account]{
	row("nkey", reloadInherit, "Public key of the account.",
		func(a *Account) slot { return text(&a.NKey) }),
	row("users", reloadInherit, "Users of the account.",
		func(a *Account) slot { return blocks(&a.Users, userKeys, zero[User], (*User).Name) }),
	row("default_permissions", reloadInherit, "Permissions of users without their own.",
		func(a *Account) slot { return block(&a.DefaultPermissions, permissionsKeys, zero[Permissions]) }),
	row("limits", reloadInherit, "Limits of the account.",
		func(a *Account) slot { return part(&a.Limits, accountLimitsKeys, newAccountLimits) }),
	row("jetstream", reloadInherit, "Let the account use JetStream, within these limits.",
		func(a *Account) slot {
			return block(&a.JetStream, accountJetStreamKeys, newAccountJetStream).or("a boolean", readShortAccountJetStream)
		}),
	row("exports", reloadInherit, "Streams and services that other accounts may import.",
		func(a *Account) slot { return blocks(&a.Exports, exportKeys, newExport, nil) }),
	row("imports", reloadInherit, "Exports of other accounts to use here.",
		func(a *Account) slot { return blocks(&a.Imports, importKeys, zero[Import], nil) }),
	row("mappings maps", reloadInherit, "How subjects of publishes are rewritten.",
		func(a *Account) slot { return mappings(&a.Mappings) }),
	row("msg_trace trace_dest", reloadInherit, "Subject that traces of messages with a traceparent header go to.",
		func(a *Account) slot {
			return block(&a.MessageTrace, messageTraceKeys, newMessageTrace).or("a subject", readShortMessageTrace)
		}),
}

func newAccount(name string) *Account {
	return &Account{Name: name, Limits: *newAccountLimits()}
}

func accountID(a *Account) string { return a.Name }

var accountLimitsKeys = []key[AccountLimits]{
	row("max_connections max_conn", reloadInherit, "Connections of the account, -1 for no limit.",
		func(l *AccountLimits) slot { return count(&l.MaxConnections, -1, maxCount) }),
	row("max_subscriptions max_subs", reloadInherit, "Subscriptions of the account, -1 for no limit.",
		func(l *AccountLimits) slot { return count(&l.MaxSubscriptions, -1, maxCount) }),
	row("max_payload max_pay", reloadInherit, "Largest message with its headers, -1 for that of the server.",
		func(l *AccountLimits) slot { return size(&l.MaxPayloadBytes, -1, maxCount) }),
	row("max_leafnodes max_leafs", reloadInherit, "Leaf nodes of the account, -1 for no limit.",
		func(l *AccountLimits) slot { return count(&l.MaxLeafNodes, -1, maxCount) }),
}

func newAccountLimits() *AccountLimits {
	return &AccountLimits{unlimited, unlimited, unlimited, unlimited}
}

var exportKeys = []key[Export]{
	row("stream", reloadInherit, "Subject of the stream that is offered.",
		func(e *Export) slot { return kindOfSubject(&e.Subject, &e.Service, false) }),
	row("service", reloadInherit, "Subject of the service that is offered.",
		func(e *Export) slot { return kindOfSubject(&e.Subject, &e.Service, true) }),
	row("accounts", reloadInherit, "Accounts that may import it.",
		func(e *Export) slot { return orElse(list(&e.Accounts), "all") }),
	row("response_type response", reloadInherit, "How a service answers: single, stream or chunked.",
		func(e *Export) slot { return responseType(&e.ResponseType) }),
	row("threshold response_threshold response_time response_max_time", reloadInherit, "Time in which a service answers.",
		func(e *Export) slot { return duration(&e.ResponseThreshold) }),
	row("latency", reloadInherit, "Subject that measurements of a service go to.",
		func(e *Export) slot {
			return block(&e.Latency, latencyKeys, newLatency).or("a subject", readShortLatency)
		}),
	row("account_token_position", reloadInherit, "Token of the subject that must be the importing account, 0 for none.",
		func(e *Export) slot { return count(&e.AccountTokenPosition, 0, maxCount) }),
	row("allow_trace", reloadInherit, "Let message traces cross into this account.",
		func(e *Export) slot { return flag(&e.AllowTrace) }),
}

func newExport() *Export {
	return &Export{ResponseType: "single", ResponseThreshold: 2 * time.Minute}
}

var latencyKeys = []key[Latency]{
	row("subject", reloadInherit, "Subject that receives the measurements.",
		func(l *Latency) slot { return text(&l.Subject) }),
	row("sampling", reloadInherit, "Share of requests that is measured, 1 to 100, or headers to let the request decide.",
		func(l *Latency) slot { return sampling(&l.Sampling, true) }),
}

func newLatency() *Latency { return &Latency{Sampling: 100} }

var importKeys = []key[Import]{
	row("stream", reloadInherit, "Stream to import: { account, subject }.",
		func(i *Import) slot { return importSource(i, false) }),
	row("service", reloadInherit, "Service to import: { account, subject }.",
		func(i *Import) slot { return importSource(i, true) }),
	row("prefix", reloadInherit, "What is put before the subjects of a stream.",
		func(i *Import) slot { return text(&i.Prefix) }),
	row("to", reloadInherit, "Subject under which it appears here.",
		func(i *Import) slot { return orElse(text(&i.To), "that of the export") }),
	row("share", reloadInherit, "Show the service who asks.",
		func(i *Import) slot { return flag(&i.Share) }),
	row("allow_trace", reloadInherit, "Let message traces of a stream cross into this account.",
		func(i *Import) slot { return flag(&i.AllowTrace) }),
}

var messageTraceKeys = []key[MessageTrace]{
	row("dest", reloadInherit, "Subject that receives the traces.",
		func(m *MessageTrace) slot { return text(&m.Destination) }),
	row("sampling", reloadInherit, "Share of messages that is traced, 1 to 100.",
		func(m *MessageTrace) slot { return sampling(&m.Sampling, false) }),
}

func newMessageTrace() *MessageTrace { return &MessageTrace{Sampling: 100} }
