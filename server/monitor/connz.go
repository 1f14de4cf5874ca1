package monitor

import (
	"slices"
	"time"

	"runnel/subjects"
)

// ConnState selects connections by whether they are open.
type ConnState int

// The numbers are those of the JSON member "state".
const (
	ConnOpen ConnState = iota
	ConnClosed
	ConnAny
)

// ConnzOptions are the parameters of the connections page; the zero value asks for the open connections.
type ConnzOptions struct {
	Sort                string // see sorts; "" = by cid
	Authorization       bool   // show user, account and what belongs to them
	Subscriptions       bool   // list subjects
	SubscriptionsDetail bool   // list subscriptions with their figures
	Offset, Limit       int64  // window, Limit 0 = 1024
	CID                 uint64 // only this connection, 0 = all
	MQTTClient          string // only the connection of this MQTT client
	State               ConnState
	User                string // only connections of this user
	Account             string // only connections of this account
	FilterSubject       string // only connections with a subscription that overlaps this pattern
}

func (o *ConnzOptions) parameters() []parameter {
	return []parameter{
		{"subs", "", subsAllowed, setSubs(&o.Subscriptions, &o.SubscriptionsDetail)},
		flag("", "subscriptions", &o.Subscriptions),
		flag("", "subscriptions_detail", &o.SubscriptionsDetail),
		flag("auth", "auth", &o.Authorization),
		oneOf("sort", "sort", sortNames(), &o.Sort),
		count("offset", "offset", &o.Offset),
		count("limit", "limit", &o.Limit),
		identifier("cid", "cid", &o.CID),
		text("mqtt_client", "mqtt_client", &o.MQTTClient),
		{"state", "state", "open (0), closed (1) or any (2)", o.setState},
		text("user", "user", &o.User),
		text("acc", "acc", &o.Account),
		pattern("filter_subject", "filter_subject", "a subject, wildcards allowed", subjects.ValidPattern, &o.FilterSubject),
	}
}

func (o *ConnzOptions) setState(g given) bool {
	states := map[string]ConnState{
		"open": ConnOpen, "closed": ConnClosed, "any": ConnAny, "all": ConnAny,
		"0": ConnOpen, "1": ConnClosed, "2": ConnAny,
	}
	state, ok := states[g.text]
	o.State = state
	return ok && g.form != jsonNested
}

// Connz is the connections page.
type Connz struct {
	head
	NumConnections int `json:"num_connections"` // in this answer
	Total          int `json:"total"`           // that fit the request
	paging
	Connections []ConnInfo `json:"connections"`
}

// ConnInfo is one connection of the page.
type ConnInfo struct {
	CID          uint64    `json:"cid"`
	Kind         string    `json:"kind,omitempty"`
	Type         string    `json:"type,omitempty"`
	IP           string    `json:"ip"`
	Port         int       `json:"port"`
	Start        time.Time `json:"start"`
	LastActivity time.Time `json:"last_activity"`
	Stop         time.Time `json:"stop,omitzero"`
	Reason       string    `json:"reason,omitempty"`
	RTT          string    `json:"rtt,omitempty"`
	Uptime       string    `json:"uptime"`
	Idle         string    `json:"idle"`
	connFigures
	Name    string `json:"name,omitempty"`
	Lang    string `json:"lang,omitempty"`
	Version string `json:"version,omitempty"`
	connTLS
	AuthorizedUser      string         `json:"authorized_user,omitempty"`
	Account             string         `json:"account,omitempty"`
	Subscriptions       []string       `json:"subscriptions_list,omitempty"`
	SubscriptionsDetail []Subscription `json:"subscriptions_list_detail,omitempty"`
	connAuthorization
	MQTTClient string     `json:"mqtt_client,omitempty"`
	Proxy      *ProxyInfo `json:"proxy,omitempty"`
}

type connFigures struct {
	PendingBytes     int64 `json:"pending_bytes"`
	InMsgs           int64 `json:"in_msgs"`
	OutMsgs          int64 `json:"out_msgs"`
	InBytes          int64 `json:"in_bytes"`
	OutBytes         int64 `json:"out_bytes"`
	Stalls           int64 `json:"stalls,omitempty"`
	NumSubscriptions int   `json:"subscriptions"`
}

type connTLS struct {
	TLSVersion     string     `json:"tls_version,omitempty"`
	TLSCipherSuite string     `json:"tls_cipher_suite,omitempty"`
	TLSPeerCerts   []PeerCert `json:"tls_peer_certs,omitempty"`
	TLSFirst       bool       `json:"tls_first,omitempty"`
}

type connAuthorization struct {
	JWT       string   `json:"jwt,omitempty"`
	IssuerKey string   `json:"issuer_key,omitempty"`
	NameTag   string   `json:"name_tag,omitempty"`
	Tags      []string `json:"tags,omitempty"`
}

// ProxyInfo names the trusted proxy that a connection came through.
type ProxyInfo struct {
	Key string `json:"key"`
}

