package server

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"runnel/server/accounts"
	"runnel/server/engine"
	"runnel/server/operator"
	"runnel/server/operator/resolver"
)

const (
	// claimsQueue is how many requests about claims may wait. Each may be as large as a message.
	claimsQueue = 64
	// accountToken is the token of a subject that names the account, in requests about one account.
	accountRequests, accountRequestsLegacy = "$SYS.REQ.ACCOUNT.", "$SYS.ACCOUNT."

	claimsUpdate = "$SYS.REQ.CLAIMS.UPDATE"
	claimsDelete = "$SYS.REQ.CLAIMS.DELETE"
	claimsList   = "$SYS.REQ.CLAIMS.LIST"
	claimsPack   = "$SYS.REQ.CLAIMS.PACK"

	updateOfOne = ".CLAIMS.UPDATE"
	lookupOfOne = ".CLAIMS.LOOKUP"
)

// claimsRequest is a request about the JWTs of accounts.
type claimsRequest struct {
	message *engine.Message
	account string // that the subject names; may be empty
	serve   func(*claimsRequest)
}

// claimsService answers requests about the JWTs of accounts, one after the other. Only users of the system account can
// ask.
type claimsService struct {
	server *Server
	system *accounts.Account
	queue  chan *claimsRequest

	subscriptions []*engine.Internal // changed by who holds changing of the tenants, or before anybody knows it
}

// claimsOutcome is the data of an answer, or what went wrong.
type claimsOutcome struct {
	Account     string `json:"account,omitempty"`
	Code        int    `json:"code"`
	Message     string `json:"message,omitempty"`
	Description string `json:"description,omitempty"`
}

// serveClaims begins to answer requests.
func (s *Server) serveClaims() {
	cs := &claimsService{server: s, system: s.state.Load().policy.System(), queue: make(chan *claimsRequest, claimsQueue)}
	s.tenants.claims = cs
	cs.subscribe(s.tenants.source.Load())
	s.running.Go(func() { cs.run(s.ending) })
}

// subscribe subscribes to the requests that a resolver can answer, and to no others.
func (cs *claimsService) subscribe(src *accountSource) {
	for _, i := range cs.subscriptions {
		i.Unsubscribe()
	}
	cs.subscriptions = nil
	cs.on(accountRequests+"*"+updateOfOne, accountRequests, cs.update)
	cs.on(accountRequestsLegacy+"*"+updateOfOne, accountRequestsLegacy, cs.update)
	if src.directory != nil {
		cs.on(claimsUpdate, "", cs.update)
		cs.on(claimsDelete, "", cs.remove)
		cs.on(claimsList, "", cs.list)
	}
	if src.full {
		cs.on(claimsPack, "", cs.pack)
		cs.on(accountRequests+"*"+lookupOfOne, accountRequests, cs.lookup)
	}
}

// on has requests on a pattern served. Where the subject names an account, that follows prefix.
func (cs *claimsService) on(pattern, prefix string, serve func(*claimsRequest)) {
	i := cs.server.engine.Subscribe(cs.system, pattern, "", func(m *engine.Message) {
		if len(m.Payload) > operator.MaxAccountBytes {
			return // it is no JWT
		}
		r := &claimsRequest{message: m.Clone(), serve: serve}
		if prefix != "" {
			r.account, _, _ = strings.Cut(strings.TrimPrefix(string(m.Subject), prefix), ".")
		}
		select {
		case cs.queue <- r:
		default:
			cs.server.logger.Warn("too many requests about account JWTs: one is dropped", "subject", string(m.Subject))
		}
	})
	cs.subscriptions = append(cs.subscriptions, i)
}

// run serves the requests until ctx ends.
func (cs *claimsService) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case r := <-cs.queue:
			r.serve(r)
		}
	}
}

// answer sends bytes to who has asked.
func (cs *claimsService) answer(r *claimsRequest, body []byte) {
	if len(r.message.Reply) > 0 {
		cs.server.engine.Publish(cs.system, string(r.message.Reply), "", nil, body)
	}
}

// done answers that a request was carried out.
func (cs *claimsService) done(r *claimsRequest, data any) {
	cs.answer(r, cs.server.system.Enclose(data, nil))
}

// fail logs and answers that a request was refused.
func (cs *claimsService) fail(r *claimsRequest, account, what string, err error) {
	cs.server.logger.Error(what, "account", account, "error", err)
	cs.answer(r, cs.server.system.Enclose(nil, claimsOutcome{
		Account: account, Code: http.StatusInternalServerError, Description: what + " - " + err.Error(),
	}))
}

// update takes the JWT of an account: it is kept, and in force at once where the account is in use. A JWT whose time is
// over is taken too: it ends the account.
func (cs *claimsService) update(r *claimsRequest) {
	const what = "jwt update resulted in error"
	token := strings.TrimSpace(string(r.message.Payload))
	claims, err := cs.server.state.Load().trusting.trust.ReadAccount(token, r.account, time.Now())
	if err != nil {
		cs.fail(r, firstOf(r.account, operator.Subject(token), "n/a"), what, err)
		return
	}
	kept, err := cs.server.tenants.push(claims)
	if err != nil {
		cs.fail(r, claims.Name(), what, err)
		return
	}
	message := "jwt updated"
	if !kept {
		message = "jwt update cache skipped"
	}
	cs.server.logger.Info(message, "account", claims.Name(), "name", claims.Label())
	cs.done(r, claimsOutcome{Account: claims.Name(), Code: http.StatusOK, Message: message})
}

