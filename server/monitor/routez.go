package monitor

import (
	"cmp"
	"slices"
	"time"
)

// RoutezOptions are the parameters of the routes page.
type RoutezOptions struct {
	Subscriptions       bool // list subjects
	SubscriptionsDetail bool // list subscriptions with their figures
}

func (o *RoutezOptions) parameters() []parameter {
	return []parameter{
		{"subs", "", subsAllowed, setSubs(&o.Subscriptions, &o.SubscriptionsDetail)},
		flag("", "subscriptions", &o.Subscriptions),
		flag("", "subscriptions_detail", &o.SubscriptionsDetail),
	}
}

// Route is one connection to another server of the cluster. Two servers have several: a pool, and one for each account that
// has a connection of its own.
type Route struct {
	ID            uint64
	RemoteID      string // of the other server
	RemoteName    string
	Solicited     bool // this server has dialled it
	Configured    bool // because of the configuration
	IP            string
	Port          int
	Start         time.Time
	LastActivity  time.Time
	RTT           time.Duration // zero when never measured
	PendingBytes  int64
	Traffic       ConnectionTraffic // messages of clients
	Subscriptions int               // that the other server has told
	Account       string            // whose it is alone; empty for one of the pool
	Compression   string            // how this side compresses
	// List are those subscriptions, if they were asked for.
	List []Subscription
}

// Rules are the subjects that may cross routes in one direction; what Deny has is denied although it is allowed.
type Rules struct {
	Allow []string `json:"allow,omitempty"`
	Deny  []string `json:"deny,omitempty"`
}

// Routez is the page of routes to other servers of the cluster. A server alone has none.
type Routez struct {
	ServerID   string      `json:"server_id"`
	ServerName string      `json:"server_name"`
	Now        time.Time   `json:"now"`
	Import     *Rules      `json:"import,omitempty"` // what other servers may send here
	Export     *Rules      `json:"export,omitempty"` // what they are sent
	NumRoutes  int         `json:"num_routes"`
	Routes     []RouteInfo `json:"routes"`
}

// RouteInfo is a route as the page shows it.
type RouteInfo struct {
	ID                  uint64         `json:"rid"`
	RemoteID            string         `json:"remote_id"`
	RemoteName          string         `json:"remote_name"`
	Solicited           bool           `json:"did_solicit"`
	Configured          bool           `json:"is_configured"`
	IP                  string         `json:"ip"`
	Port                int            `json:"port"`
	Start               time.Time      `json:"start"`
	LastActivity        time.Time      `json:"last_activity"`
	RTT                 string         `json:"rtt,omitempty"`
	Uptime              string         `json:"uptime"`
	Idle                string         `json:"idle"`
	Import              *Rules         `json:"import,omitempty"`
	Export              *Rules         `json:"export,omitempty"`
	PendingBytes        int64          `json:"pending_size"`
	InMsgs              int64          `json:"in_msgs"`
	OutMsgs             int64          `json:"out_msgs"`
	InBytes             int64          `json:"in_bytes"`
	OutBytes            int64          `json:"out_bytes"`
	Subscriptions       int            `json:"subscriptions"`
	List                []string       `json:"subscriptions_list,omitempty"`
	SubscriptionsDetail []Subscription `json:"subscriptions_list_detail,omitempty"`
	Account             string         `json:"account,omitempty"`
	Compression         string         `json:"compression,omitempty"`
}

// Routez returns the routes page.
func (p *Pages) Routez(o RoutezOptions) (*Routez, error) {
	id, at := p.source.Identity(), now()
	page := &Routez{ServerID: id.ID, ServerName: id.Name, Now: at, Routes: []RouteInfo{}}
	page.Import, page.Export = p.source.RoutePermissions()
	for _, r := range p.routes(o.Subscriptions || o.SubscriptionsDetail) {
		info := RouteInfo{
			ID: r.ID, RemoteID: r.RemoteID, RemoteName: r.RemoteName, Solicited: r.Solicited, Configured: r.Configured,
			IP: r.IP, Port: r.Port, Start: r.Start.UTC(), LastActivity: r.LastActivity.UTC(),
			Uptime: uptime(at.Sub(r.Start)), Idle: uptime(at.Sub(r.LastActivity)),
			Import: page.Import, Export: page.Export, PendingBytes: r.PendingBytes,
			InMsgs: r.Traffic.InMsgs, OutMsgs: r.Traffic.OutMsgs, InBytes: r.Traffic.InBytes, OutBytes: r.Traffic.OutBytes,
			Subscriptions: r.Subscriptions, Account: r.Account, Compression: r.Compression,
		}
		if r.RTT > 0 {
			info.RTT = r.RTT.String()
		}
		if o.SubscriptionsDetail {
			info.SubscriptionsDetail = r.List
		} else {
			for _, s := range r.List {
				info.List = append(info.List, s.Subject)
			}
		}
		page.Routes = append(page.Routes, info)
	}
	page.NumRoutes = len(page.Routes)
	return page, nil
}

// routes are the routes by id.
func (p *Pages) routes(subscriptions bool) []Route {
	all := p.source.Routes(subscriptions)
	slices.SortFunc(all, func(a, b Route) int { return cmp.Compare(a.ID, b.ID) })
	return all
}
