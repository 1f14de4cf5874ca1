package jetstream

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"runnel/jetlog/config"
	"runnel/jetlog/store"
	"runnel/server/accounts"
	"runnel/server/engine"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/clustered"
	"runnel/server/jetstream/delivery"
	"runnel/server/jetstream/events"
	"runnel/server/jetstream/handover"
	"runnel/server/jetstream/ingest"
	"runnel/server/jetstream/lanes"
	"runnel/server/jetstream/overload"
	"runnel/server/jetstream/quota"
	"runnel/server/jetstream/sourcing"
	"runnel/server/jetstream/transfer"
)

// Outlet stages messages of the service and writes them out; *engine.Publisher is one. One goroutine uses it at a
// time.
type Outlet interface {
	Publish(a *accounts.Account, subject, reply string, header, payload []byte) int
	Deliver(a *accounts.Account, to, queue, subject, reply string, header, payload []byte) int
	Blocked(a *accounts.Account, to, queue string, w interface{ Wake() }) bool
	// NoResponders tells c that nobody answers its request.
	NoResponders(c *engine.Conn, subject, reply string) bool
	Flush()
	Close()
}

// Config says what a service stands on and what it allows.
type Config struct {
	Store  *store.Store   // required; closed by whoever opened it, after the service
	Engine *engine.Engine // required
	// System returns the account in which the server tells what its operators should know, nil for none.
	System func() *accounts.Account

	// ServerName and ServerID are shown in answers and advisories.
	ServerName, ServerID string
	// Version is the level of the API's server that clients may count on, as "2.15.2".
	Version string
	// Domain is an additional name of the API: $JS.<domain>.API. Empty for none.
	Domain string
	// Lenient accepts unknown members in requests.
	Lenient bool
	// Sync is the policy that acknowledgements follow, as it is shown: "always" by default.
	Sync string

	// SpoolDir is the folder for what has to be written down while a backup of an older nats-server is restored:
	// files that have no name, or lose it at the next start. Empty for that of the system.
	SpoolDir string

	// Cluster is what the server belongs to, nil for a server alone. With it, streams are told by Opened, Lead, Follow and
	// Closed, and not found in the store.
	Cluster clustered.Cluster

	Limits Limits             // to begin with
	Batch  ingest.BatchLimits // of atomic and fast batches; zero values are the defaults
	// QueueMessages and QueueBytes bound what one stream's publishers may have waiting; 0 is the default.
	QueueMessages, QueueBytes int
	// TotalBytes bounds what of all streams is taken and not stored yet; 0 for no bound. Hold is how long whoever has published so
	// many bytes to a stream is to be kept waiting since memory is scarce; nil for never.
	TotalBytes int64
	Hold       func(bytes int) time.Duration

	Logger *slog.Logger     // default: nothing is logged
	Clock  func() time.Time // default time.Now
}

// Limits are what the whole server allows. Zero is no limit unless it says otherwise.
type Limits struct {
	// MaxMemoryBytes and MaxStoreBytes are of all streams of that storage; -1 is no limit, 0 allows none.
	MaxMemoryBytes, MaxStoreBytes int64
	DuplicateWindow               time.Duration
	MaxAckPending                 int
	MaxRequestBatch               int
	InactiveThreshold             time.Duration
	// DefaultMaxConsumers bounds the consumers of a stream that does not say itself; default 1,000.
	DefaultMaxConsumers int
	// MaxRequests bounds the requests to the API that wait, MaxLooks those that change nothing, which wait elsewhere; more
	// are dropped. Default 10,000 each.
	MaxRequests, MaxLooks int
}

// defaultMaxConsumers is Limits.DefaultMaxConsumers if that is 0.
const defaultMaxConsumers = 1000

// defaultMaxRequests is Limits.MaxRequests and MaxLooks if they are 0.
const defaultMaxRequests = 10_000

