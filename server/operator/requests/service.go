package requests

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"runnel/server/operator"
	"runnel/server/operator/resolver"
)

// queueLength is how many requests may wait. Each may be as large as a message.
const queueLength = 64

// The subjects of requests. Some are about one account, whose name stands between prefix and suffix.
const (
	accountPrefix = "$SYS.REQ.ACCOUNT."
	legacyPrefix  = "$SYS.ACCOUNT."
	updateSuffix  = ".CLAIMS.UPDATE"
	lookupSuffix  = ".CLAIMS.LOOKUP"

	updateSubject = "$SYS.REQ.CLAIMS.UPDATE"
	deleteSubject = "$SYS.REQ.CLAIMS.DELETE"
	listSubject   = "$SYS.REQ.CLAIMS.LIST"
	packSubject   = "$SYS.REQ.CLAIMS.PACK"
)

// Bus is the system account. Its methods are safe for concurrent use.
type Bus interface {
	// Publish sends a message and returns how many get it.
	Publish(subject, reply string, payload []byte) int
	// Subscribe has handler called with what comes on a pattern. It must not block; the payload may be kept.
	Subscribe(pattern string, handler func(subject, reply string, payload []byte)) (cancel func())
	// Enclose writes an answer as services of the server do: data, or a failure.
	Enclose(data, failure any) []byte
}

// Accounts are those of the server. Its methods are safe for concurrent use.
type Accounts interface {
	// Trust is whom the server trusts now.
	Trust() *operator.Trust
	// System is the name of the system account.
	System() string
	// Source is where accounts are found now.
	Source() *resolver.Source
	// Push puts the new claims of an account into force, and keeps its JWT. kept is false where nothing had to be done.
	Push(claims *operator.Account) (kept bool, err error)
	// Remove deletes accounts.
	Remove(names []string) error
}

// Service answers requests. Its methods are safe for concurrent use.
type Service struct {
	bus      Bus
	accounts Accounts
	logger   *slog.Logger
	queue    chan *request

	mu      sync.Mutex // guards cancels
	cancels []func()   // of the subscriptions
}

// request is one that waits.
type request struct {
	subject, reply string
	payload        []byte
	account        string // that the subject names; may be empty
	serve          func(*request)
}

// outcome is the data of an answer, or what went wrong.
type outcome struct {
	Account     string `json:"account,omitempty"`
	Code        int    `json:"code"`
	Message     string `json:"message,omitempty"`
	Description string `json:"description,omitempty"`
}

// New makes a Service. It hears nothing before Subscribe, and answers nothing before Run.
func New(bus Bus, accounts Accounts, logger *slog.Logger) *Service {
	return &Service{bus: bus, accounts: accounts, logger: logger, queue: make(chan *request, queueLength)}
}

// Subscribe subscribes to the requests that the source of accounts can answer, and to no others. It is called again when
// that is another one.
func (s *Service) Subscribe() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, cancel := range s.cancels {
		cancel()
	}
	s.cancels = nil
	s.on(accountPrefix+"*"+updateSuffix, accountPrefix, s.update)
	s.on(legacyPrefix+"*"+updateSuffix, legacyPrefix, s.update)
	src := s.accounts.Source()
	if src.Directory() != nil {
		s.on(updateSubject, "", s.update)
		s.on(deleteSubject, "", s.remove)
		s.on(listSubject, "", s.list)
	}
	if src.Complete() {
		s.on(packSubject, "", s.pack)
		s.on(accountPrefix+"*"+lookupSuffix, accountPrefix, s.lookup)
	}
}

// on has requests on a pattern served. Where the subject names an account, that follows prefix.
func (s *Service) on(pattern, prefix string, serve func(*request)) {
	s.cancels = append(s.cancels, s.bus.Subscribe(pattern, func(subject, reply string, payload []byte) {
		if len(payload) > operator.MaxAccountBytes {
			return // it is no JWT
		}
		r := &request{subject: subject, reply: reply, payload: payload, serve: serve}
		if prefix != "" {
			r.account, _, _ = strings.Cut(strings.TrimPrefix(subject, prefix), ".")
		}
		select {
		case s.queue <- r:
		default:
			s.logger.Warn("too many requests about account JWTs: one is dropped", "subject", subject)
		}
	}))
}

