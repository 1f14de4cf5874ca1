package delivery

import (
	"strconv"
	"strings"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/breaker"
	"runnel/jetlog/config"
	"runnel/server/jetstream/delivery/ahead"
)

// settings is what deliveries need of a consumer's configuration. It never changes: an update makes a new one.
type settings struct {
	filter jetlog.Filter
	*rules
}

// rules is all of the settings but the filter. They never change, and consumers that are configured alike share them.
type rules struct {
	common *config.Consumer // what they were read of

	ack           config.Ack
	maxAckPending int           // 0 for no limit
	shortestWait  time.Duration // the least that an answer may take, 0 for ever
	letters       bool          // what is given up is handed over
	rests         bool          // what failed comes again when a policy says so, which the state knows
	maxDeliver    int
	lasts         bool // begins with the last message of each subject
	headersOnly   bool
	original      bool            // replays as fast as it was stored
	breaker       *breaker.Policy // nil if it is never paused by itself
	ahead         *ahead.Rules    // nil for all messages in the order of the stream
	inactive      time.Duration
	sampling      int // of how many acks out of a hundred a sample is taken

	// Pull consumers.
	maxWaiting, maxBatch, maxBytes int
	maxExpires                     time.Duration
	priority                       config.Priority
	groups                         []string
	pinned                         time.Duration // how long a pin holds without a request

	// Push consumers: the subject is empty for others.
	subject, queue string
	heartbeat      time.Duration
	flowControl    bool
	rate           uint64 // bytes a second, 0 for no limit
}

// settingsOf reads the configuration of a consumer, of which it keeps strings and slices.
func (s *Stream) settingsOf(c *jetlog.Consumer) *settings {
	r := s.rules.Load()
	if r == nil || r.common != c.Common() {
		r = newRules(c.Common())
		r.rests = c.Retries()
		s.rules.Store(r)
	}
	return &settings{filter: c.Filter(), rules: r}
}

func newRules(cfg *config.Consumer) *rules {
	r := &rules{
		common: cfg,
		ack:    cfg.Ack, maxAckPending: max(cfg.MaxAckPending, 0), maxDeliver: cfg.MaxDeliver,
		shortestWait: cfg.AckWait, lasts: cfg.Deliver == config.DeliverLastPerSubject, headersOnly: cfg.HeadersOnly,
		original: cfg.Replay == config.ReplayOriginal, inactive: cfg.Inactive, sampling: sampling(cfg.Sampling),
		maxWaiting: cfg.MaxWaiting, maxBatch: cfg.MaxBatch, maxBytes: cfg.MaxBytes, maxExpires: cfg.MaxExpires,
		priority: cfg.PriorityPolicy, groups: cfg.PriorityGroups, pinned: cfg.PriorityTimeout,
		letters: cfg.Metadata[config.MetadataDeadLetter] != "",
		subject: cfg.DeliverSubject, queue: cfg.DeliverGroup, heartbeat: cfg.Heartbeat, flowControl: cfg.FlowControl,
		rate: cfg.RateLimit / 8,
	}
	r.ahead = ahead.RulesOf(cfg)
	if own, err := cfg.Own(); err == nil { // otherwise it would not have been taken
		r.breaker = own.Breaker
	}
	if cfg.RateLimit > 0 {
		r.rate = max(r.rate, 1)
	}
	if cfg.Ack == config.AckNone || cfg.Ack == config.AckFlowControl {
		r.shortestWait = 0
	}
	for i, wait := range cfg.Backoff {
		if i == 0 || wait < r.shortestWait {
			r.shortestWait = wait
		}
	}
	if cfg.Ack == config.AckNone {
		r.maxAckPending = 0
	}
	return r
}

// push reports whether messages are sent to a subject rather than asked for.
func (s *settings) push() bool { return s.subject != "" }

// sampling returns the number in "30" or "30%", at most 100.
func sampling(text string) int {
	n, err := strconv.ParseUint(strings.TrimSuffix(text, "%"), 10, 63)
	if err != nil {
		return 0
	}
	return int(min(n, 100))
}