// Service answers the JetStream API. Its methods are safe for concurrent use.
type Service struct {
	cfg      Config
	logger   *slog.Logger
	ingest   *ingest.Ingest
	delivery *delivery.Pool
	sourcing *sourcing.Sourcing
	putter   *handover.Putter // puts the server's own messages into streams
	cluster  *cluster         // nil for a server alone
	// changes are requests that change something, and looks those that only look.
	changes, looks *lanes.Lanes[laneKey, *request, Outlet]

	overload overload.Overload
	events   *events.Events
	allowed  atomic.Pointer[Limits]
	requests atomic.Int64   // that were answered,
	failures atomic.Int64   // and with an error
	dropped  atomic.Int64   // requests that came when too many waited
	stored   quota.Occupied // on this server
	quotas   *quota.Table   // what accounts have on all servers
	counted  atomic.Int64   // when all streams were last counted, in nanoseconds since 1970

	// ctx ends with the service: what waits for the store gives up then.
	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup // the events, and what they have begun
	ending  sync.Once

	setting sync.Mutex // guards closed; SetAccounts holds it to its end, and then no other one begins
	closed  bool

	mu       sync.Mutex // guards accounts
	accounts map[*accounts.Account]*account
}

// New returns a service without accounts: SetAccounts gives it some.
func New(cfg Config) *Service {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Sync == "" {
		cfg.Sync = "always"
	}
	s := &Service{cfg: cfg, logger: cfg.Logger, accounts: make(map[*accounts.Account]*account), quotas: quota.NewTable()}
	s.SetLimits(cfg.Limits)
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.events = s.newEvents()
	s.ingest = ingest.New(ingest.Config{
		Outlet:        func() ingest.Outlet { return s.newOutlet() },
		QueueMessages: cfg.QueueMessages,
		QueueBytes:    cfg.QueueBytes,
		TotalBytes:    cfg.TotalBytes,
		Batch:         cfg.Batch,
		Domain:        cfg.Domain,
		Clock:         cfg.Clock,
		Logger:        cfg.Logger,
	})
	s.delivery = delivery.New(delivery.Config{
		Outlet:  func() delivery.Outlet { return s.newOutlet() },
		Watch:   cfg.Engine.WatchInterest,
		Events:  s.events,
		Letters: s.openLetters,
		Refuse:  s.ingest.RefuseSoon,
		Clock:   cfg.Clock,
		Logger:  cfg.Logger,
	})
	s.sourcing = newSourcing(&s.cfg)
	if err := transfer.Sweep(cfg.SpoolDir); err != nil {
		s.logger.Warn("files of former restores stay", "error", err)
	}
	s.overload.Tell = s.tellDropped
	s.changes = s.newLanes(changeWorkers, func() int { return s.allowed.Load().MaxRequests })
	s.looks = s.newLanes(lookWorkers, func() int { return s.allowed.Load().MaxLooks })
	s.running.Go(func() { s.events.Run(s.ctx) })
	if cfg.Cluster != nil {
		s.cluster = newCluster(s, cfg.Cluster)
		s.running.Go(s.cluster.run)
	}
	s.putter = newPutter(s)
	return s
}

// newEvents returns what tells of the service's streams.
func (s *Service) newEvents() *events.Events {
	return events.New(events.Config{
		Outlet: func() events.Outlet { return s.newOutlet() },
		System: func() *accounts.Account {
			if s.cfg.System == nil {
				return nil
			}
			return s.cfg.System()
		},
		Server: s.cfg.ServerName, Domain: s.cfg.Domain, Clock: s.cfg.Clock,
		Inactive: s.consumerInactive, Tripped: s.consumerTripped,
	})
}

// tellDropped says that requests were dropped, to whoever looks after the server.
func (s *Service) tellDropped(dropped int64) {
	s.logger.Warn("too many requests to the JetStream API wait: some were dropped without an answer",
		"dropped", dropped, "in_total", s.dropped.Load())
	s.events.System(&api.APILimitReached{Server: s.cfg.ServerName, Dropped: dropped, Domain: s.cfg.Domain})
}