// remove deletes the JWTs of accounts, all or none, when an operator asks for it.
func (cs *claimsService) remove(r *claimsRequest) {
	st := cs.server.state.Load()
	issuer, names, err := st.trusting.trust.Deletion(strings.TrimSpace(string(r.message.Payload)), time.Now())
	for _, name := range names {
		if name == st.trusting.system {
			err = errors.New("not allowed to delete system account")
		}
	}
	if err == nil {
		err = cs.server.tenants.remove(names)
	}
	if err != nil {
		cs.fail(r, "", fmt.Sprintf("delete accounts request by %s failed", issuer), err)
		return
	}
	message := fmt.Sprintf("deleted %d accounts", len(names))
	cs.server.logger.Info(message, "by", issuer)
	cs.done(r, claimsOutcome{Code: http.StatusOK, Message: message})
}

// list answers with the names of all accounts.
func (cs *claimsService) list(r *claimsRequest) {
	names := []string{}
	if d := cs.server.tenants.source.Load().directory; d != nil { // else a reload came between
		names = append(names, d.Accounts()...)
	}
	cs.done(r, names)
}

// pack sends all accounts, a message each, and then an empty message. Who shows the sum that we have gets only that.
func (cs *claimsService) pack(r *claimsRequest) {
	d := cs.server.tenants.source.Load().directory
	if d == nil {
		return // a reload came between
	}
	sum := d.Sum()
	if shown := string(r.message.Payload); shown != string(sum[:]) && !strings.EqualFold(shown, hex.EncodeToString(sum[:])) {
		for account, token := range d.All() {
			cs.answer(r, []byte(account+"|"+token))
		}
	}
	cs.answer(r, nil)
}

// lookup answers with the JWT of an account, or with nothing.
func (cs *claimsService) lookup(r *claimsRequest) {
	d := cs.server.tenants.source.Load().directory
	if d == nil {
		return // a reload came between
	}
	token, err := d.Fetch(context.Background(), r.account)
	if err != nil && !errors.Is(err, resolver.ErrNotFound) {
		cs.server.logger.Error("look for an account's JWT", "account", r.account, "error", err)
	}
	cs.answer(r, []byte(token))
}

// firstOf returns the first text that is not empty.
func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// push takes claims that were sent to the server: what is kept anywhere is replaced, and an account in use changes. kept
// is false where a resolver keeps only accounts that somebody has asked for, and nobody has asked for this one.
func (t *tenants) push(claims *operator.Account) (kept bool, err error) {
	name, src := claims.Name(), t.source.Load()
	switch {
	case src.full || src.directory != nil && src.directory.Has(name):
		kept, err = true, src.directory.Save(name, claims.Token())
	case src.memory != nil:
		if err = src.memory.Save(name, claims.Token()); err == nil {
			kept = true
		} else if errors.Is(err, resolver.ErrNotFound) {
			err = nil
		}
	}
	if err != nil {
		return false, err
	}
	src.lookup.Forget(name)
	if t.known(name) != nil {
		t.change(claims, true)
		kept = true
	}
	return kept, nil
}

// remove deletes accounts: their JWTs are gone, and whoever uses them is cut off.
func (t *tenants) remove(names []string) error {
	src := t.source.Load()
	if src.directory == nil {
		return resolver.ErrNoDeletes // a reload came between
	}
	for _, name := range names {
		if err := src.directory.Delete(name); err != nil {
			return err
		}
		src.lookup.Forget(name)
		t.drop(name)
	}
	return nil
}

// claimsLookup is a resolver that asks others over the system account.
type claimsLookup struct{ server *Server }

// Fetch implements resolver.Resolver.
func (l claimsLookup) Fetch(ctx context.Context, account string) (string, error) {
	system := l.server.state.Load().policy.System()
	if system == nil {
		return "", errors.New("there is no system account to ask in")
	}
	inbox := "$SYS._INBOX." + newNonce()
	answers := make(chan string, 1)
	in := l.server.engine.Subscribe(system, inbox, "", func(m *engine.Message) {
		select {
		case answers <- string(m.Payload):
		default: // the first one counts
		}
	})
	defer in.Unsubscribe()
	if l.server.engine.Publish(system, accountRequests+account+lookupOfOne, inbox, nil, nil) == 0 {
		return "", errors.New("nobody answers for account JWTs in the system account")
	}
	select {
	case token := <-answers:
		if token == "" {
			return "", resolver.ErrNotFound
		}
		return token, nil
	case <-ctx.Done():
		return "", fmt.Errorf("ask for the JWT of account %s: %w", account, ctx.Err())
	}
}
