package server

import (
	"net"
	"strconv"
)

// Ports are the URLs of the bound listeners, as a ports file shows them.
type Ports struct {
	NATS       []string `json:"nats,omitempty"`
	Monitoring []string `json:"monitoring,omitempty"`
	Cluster    []string `json:"cluster,omitempty"`
	Profile    []string `json:"profile,omitempty"`
	WebSocket  []string `json:"websocket,omitempty"`
}

// Ports returns where the server listens.
func (s *Server) Ports() Ports {
	st := s.state.Load()
	secure := func(on bool, plain, tls string) string {
		if on {
			return tls
		}
		return plain
	}
	webHost, webTLS, clusterHost := "", false, ""
	if o := st.options.Cluster; o != nil {
		clusterHost = o.Host
	}
	if ws := st.options.WebSocket; ws != nil {
		webHost, webTLS = ws.Host, st.webTLS != nil && !ws.NoTLS
	}
	return Ports{
		NATS:       s.urls(listenerClients, secure(st.tls != nil, "nats", "tls"), st.options.Host),
		Monitoring: s.urls(listenerMonitor, secure(st.options.Monitor.HTTPSPort != 0, "http", "https"), monitorHost(st.options)),
		Cluster:    s.urls(listenerCluster, secure(st.clusterTLS != nil, "nats", "tls"), clusterHost),
		Profile:    s.urls(listenerProfile, "http", st.options.Host),
		WebSocket:  s.urls(listenerWebSocket, secure(webTLS, "ws", "wss"), webHost),
	}
}

// urls are the URLs of one listener, none when there is no such listener: one for each address of the machine when it listens on all.
func (s *Server) urls(name, scheme, host string) []string {
	port := boundPort(s.listeners.addr(name))
	if port == 0 {
		return nil
	}
	hosts := []string{host}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		hosts = localAddresses()
	}
	urls := make([]string, 0, len(hosts))
	for _, h := range hosts {
		urls = append(urls, scheme+"://"+net.JoinHostPort(h, strconv.Itoa(port)))
	}
	return urls
}

// localAddresses are the addresses of this machine that others can use, or loopback when there is none.
func localAddresses() []string {
	if hosts := interfaces(); len(hosts) > 0 {
		return hosts
	}
	return []string{"127.0.0.1"}
}
