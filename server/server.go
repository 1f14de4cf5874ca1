package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nkeys"

	"runnel/conf"
	"runnel/jetlog/command"
	"runnel/jetlog/store"
	"runnel/server/accounts"
	"runnel/server/callout"
	"runnel/server/capacity"
	"runnel/server/deadlines"
	"runnel/server/descriptors"
	"runnel/server/engine"
	"runnel/server/jetstream"
	"runnel/server/memory"
	"runnel/server/monitor"
	"runnel/server/replication"
	"runnel/server/system"
	"runnel/server/wire"
)

const (
	// NATSVersion is the level of the protocol and of the APIs that clients may count on.
	NATSVersion = "2.15.2"
	// Version is our own.
	Version = "0.1.0"
	// apiLevel is the JetStream API level that clients of NATSVersion expect to see even without JetStream.
	apiLevel = 5
	// featureLevel is what this server knows of what servers store for one another and say to each other. It rises with every
	// addition that others would stumble over, and such a thing is used once all servers of the cluster know it.
	featureLevel = replication.LevelOfCommands + command.Level
)

// Server is a running server. Its methods are safe for concurrent use.
type Server struct {
	host   Host
	logger *slog.Logger
	id     string // public key of this run, as nkeys writes it
	keys   callout.Keys
	start  time.Time

	engine     *engine.Engine
	registry   *accounts.Registry
	tenants    *tenants // nil outside of operator mode
	cluster    cluster
	replicated replicated
	pages      *monitor.Pages
	system     *system.System

	// store and jetstream are nil without JetStream.
	store     *store.Store
	jetstream *jetstream.Service
	capacity  atomic.Pointer[capacity.Capacity] // of all streams together; nil without JetStream
	memory    *memory.Keeper                    // nil without a memory budget
	files     *descriptors.Guard

	// state is what a reload replaces as a whole.
	state    atomic.Pointer[state]
	lameDuck atomic.Bool // set once, when the good-bye begins
	// expiry closes connections when their credentials end, with a text that they are told.
	expiry *deadlines.Set[*engine.Conn, string]
	counts counts
	// reload parses the configuration anew and applies it; see OnReloadRequest.
	reload atomic.Pointer[func() ([]conf.Change, error)]

	listeners listeners
	running   sync.WaitGroup  // every goroutine of this package
	ending    context.Context // ends when the server does; stop ends it
	stop      context.CancelFunc
	end       end

	// mu serialises reloads and guards subscribed.
	mu         sync.Mutex
	subscribed subscribed
}

// end says whether the server has ended, and why.
type end struct {
	once    sync.Once
	done    chan struct{}         // see Done
	hung    chan struct{}         // see Hung
	failure atomic.Pointer[error] // why it ended by itself
}

// counts are of connections, with those that ended last.
type counts struct {
	closed *closedRing
	came   atomic.Uint64 // also those that were turned away then
	stale  atomic.Int64  // cut off for unanswered pings
	// handshaking is how many TLS handshakes are under way, which is bounded as connections are.
	handshaking atomic.Int64
}

// Open starts a server. It returns once all listeners are bound, or with an error and nothing left running.
// The options must be valid ([conf.Options.Validate]) and are not changed; a nil logger logs nothing.
func Open(o *conf.Options, logger *slog.Logger) (*Server, error) { return OpenOn(Host{}, o, logger) }

