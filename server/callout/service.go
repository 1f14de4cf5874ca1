package callout

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nkeys"
)

// DefaultWaiting is how many clients are asked about at a time when nothing else is said.
const DefaultWaiting = 1024

var (
	// ErrNoAnswer: the service has not answered in time.
	ErrNoAnswer = errors.New("no answer in time")
	// ErrNoService: nobody has subscribed to be asked, in all the time that there was.
	ErrNoService = errors.New("no service to ask")
	// ErrBusy: others have waited for all the time that there was.
	ErrBusy = errors.New("too many clients wait for the service")
	// ErrClosed: the service is not asked any more.
	ErrClosed = errors.New("callout is closed")
)

// Bus is the account that the service lives in.
type Bus interface {
	// Publish sends a message and returns how many get it.
	Publish(subject, reply string, header, payload []byte) int
	// Subscribe has handler called with what comes on a pattern. It must not block, and keeps nothing.
	Subscribe(pattern string, handler func(subject, payload []byte)) (cancel func())
	// Watch calls changed with whether anybody has subscribed to a subject, at once and when that changes.
	Watch(subject string, changed func(interest bool)) (cancel func())
}

// Keys are those of the server: one that it signs with, and one that others seal messages with.
type Keys struct {
	Sign, Curve nkeys.KeyPair
	// ID and XKey are their public keys.
	ID, XKey string
}

// Config is what a Service needs.
type Config struct {
	Bus    Bus
	Keys   Keys
	Server func() Server // the server as it is now
	// Subject is the public key of the account that vouches, which requests are about.
	Subject string
	// Trusts tells whether an issuer may answer; account is whom it says that it signs for, mostly empty.
	Trusts func(issuer, account string) bool
	// XKey is the service's public curve key; empty sends requests in clear.
	XKey string
	// MaxWaiting bounds how many clients are asked about at a time, DefaultWaiting when 0. Others wait for their turn.
	MaxWaiting int
}

// Service is one service that is asked. It is safe for concurrent use.
type Service struct {
	cfg   Config
	inbox string // what the subjects of answers begin with
	turns chan struct{}
	done  chan struct{}

	listening sync.Once

	mu      sync.Mutex // guards what follows; the bus is not used while it is held
	waiting map[string]chan []byte
	cancel  func() // of the subscription to answers; nil while there is none
	closed  bool
}

// New makes a Service. It does nothing before it is asked.
func New(cfg Config) *Service {
	if cfg.MaxWaiting <= 0 {
		cfg.MaxWaiting = DefaultWaiting
	}
	return &Service{
		cfg:     cfg,
		inbox:   "$SYS._INBOX." + token() + ".",
		turns:   make(chan struct{}, cfg.MaxWaiting),
		done:    make(chan struct{}),
		waiting: make(map[string]chan []byte),
	}
}

// token is a token of a subject that nobody can guess.
func token() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // it never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Answer is what the service has said of a client.
type Answer struct {
	// User is the JWT of the user that the client shall be, as the service has sent it.
	User string
	// Key is the public key that was made up for the client: the subject that the JWT must have.
	Key string
}

// Ask asks about a client, and returns when there is an answer or ctx has ended, which needs a deadline. A service that
// is not there may still come: after a restart of the server it is one client among many.
func (s *Service) Ask(ctx context.Context, q *Question) (*Answer, error) {
	select {
	case s.turns <- struct{}{}:
		defer func() { <-s.turns }()
	case <-ctx.Done():
		return nil, ErrBusy
	case <-s.done:
		return nil, ErrClosed
	}
	expires, _ := ctx.Deadline()
	r, err := s.newRequest(q, expires)
	if err != nil {
		return nil, err
	}
	payload, err := s.exchange(ctx, r)
	if err != nil {
		return nil, err
	}
	e := Expectation{User: r.user, Server: s.cfg.Keys.ID, Trusts: s.cfg.Trusts, Curve: s.cfg.Keys.Curve, XKey: s.cfg.XKey}
	user, err := e.Read(payload, time.Now())
	if err != nil {
		return nil, err
	}
	return &Answer{User: user, Key: r.user}, nil
}

// exchange sends a request and waits for what comes back. The first answer counts.
func (s *Service) exchange(ctx context.Context, r *request) ([]byte, error) {
	s.listening.Do(s.listen)
	name, answer := s.expect()
	defer s.forget(name)
	if err := s.send(ctx, r, s.inbox+name); err != nil {
		return nil, err
	}
	select {
	case payload := <-answer:
		return payload, nil
	case <-ctx.Done():
		return nil, ErrNoAnswer
	case <-s.done:
		return nil, ErrClosed
	}
}

// send publishes a request, as soon as somebody is there to get it.
func (s *Service) send(ctx context.Context, r *request, reply string) error {
	if s.cfg.Bus.Publish(Subject, reply, r.header, r.payload) > 0 {
		return nil
	}
	came := make(chan struct{}, 1)
	cancel := s.cfg.Bus.Watch(Subject, func(interest bool) {
		if !interest {
			return
		}
		select {
		case came <- struct{}{}:
		default:
		}
	})
	defer cancel()
	for {
		select {
		case <-came:
			if s.cfg.Bus.Publish(Subject, reply, r.header, r.payload) > 0 {
				return nil
			}
		case <-ctx.Done():
			return ErrNoService
		case <-s.done:
			return ErrClosed
		}
	}
}

// expect makes a name for an answer, and the channel that it comes by.
func (s *Service) expect() (name string, answer chan []byte) {
	name, answer = token(), make(chan []byte, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting[name] = answer
	return name, answer
}

// forget drops an answer that nobody waits for any more.
func (s *Service) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting, name)
}

// listen subscribes to answers. It is called once, by the first who asks.
func (s *Service) listen() {
	cancel := s.cfg.Bus.Subscribe(s.inbox+"*", s.answered)
	s.mu.Lock()
	closed := s.closed
	if !closed {
		s.cancel = cancel
	}
	s.mu.Unlock()
	if closed {
		cancel()
	}
}

// answered hands an answer to who waits for it. Only the first one counts, and none that comes too late.
func (s *Service) answered(subject, payload []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := strings.TrimPrefix(string(subject), s.inbox)
	answer := s.waiting[name]
	if answer == nil {
		return
	}
	delete(s.waiting, name)
	answer <- append([]byte(nil), payload[:min(len(payload), MaxAnswerBytes+1)]...)
}

// Close ends all questions. It does not wait for them.
func (s *Service) Close() {
	s.mu.Lock()
	cancel, closed := s.cancel, s.closed
	s.cancel, s.closed = nil, true
	s.mu.Unlock()
	if !closed {
		close(s.done)
	}
	if cancel != nil {
		cancel()
	}
}