// SetLimits makes these the limits of the server. What exists already is not looked at again.
func (s *Service) SetLimits(l Limits) {
	l.DefaultMaxConsumers = cmp.Or(l.DefaultMaxConsumers, defaultMaxConsumers)
	l.MaxRequests = cmp.Or(l.MaxRequests, defaultMaxRequests)
	l.MaxLooks = cmp.Or(l.MaxLooks, defaultMaxRequests)
	s.allowed.Store(&l)
}

// newOutlet returns an outlet for one goroutine. Who takes it closes it.
func (s *Service) newOutlet() Outlet { return s.cfg.Engine.NewPublisher() }

// AccountConfig is an account that clients may use. Without Limits it is told that it has no JetStream.
type AccountConfig struct {
	Account *accounts.Account
	Limits  *quota.Limits
}

// SetAccounts makes these the accounts of the service: streams of new ones are served from here on, those of
// accounts that are not among them rest on disk.
func (s *Service) SetAccounts(cfgs []AccountConfig) {
	s.setting.Lock()
	defer s.setting.Unlock()
	if s.closed {
		return
	}
	wanted := make(map[*accounts.Account]bool, len(cfgs))
	for _, c := range cfgs {
		wanted[c.Account] = true
	}
	for _, served := range s.all() {
		if !wanted[served.account] {
			served.close()
			s.forget(served)
		}
	}
	for _, c := range cfgs {
		s.serve(c.Account).setLimits(c.Limits)
	}
}

// SetAccount makes one more account known to the service, or changes its limits.
func (s *Service) SetAccount(c AccountConfig) {
	s.setting.Lock()
	defer s.setting.Unlock()
	if !s.closed {
		s.serve(c.Account).setLimits(c.Limits)
	}
}

// serve returns the account as it is served, a new one if it was not.
func (s *Service) serve(a *accounts.Account) *account {
	s.mu.Lock()
	defer s.mu.Unlock()
	served := s.accounts[a]
	if served == nil {
		served = newAccount(s, a)
		s.accounts[a] = served
	}
	return served
}

// forget lets an account go that was closed.
func (s *Service) forget(a *account) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.accounts, a.account)
}

// all returns all accounts, in no order.
func (s *Service) all() []*account {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.accounts))
}

// Close ends the service: waiting requests of consumers are told so, what was published is carried out. The store
// stays open. Calling it again does nothing but wait for that.
func (s *Service) Close() { s.ending.Do(s.end) }

// end is Close. It holds no lock while it waits, since what is under way may ask for an account.
func (s *Service) end() {
	s.setting.Lock()
	s.closed = true
	s.setting.Unlock()
	if s.cluster != nil {
		s.cluster.waiting.Close()
	}
	s.delivery.Close() // first, while there is still a way to tell the clients
	for _, a := range s.all() {
		a.close()
	}
	if s.cluster != nil {
		s.cluster.settleAll()
	}
	s.changes.Close()
	s.looks.Close()
	s.ingest.Close()
	s.overload.Close()
	s.stop()
	s.running.Wait()
}

// account returns an account that is served, nil for others.
func (s *Service) account(a *accounts.Account) *account {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accounts[a]
}

// named returns the account of a name that may have streams, nil for none.
func (s *Service) named(name string) *account {
	for _, a := range s.all() {
		if a.account.Name() == name && a.limits.Load() != nil {
			return a
		}
	}
	return nil
}

// now is the service's clock in the form of commands.
func (s *Service) now() int64 { return s.cfg.Clock().UnixNano() }

// limits are those that configurations are normalised with.
func (s *Service) limits() config.Limits {
	l := s.allowed.Load()
	return config.Limits{
		DuplicateWindow:   l.DuplicateWindow,
		MaxAckPending:     l.MaxAckPending,
		InactiveThreshold: l.InactiveThreshold,
	}
}
