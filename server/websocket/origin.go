package websocket

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// origin is where a page came from, in comparable form: lower case, the port
// always stated.
type origin struct{ scheme, host, port string }

// originList is a set of origins that are let in.
type originList map[origin]bool

// parseOrigins skips what is no origin, so that it matches nothing.
func parseOrigins(texts []string) originList {
	list := make(originList, len(texts))
	for _, text := range texts {
		if o, err := parseOrigin(text); err == nil {
			list[o] = true
		}
	}
	return list
}

// parseOrigin reads scheme://host[:port].
func parseOrigin(text string) (origin, error) {
	u, err := url.Parse(text)
	if err != nil {
		return origin{}, fmt.Errorf("origin: %w", err)
	}
	if u.Scheme == "" || u.Hostname() == "" {
		return origin{}, fmt.Errorf("origin %q has no scheme or no host", text)
	}
	return makeOrigin(u.Scheme, u.Hostname(), u.Port()), nil
}

func makeOrigin(scheme, host, port string) origin {
	scheme = strings.ToLower(scheme)
	if port == "" {
		port = defaultPort(scheme == "https" || scheme == "wss")
	}
	return origin{scheme, strings.ToLower(host), port}
}

func defaultPort(secure bool) string {
	if secure {
		return "443"
	}
	return "80"
}

// checkOrigin says why a page may not connect from where it came from. Only
// browsers send an Origin, and they always do.
func (h *handler) checkOrigin(r *http.Request) error {
	text := r.Header.Get("Origin")
	if text == "" || !h.cfg.SameOrigin && len(h.cfg.AllowedOrigins) == 0 {
		return nil
	}
	o, err := parseOrigin(text)
	if err != nil {
		return err
	}
	if h.cfg.SameOrigin && !sameHost(o, r) {
		return fmt.Errorf("origin %q is not the host that was asked for", text)
	}
	if len(h.cfg.AllowedOrigins) > 0 && !h.origins[o] {
		return fmt.Errorf("origin %q is not in the list of allowed ones", text)
	}
	return nil
}

// sameHost compares host and port only: behind a proxy that ends TLS the
// scheme is not known.
func sameHost(o origin, r *http.Request) bool {
	host, port, err := splitHost(r.Host)
	if err != nil {
		return false
	}
	if port == "" {
		port = defaultPort(r.TLS != nil)
	}
	return o.host == strings.ToLower(host) && o.port == port
}

// splitHost splits host[:port], where an IPv6 host stands in brackets.
func splitHost(hostport string) (host, port string, err error) {
	u := url.URL{Host: hostport}
	if host, port = u.Hostname(), u.Port(); host == "" {
		return "", "", errors.New("no host")
	}
	if port == "" && strings.HasSuffix(hostport, ":") {
		return "", "", &net.AddrError{Err: "no port", Addr: hostport}
	}
	return host, port, nil
}
