package server

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"runtime"
	"time"

	"runnel/conf"
	"runnel/server/monitor"
)

const (
	// requestTimeout bounds how long an HTTP client may take to ask, where no option says.
	requestTimeout = 10 * time.Second
	// idleTimeout bounds how long it may keep a connection between two questions: longer than the pauses of
	// those who ask regularly.
	idleTimeout = 3 * time.Minute
)

// monitorHost is where monitoring listens: where clients connect, unless it has a host of its own.
func monitorHost(o *conf.Options) string {
	if o.Monitor.Host != "" {
		return o.Monitor.Host
	}
	return o.Host
}

// listenMonitor opens the HTTP listeners for monitoring and profiling.
func (s *Server) listenMonitor(o *conf.Options) error {
	m := o.Monitor
	if port := m.Port + m.HTTPSPort; port != 0 {
		ln, err := s.listeners.listen(listenerMonitor, monitorHost(o), port)
		if err != nil {
			return err
		}
		scheme := "http"
		if m.HTTPSPort != 0 {
			st := s.state.Load()
			if st.tls == nil {
				return errors.New("https_port needs a tls block with cert_file and key_file")
			}
			scheme = "https"
			ln = tls.NewListener(ln, &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: s.monitorTLSConfig})
		}
		s.logger.Info("Starting " + scheme + " monitor on " + displayAddr(monitorHost(o), ln))
		s.serveHTTP(&http.Server{Handler: monitor.Handler(s.pages, m.BasePath), ReadTimeout: requestTimeout}, ln)
	}
	return s.listenProfile(o)
}

// monitorTLSConfig is the client listener's, without asking for a client certificate: browsers and collectors
// have none. It is asked for each handshake, so that a reload takes effect.
func (s *Server) monitorTLSConfig(*tls.ClientHelloInfo) (*tls.Config, error) {
	c := s.state.Load().tls.Config.Clone()
	c.ClientAuth = tls.NoClientCert
	return c, nil
}

// listenProfile opens the listener for Go's profiler. It is not among the monitoring pages: a profile costs
// time and shows memory, so whoever wants it says so with a port of its own.
func (s *Server) listenProfile(o *conf.Options) error {
	if o.Profile.Port == 0 {
		return nil
	}
	ln, err := s.listeners.listen(listenerProfile, o.Host, o.Profile.Port)
	if err != nil {
		return err
	}
	runtime.SetBlockProfileRate(o.Profile.BlockRate)
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	s.logger.Info("profiling port on " + displayAddr(o.Host, ln))
	// No ReadTimeout: when it passes, the request is cancelled, and a profile takes as long as it was asked to.
	s.serveHTTP(&http.Server{Handler: mux}, ln)
	return nil
}

// serveHTTP runs srv on ln until the listener is closed. Requests under way are cut when the server ends.
func (s *Server) serveHTTP(srv *http.Server, ln net.Listener) {
	if srv.ReadHeaderTimeout == 0 {
		srv.ReadHeaderTimeout = requestTimeout
	}
	srv.IdleTimeout = idleTimeout
	// What goes wrong there is a client's doing, and must not go to the standard error of whoever embeds us.
	srv.ErrorLog = slog.NewLogLogger(s.logger.Handler(), slog.LevelDebug)
	s.listeners.onClose(func() { _ = srv.Close() }) // nothing to be done about an error
	s.running.Go(func() {
		if err := srv.Serve(ln); err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			s.logger.Error("http server", "address", ln.Addr().String(), "error", err)
		}
	})
}
