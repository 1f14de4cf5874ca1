package monitor

import (
	"runtime"
	"time"

	"runnel/server/memory"
)

// Varz is the general page: who the server is, how it is configured, and its counters.
type Varz struct {
	ServerID   string `json:"server_id"`
	ServerName string `json:"server_name"`
	Version    string `json:"version"`
	Runnel     string `json:"runnel,omitempty"` // our own version
	Proto      int    `json:"proto"`
	GitCommit  string `json:"git_commit,omitempty"`
	Go         string `json:"go"`
	Options
	Start  time.Time `json:"start"`
	Now    time.Time `json:"now"`
	Uptime string    `json:"uptime"`
	Usage
	Counters
	HTTPReqStats   map[string]uint64 `json:"http_req_stats"`
	ConfigLoadTime time.Time         `json:"config_load_time"`
	ConfigDigest   string            `json:"config_digest"`
	Tags           []string          `json:"tags,omitempty"`
	Metadata       map[string]string `json:"metadata,omitempty"`
	FeatureFlags   map[string]bool   `json:"feature_flags,omitempty"`
	Operators
	SystemAccount        string        `json:"system_account,omitempty"`
	SlowConsumerStats    ByKind        `json:"slow_consumer_stats"`
	StaleConnectionStats ByKind        `json:"stale_connection_stats"`
	DiskIOWaitStats      DiskIOWait    `json:"disk_io_wait_stats"`
	Proxies              *Proxies      `json:"proxies,omitempty"`
	Memory               *memory.State `json:"memory,omitempty"` // our own: what is made of memory_limit
	TLSCertNotAfter      time.Time     `json:"tls_cert_not_after,omitzero"`
}

// Proxies are those that are trusted to say that a client came through them.
type Proxies struct {
	Trusted []ProxyInfo `json:"trusted,omitempty"`
}

// DiskIOWait says how disk operations wait for their turn; all zero while nothing is stored.
type DiskIOWait struct {
	Waiters     int64         `json:"waiters"`
	Waits       uint64        `json:"waits"`
	WaitTime    time.Duration `json:"wait_time"`
	MaxWaitTime time.Duration `json:"max_wait_time"`
}

// Varz returns the general page.
func (p *Pages) Varz() *Varz {
	s, at := p.source.Server(), now()
	s.Options.JetStream = p.jetStreamVarz()
	return &Varz{
		ServerID:             s.Identity.ID,
		ServerName:           s.Identity.Name,
		Version:              s.Identity.Version,
		Runnel:               s.Identity.Runnel,
		Proto:                s.Proto,
		GitCommit:            s.GitCommit,
		Go:                   runtime.Version(),
		Options:              s.Options,
		Start:                s.Start.UTC(),
		Now:                  at,
		Uptime:               uptime(at.Sub(s.Start)),
		Usage:                p.usage(),
		Counters:             s.Counters,
		HTTPReqStats:         p.requests.snapshot(),
		ConfigLoadTime:       s.ConfigLoadTime.UTC(),
		ConfigDigest:         s.ConfigDigest,
		Tags:                 s.Identity.Tags,
		Metadata:             s.Identity.Metadata,
		FeatureFlags:         s.Identity.FeatureFlags,
		Operators:            s.Operators,
		SystemAccount:        s.Identity.SystemAccount,
		SlowConsumerStats:    s.Counters.SlowConsumersByKind,
		StaleConnectionStats: s.Counters.StaleConnectionsByKind,
		Proxies:              s.Proxies,
		Memory:               s.Memory,
		TLSCertNotAfter:      s.Options.TLSCertNotAfter,
	}
}