// Run answers requests until ctx ends.
func (s *Service) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case r := <-s.queue:
			r.serve(r)
		}
	}
}

// answer sends bytes to who has asked.
func (s *Service) answer(r *request, body []byte) {
	if r.reply != "" {
		s.bus.Publish(r.reply, "", body)
	}
}

// done answers that a request was carried out.
func (s *Service) done(r *request, data any) { s.answer(r, s.bus.Enclose(data, nil)) }

// fail logs and answers that a request was refused.
func (s *Service) fail(r *request, account, what string, err error) {
	s.logger.Error(what, "account", account, "error", err)
	s.answer(r, s.bus.Enclose(nil, outcome{
		Account: account, Code: http.StatusInternalServerError, Description: what + " - " + err.Error(),
	}))
}

// update takes the JWT of an account: it is kept, and in force at once where the account is in use. A JWT whose time is
// over is taken too: it ends the account.
func (s *Service) update(r *request) {
	const what = "jwt update resulted in error"
	token := strings.TrimSpace(string(r.payload))
	claims, err := s.accounts.Trust().ReadAccount(token, r.account, time.Now())
	if err != nil {
		s.fail(r, cmp.Or(r.account, operator.Subject(token), "n/a"), what, err)
		return
	}
	kept, err := s.accounts.Push(claims)
	if err != nil {
		s.fail(r, claims.Name(), what, err)
		return
	}
	message := "jwt updated"
	if !kept {
		message = "jwt update cache skipped"
	}
	s.logger.Info(message, "account", claims.Name(), "name", claims.Label())
	s.done(r, outcome{Account: claims.Name(), Code: http.StatusOK, Message: message})
}

// remove deletes the JWTs of accounts when an operator asks for it.
func (s *Service) remove(r *request) {
	issuer, names, err := s.accounts.Trust().Deletion(strings.TrimSpace(string(r.payload)), time.Now())
	for _, name := range names {
		if name == s.accounts.System() {
			err = errors.New("not allowed to delete system account")
		}
	}
	if err == nil {
		err = s.accounts.Remove(names)
	}
	if err != nil {
		s.fail(r, "", fmt.Sprintf("delete accounts request by %s failed", issuer), err)
		return
	}
	message := fmt.Sprintf("deleted %d accounts", len(names))
	s.logger.Info(message, "by", issuer)
	s.done(r, outcome{Code: http.StatusOK, Message: message})
}

// directory is where accounts are kept. It is nil for a request that came just before a reload.
func (s *Service) directory() *resolver.Directory { return s.accounts.Source().Directory() }

// list answers with the names of all accounts.
func (s *Service) list(r *request) {
	names := []string{}
	if d := s.directory(); d != nil {
		names = append(names, d.Accounts()...)
	}
	s.done(r, names)
}

// pack sends all accounts, a message each, and then an empty message. Who shows the sum that we have gets only that.
func (s *Service) pack(r *request) {
	d := s.directory()
	if d == nil {
		return
	}
	sum := d.Sum()
	if shown := string(r.payload); shown != string(sum[:]) && !strings.EqualFold(shown, hex.EncodeToString(sum[:])) {
		for account, token := range d.All() {
			s.answer(r, []byte(account+"|"+token))
		}
	}
	s.answer(r, nil)
}

// lookup answers with the JWT of an account, or with nothing.
func (s *Service) lookup(r *request) {
	d := s.directory()
	if d == nil {
		return
	}
	token, err := d.Fetch(context.Background(), r.account)
	if err != nil && !errors.Is(err, resolver.ErrNotFound) {
		s.logger.Error("look for an account's JWT", "account", r.account, "error", err)
	}
	s.answer(r, []byte(token))
}