// Connz returns the connections that fit the options. The error is a RequestError.
func (p *Pages) Connz(o ConnzOptions) (*Connz, error) {
	order, err := sortOrder(o.Sort, o.State)
	if err != nil {
		return nil, err
	}
	page := &Connz{head: p.head(), paging: window(o.Offset, o.Limit)}
	if o.CID != 0 {
		page.paging = paging{Limit: 1}
	}
	fits := p.connFilter(o)
	all := p.source.Connections(o.State != ConnClosed, o.State != ConnOpen)
	conns := make([]*Connection, 0, len(all))
	for i := range all {
		if fits(&all[i]) {
			conns = append(conns, &all[i])
		}
	}
	order.apply(conns, page.Now)
	page.Total = len(conns)
	conns = cut(conns, page.paging)
	page.NumConnections = len(conns)
	page.Connections = make([]ConnInfo, 0, len(conns))
	for _, c := range conns {
		page.Connections = append(page.Connections, p.connInfo(c, o, page.Now))
	}
	return page, nil
}

// connFilter returns what decides whether a connection fits the options.
func (p *Pages) connFilter(o ConnzOptions) func(*Connection) bool {
	var interested map[uint64]bool // open connections with a subscription that overlaps FilterSubject
	if o.FilterSubject != "" {
		interested = map[uint64]bool{}
		for s := range p.source.Subscriptions(o.Account) {
			if subjects.Overlap(s.Subject, o.FilterSubject) {
				interested[s.CID] = true
			}
		}
	}
	return func(c *Connection) bool {
		if o.CID != 0 && c.CID != o.CID || o.MQTTClient != "" && c.MQTTClient != o.MQTTClient ||
			o.User != "" && c.User != o.User || o.Account != "" && c.Account != o.Account {
			return false
		}
		if o.FilterSubject == "" || interested[c.CID] {
			return true
		}
		return !c.Stop.IsZero() && p.wasInterested(c.CID, o.FilterSubject)
	}
}

// wasInterested reports whether a closed connection, which no index knows any more, had a subscription that
// overlaps the pattern.
func (p *Pages) wasInterested(cid uint64, filter string) bool {
	for _, s := range p.source.ConnectionSubscriptions(cid) {
		if subjects.Overlap(s.Subject, filter) {
			return true
		}
	}
	return false
}

func (p *Pages) connInfo(c *Connection, o ConnzOptions, at time.Time) ConnInfo {
	info := ConnInfo{
		CID: c.CID, Kind: orElse(c.Kind, "Client"), Type: orElse(c.Type, "nats"),
		IP: c.IP, Port: c.Port,
		Start: c.Start.UTC(), LastActivity: c.LastActivity.UTC(), Stop: c.Stop.UTC(), Reason: c.Reason,
		Uptime: uptime(c.uptime(at)), Idle: uptime(c.idle(at)),
		connFigures: connFigures{
			PendingBytes: c.PendingBytes,
			InMsgs:       c.Traffic.InMsgs, OutMsgs: c.Traffic.OutMsgs,
			InBytes: c.Traffic.InBytes, OutBytes: c.Traffic.OutBytes,
			Stalls: c.Stalls, NumSubscriptions: c.Subscriptions,
		},
		Name: c.Name, Lang: c.Lang, Version: c.Version,
		connTLS:    connTLS{c.TLS.Version, c.TLS.CipherSuite, c.TLS.PeerCerts, c.TLS.First},
		MQTTClient: c.MQTTClient,
	}
	if c.RTT > 0 {
		info.RTT = c.RTT.String()
	}
	if c.Proxy != "" {
		info.Proxy = &ProxyInfo{Key: c.Proxy}
	}
	if o.Authorization {
		info.AuthorizedUser, info.Account = c.User, c.Account
		info.connAuthorization = connAuthorization{c.JWT, c.IssuerKey, orElse(c.NameTag, c.Account), c.Tags}
	}
	switch {
	case o.SubscriptionsDetail:
		info.SubscriptionsDetail = p.subscriptionsOf(c)
		for i := range info.SubscriptionsDetail {
			// That of the connection.
			info.SubscriptionsDetail[i].Account, info.SubscriptionsDetail[i].AccountTag = "", ""
		}
	case o.Subscriptions:
		for _, s := range p.subscriptionsOf(c) {
			info.Subscriptions = append(info.Subscriptions, s.Subject)
		}
	}
	return info
}

// subscriptionsOf lists the subscriptions of a connection in order.
func (p *Pages) subscriptionsOf(c *Connection) []Subscription {
	list := p.source.ConnectionSubscriptions(c.CID)
	slices.SortFunc(list, inOrder)
	return list
}

// uptime is how long the connection has been open, or was.
func (c *Connection) uptime(at time.Time) time.Duration { return c.end(at).Sub(c.Start) }

// idle is how long nothing has come or gone, or had when it was closed.
func (c *Connection) idle(at time.Time) time.Duration { return c.end(at).Sub(c.LastActivity) }

func (c *Connection) end(at time.Time) time.Time {
	if c.Stop.IsZero() {
		return at
	}
	return c.Stop
}

func orElse(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}
