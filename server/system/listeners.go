package system

import "strings"

// listener is a subscription of a service.
type listener struct {
	account string // where it listens; EveryAccount for services of ordinary accounts
	pattern string
	service service
	scope   scope
	local   bool // only clients of this server are answered
}

// scope says whom a request on a subject is for.
type scope int

const (
	thisServer scope = iota // the subject names this server
	allServers              // every server that the filter in the body fits
	oneAccount              // likewise, and the fourth token of the subject names an account
	ownAccount              // likewise, about the account of the requester only
)

// call is a request on its way to a service.
type call struct {
	Request
	from    string // account that the request arrived in and the reply goes to
	about   string // account that the answer is limited to, empty = all
	service service
	scope   scope
}

// listeners lists the subscriptions of the services. Each subject has its own, so that a name that does not
// exist gets "no responders" at once.
func (s *System) listeners(serverID, systemAccount string) []listener {
	own := []listener{
		{EveryAccount, "$SYS.REQ.USER.INFO", service{"USER.INFO", userInfo}, thisServer, true},
		{EveryAccount, "$SYS.REQ.SERVER.PING.CONNZ", service{"CONNZ", connz}, ownAccount, false},
		{EveryAccount, "$SYS.REQ.ACCOUNT.PING.CONNZ", service{"CONNZ", connz}, ownAccount, false},
		{EveryAccount, "$SYS.REQ.ACCOUNT.PING.STATZ", service{"STATZ", accstatz}, ownAccount, false},
	}
	if systemAccount == "" {
		return own
	}
	all := own
	add := func(pattern string, sv service, sc scope) {
		all = append(all, listener{systemAccount, pattern, sv, sc, false})
	}
	add("$SYS.REQ.SERVER.PING", service{"STATSZ", statsz}, allServers)
	for _, sv := range serverServices() {
		add("$SYS.REQ.SERVER.PING."+sv.name, sv, allServers)
		add("$SYS.REQ.SERVER."+serverID+"."+sv.name, sv, thisServer)
	}
	for _, sv := range actionServices() {
		add("$SYS.REQ.SERVER."+serverID+"."+sv.name, sv, thisServer)
	}
	for _, sv := range accountServices() {
		add("$SYS.REQ.ACCOUNT.*."+sv.name, sv, oneAccount)
	}
	add("$SYS.REQ.ACCOUNT.NSUBS", service{"NSUBS", accountSubscribers}, allServers)
	return append(all, listener{
		systemAccount, "$SYS.DEBUG.SUBSCRIBERS", service{"SUBSCRIBERS", debugSubscribers}, thisServer, true,
	})
}

// receiver returns what the bus calls for a request: it only files it.
func (s *System) receiver(l listener) func(Request) {
	system := s.cfg.Pages.Identity().SystemAccount
	return func(r Request) {
		if l.account == EveryAccount && l.local && r.Requester.Account == "" {
			return // not from a client that has logged in
		}
		c := call{Request: r, from: r.Account, service: l.service, scope: l.scope}
		switch l.scope {
		case ownAccount:
			if c.from == system {
				return // it has services of the same name that are not limited
			}
			c.about = c.from
		case oneAccount:
			c.about = token(r.Subject, 3)
			if c.about == "PING" && (l.service.name == "CONNZ" || l.service.name == "STATZ") {
				c.about = ""
			}
		}
		s.queueFor(&c, system).put(c)
	}
}

// queueFor chooses who answers: what takes long and what ordinary accounts ask must not hold up the system
// account. Another server is trusted to let only the system account ask in its name.
func (s *System) queueFor(c *call, system string) *queue[call] {
	switch {
	case c.service.name == "SUBSCRIBERS" && s.cfg.Pages.Remotes() > 0:
		return s.slow // it asks others
	case c.from != system || system == "" || c.Requester.Account != system && c.Requester.Account != "":
		return s.account
	case c.service.name == "RELOAD" || c.service.name == "PROFILEZ":
		return s.slow
	}
	return s.requests
}

// token returns the i-th token of a subject, counted from 0.
func token(subject string, i int) string {
	tokens := strings.Split(subject, ".")
	if i >= len(tokens) {
		return ""
	}
	return tokens[i]
}
