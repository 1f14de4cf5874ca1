package mesh

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
)

// Limits on what a member says of itself.
const (
	maxNameBytes = 256
	maxURLBytes  = 512
	maxURLs      = 64
)

// Member is what one server of a cluster tells the others about itself.
type Member struct {
	// ID identifies the server. It is compared as text: of two servers, the smaller id decides which of their
	// connections count.
	ID string `json:"id"`
	// Name is unique in a cluster.
	Name string `json:"name"`
	// Cluster is the name of the cluster. One that was generated (Dynamic) yields to one that was configured, and
	// of two generated ones the smaller is taken.
	Cluster string `json:"cluster"`
	Dynamic bool   `json:"dynamic,omitempty"`
	// Node is the id under which the server stores streams, which outlives the program; empty if it stores none.
	Node string `json:"node,omitempty"`
	// Start is when the server started. Of two that come with the same id the one that started later is believed.
	Start time.Time `json:"start"`
	// Version is that of the program, for people.
	Version string `json:"version,omitempty"`
	// Level is the highest feature level that the server knows.
	Level int `json:"level,omitempty"`
	// JetStream says that it stores streams.
	JetStream bool `json:"jetstream,omitempty"`
	// LameDuck says that it is about to stop.
	LameDuck bool `json:"lame_duck,omitempty"`
	// RouteURL is the host:port that other servers reach it at; empty if they cannot. A host that is empty or
	// means all interfaces is replaced by the host that it was seen at.
	RouteURL string `json:"route_url,omitempty"`
	// ClientURLs and WebsocketURLs are the host:port that its clients reach it at.
	ClientURLs    []string `json:"client_urls,omitempty"`
	WebsocketURLs []string `json:"websocket_urls,omitempty"`
}

// clone returns a copy that shares nothing with m.
func (m *Member) clone() Member {
	c := *m
	c.ClientURLs = slices.Clone(m.ClientURLs)
	c.WebsocketURLs = slices.Clone(m.WebsocketURLs)
	return c
}

// check says what is wrong with m.
func (m *Member) check() error {
	for _, f := range []struct{ what, text string }{{"id", m.ID}, {"name", m.Name}, {"cluster name", m.Cluster}} {
		if err := checkName(f.text); err != nil {
			return fmt.Errorf("the %s %q of the server %w", f.what, clip(f.text), err)
		}
	}
	if m.Node != "" {
		if err := checkName(m.Node); err != nil {
			return fmt.Errorf("the node id %q of the server %w", clip(m.Node), err)
		}
	}
	if len(m.Version) > maxNameBytes {
		return errors.New("the version of the server is too long")
	}
	if len(m.ClientURLs) > maxURLs || len(m.WebsocketURLs) > maxURLs {
		return fmt.Errorf("more than %d client URLs", maxURLs)
	}
	for _, u := range slices.Concat(m.ClientURLs, m.WebsocketURLs, []string{m.RouteURL}) {
		if len(u) > maxURLBytes {
			return fmt.Errorf("a URL of more than %d bytes", maxURLBytes)
		}
	}
	if m.RouteURL != "" {
		if _, _, err := net.SplitHostPort(m.RouteURL); err != nil {
			return fmt.Errorf("the route URL %q is not of the form host:port", clip(m.RouteURL))
		}
	}
	return nil
}

// checkName wants something short that fits into one line of a log.
func checkName(s string) error {
	switch {
	case s == "":
		return errors.New("is empty")
	case len(s) > maxNameBytes:
		return fmt.Errorf("has more than %d bytes", maxNameBytes)
	case strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return errors.New("contains blanks or control characters")
	}
	return nil
}

// clip shortens text of a peer for a log line.
func clip(s string) string {
	if len(s) > 64 {
		return strings.ToValidUTF8(s[:64], "") + "..."
	}
	return s
}

// seenAt fills in the host of m's route URL if m did not say one that others could use.
func (m *Member) seenAt(host string) {
	h, port, err := net.SplitHostPort(m.RouteURL)
	if err != nil {
		return
	}
	if ip := net.ParseIP(h); h == "" || ip != nil && ip.IsUnspecified() {
		m.RouteURL = net.JoinHostPort(host, port)
	}
}
