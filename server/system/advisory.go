package system

import (
	"time"

	"runnel/server/monitor"
)

// advisory is how every typed event begins.
type advisory struct {
	Type   string     `json:"type"`
	ID     string     `json:"id"`
	Time   time.Time  `json:"timestamp"`
	Server ServerInfo `json:"server"`
}

func (s *System) advisory(kind string, at time.Time) advisory {
	return advisory{Type: kind, ID: newIdentifier(), Time: at, Server: s.serverInfo()}
}

// connectEvent says that a client has come.
type connectEvent struct {
	advisory
	Client clientInfo `json:"client"`
}

// disconnectEvent says that a client has gone, or was refused.
type disconnectEvent struct {
	advisory
	Client   clientInfo      `json:"client"`
	Sent     monitor.Traffic `json:"sent"`     // by the client: events take its side
	Received monitor.Traffic `json:"received"` // by the client
	Reason   string          `json:"reason"`
}

// connsEvent says how many connections an account has.
type connsEvent struct {
	advisory
	monitor.Account
}

// clientInfo describes a connection in events.
type clientInfo struct {
	Start      time.Time     `json:"start"`
	Host       string        `json:"host,omitempty"`
	ID         uint64        `json:"id"`
	Account    string        `json:"acc,omitempty"`
	User       string        `json:"user,omitempty"`
	Name       string        `json:"name,omitempty"`
	Lang       string        `json:"lang,omitempty"`
	Version    string        `json:"ver,omitempty"`
	RTT        time.Duration `json:"rtt,omitempty"`
	Stop       time.Time     `json:"stop,omitzero"`
	JWT        string        `json:"jwt,omitempty"`
	IssuerKey  string        `json:"issuer_key,omitempty"`
	NameTag    string        `json:"name_tag,omitempty"`
	Tags       []string      `json:"tags,omitempty"`
	Kind       string        `json:"kind,omitempty"`
	ClientType string        `json:"client_type,omitempty"`
	MQTTClient string        `json:"client_id,omitempty"`
}

func newClientInfo(c *monitor.Connection) clientInfo {
	info := clientInfo{
		Start: c.Start.UTC(), Host: c.IP, ID: c.CID, Account: c.Account, User: c.User, Name: c.Name, Lang: c.Lang,
		Version: c.Version, RTT: c.RTT, Stop: c.Stop.UTC(), JWT: c.JWT, IssuerKey: c.IssuerKey, NameTag: c.NameTag,
		Tags: c.Tags, Kind: c.Kind, ClientType: c.Type, MQTTClient: c.MQTTClient,
	}
	if info.Kind == "" {
		info.Kind = "Client"
	}
	if info.ClientType == "" {
		info.ClientType = "nats"
	}
	if info.NameTag == "" {
		info.NameTag = c.Account
	}
	return info
}

func (s *System) connectEvent(e *event) connectEvent {
	return connectEvent{advisory: s.advisory(typeConnect, e.at), Client: newClientInfo(&e.conn)}
}

func (s *System) disconnectEvent(e *event) disconnectEvent {
	if e.conn.Stop.IsZero() {
		e.conn.Stop = e.at
	}
	if e.conn.Reason == "" && e.kind == refused {
		e.conn.Reason = "Authentication Failure"
	}
	t := e.conn.Traffic
	return disconnectEvent{
		advisory: s.advisory(typeDisconnect, e.at),
		Client:   newClientInfo(&e.conn),
		Sent:     monitor.Traffic{Msgs: t.InMsgs, Bytes: t.InBytes},
		Received: monitor.Traffic{Msgs: t.OutMsgs, Bytes: t.OutBytes},
		Reason:   e.conn.Reason,
	}
}

func (s *System) connsEvent(a monitor.Account) connsEvent {
	return connsEvent{advisory: s.advisory(typeConns, time.Now().UTC()), Account: a}
}