// OpenOn is [Open] on another host than this machine.
func OpenOn(h Host, o *conf.Options, logger *slog.Logger) (*Server, error) {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	if missing := conf.Unsupported(o); len(missing) > 0 {
		return nil, conf.Errors(missing)
	}
	s := &Server{
		host:     h.complete(),
		logger:   logger,
		start:    time.Now(),
		registry: accounts.NewRegistry(),
		counts:   counts{closed: newClosedRing(o.Limits.MaxClosedClients)},
		expiry: deadlines.New(func(c *engine.Conn, text string) {
			c.Close(engine.ReasonAuthExpired, text)
		}),
		end: end{done: make(chan struct{}), hung: make(chan struct{})},
	}
	if err := s.budgetMemory(o); err != nil {
		return nil, err
	}
	s.ending, s.stop = context.WithCancel(context.Background())
	if err := s.makeKeys(); err != nil {
		return nil, err
	}
	st, err := s.newState(o)
	if err != nil {
		return nil, err
	}
	s.registry.Activate(st.policy)
	s.state.Store(st)
	s.engine, err = engine.New(engine.Config{
		Handler:    s,
		Logger:     logger,
		Settings:   settings(o),
		Pollers:    Pollers(),
		ServerName: s.Name(),
		Traced:     s.traced,
		Routes:     s.routeConfig(o),
	})
	if err != nil {
		return nil, fmt.Errorf("start engine: %w", err)
	}
	s.files = descriptors.New(s.engine.ConnCount)
	if err := s.begin(o); err != nil {
		_ = s.Close() // the error that counts is err
		return nil, err
	}
	return s, nil
}

// Pollers is the number of epoll threads that a server uses here, 0 where there is no epoll. Each keeps a
// thread busy, so GOMAXPROCS should be larger by 2 at least; a server that is embedded leaves that alone.
func Pollers() int {
	if runtime.GOOS != "linux" {
		return 0
	}
	return engine.DefaultPollers()
}

// begin starts what needs a running engine: system services, monitoring, and last the clients' listeners.
func (s *Server) begin(o *conf.Options) error {
	s.pages = monitor.New(source{s})
	s.system = system.New(system.Config{Bus: bus{s}, Pages: s.pages, Actions: actions{s}, Logger: s.logger})
	if err := s.system.Start(); err != nil {
		return fmt.Errorf("start system services: %w", err)
	}
	if err := s.openTenants(o); err != nil {
		return fmt.Errorf("operator mode: %w", err)
	}
	if err := s.openJetStream(o); err != nil {
		return err
	}
	if err := s.openCluster(o); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	if err := s.startReplication(); err != nil {
		return err
	}
	s.running.Go(func() { s.memory.Run(s.ending) })
	s.running.Go(func() { s.files.Run(s.ending) })
	s.running.Go(func() { s.system.Run(s.ending) }) // its pages show what is open by now
	if err := s.listenMonitor(o); err != nil {
		return err
	}
	if err := s.listenWebSocket(o); err != nil {
		return err
	}
	return s.listenClients(o)
}

// makeKeys generates the identity of this run.
func (s *Server) makeKeys() error {
	var err error
	if s.keys.Sign, err = nkeys.CreateServer(); err != nil {
		return fmt.Errorf("generate server id: %w", err)
	}
	if s.id, err = s.keys.Sign.PublicKey(); err != nil {
		return fmt.Errorf("generate server id: %w", err)
	}
	if s.keys.Curve, err = nkeys.CreateCurveKeys(); err != nil {
		return fmt.Errorf("generate server curve key: %w", err)
	}
	if s.keys.XKey, err = s.keys.Curve.PublicKey(); err != nil {
		return fmt.Errorf("generate server curve key: %w", err)
	}
	s.keys.ID = s.id
	return nil
}

// settings are the engine's part of the options.
func settings(o *conf.Options) engine.Settings {
	return engine.Settings{
		MaxPayloadBytes:       o.Limits.MaxPayloadBytes,
		MaxControlLineBytes:   o.Limits.MaxControlLineBytes,
		MaxPendingBytes:       int(min(o.Limits.MaxPendingBytes, math.MaxInt)),
		MaxSubscriptions:      o.Limits.MaxSubscriptions,
		MaxSubscriptionTokens: o.Limits.MaxSubscriptionTokens,
		PingInterval:          o.Liveness.PingInterval,
		PingMax:               o.Liveness.PingMax,
		WriteDeadline:         o.Liveness.WriteDeadline,
		AuthTimeout:           o.AuthTimeout(),
		NoHeaders:             o.NoHeaderSupport,
		NoStall:               o.Liveness.NoFastProducerStall,
		Trace:                 o.Log.Trace || o.Log.TraceVerbose,
		TraceHeaders:          o.Log.TraceHeaders,
		MaxTracedBytes:        o.Log.MaxTracedBytes,
	}
}

// ID is the server's public key, new with each run.
func (s *Server) ID() string { return s.id }

// Name is the configured name, or the id.
func (s *Server) Name() string { return s.state.Load().info.ServerName }

// Addr is where clients connect; nil when the server has no listener for them.
func (s *Server) Addr() net.Addr { return s.listeners.addr(listenerClients) }

// ClientURL is a URL that a client on this machine can use.
func (s *Server) ClientURL() string {
	a, ok := s.Addr().(*net.TCPAddr)
	if !ok {
		return ""
	}
	scheme := "nats"
	if s.state.Load().info.TLSRequired {
		scheme = "tls"
	}
	return scheme + "://" + net.JoinHostPort(reachable(a.IP), fmt.Sprint(a.Port))
}

// reachable turns "all addresses" into one that can be dialled.
func reachable(ip net.IP) string {
	if ip.IsUnspecified() {
		return "127.0.0.1"
	}
	return ip.String()
}

// Done is closed when the server has ended.
func (s *Server) Done() <-chan struct{} { return s.end.done }

// Err is nil, or says why the server has ended, or is about to, without being told to: its disk has failed.
func (s *Server) Err() error {
	if f := s.end.failure.Load(); f != nil {
		return *f
	}
	return nil
}

// Wait returns when the server has ended.
func (s *Server) Wait() { <-s.end.done }

// Shutdown ends the server in order: no new connections, what is queued for clients is written until ctx
// ends, then everything is closed. It returns ctx's error when something had to be cut. A server that has ended stays so.
func (s *Server) Shutdown(ctx context.Context) error {
	select {
	case <-s.end.done:
		return nil
	default:
	}
	s.flushStore() // while clients are still served
	s.farewell()
	s.listeners.close()
	s.system.Goodbye()
	s.closeReplication()
	if s.jetstream != nil {
		s.jetstream.Close() // while clients can still be told
	}
	err := s.drain(ctx)
	return errors.Join(err, s.Close())
}

// drain closes all connections and waits until they are gone, or ctx is. It looks again and again, since a
// TLS handshake that was under way may still bring one.
func (s *Server) drain(ctx context.Context) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		conns := s.engine.Conns()
		if len(conns) == 0 {
			return nil
		}
		for _, c := range conns {
			c.Close(engine.ReasonShutdown, "")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// Close ends the server at once. It is idempotent and returns when all its goroutines are gone.
func (s *Server) Close() error {
	s.end.once.Do(func() {
		s.listeners.close()
		s.closeReplication()
		s.closeJetStream()
		s.expiry.Stop()
		s.tenants.close()
		s.calloutNow().close() // the engine waits for those who wait for it
		s.closeCluster()
		s.engine.Close()
		s.stop()
		s.running.Wait()
		close(s.end.done)
	})
	<-s.end.done
	return nil
}

// OnReloadRequest says what a reload asked for over the system account does; without it the configuration
// file is read again.
func (s *Server) OnReloadRequest(f func() ([]conf.Change, error)) { s.reload.Store(&f) }

// baseInfo is what INFO says to everybody.
func (s *Server) baseInfo(o *conf.Options) wire.Info {
	name := o.ServerName
	if name == "" {
		name = s.id
	}
	js := o.JetStream != nil && o.JetStream.Enabled
	domain := ""
	if js {
		domain = o.JetStream.Domain
	}
	return wire.Info{
		JetStream:  js,
		Domain:     domain,
		ServerID:   s.id,
		ServerName: name,
		Version:    NATSVersion,
		Runnel:     Version,
		Proto:      wire.ProtocolInfo,
		Go:         runtime.Version(),
		Headers:    !o.NoHeaderSupport,
		MaxPayload: o.Limits.MaxPayloadBytes,
		APILevel:   apiLevel,
		XKey:       s.keys.XKey,
	}
}
