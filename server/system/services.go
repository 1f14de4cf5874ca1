package system

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"runnel/server/monitor"
)

// service answers requests of one name: with data for the envelope, with a bare reply, or with an error.
type service struct {
	name   string
	answer func(context.Context, *System, *call) (any, error)
}

// answer lets a service do its work and replies, unless the request is for other servers.
func (s *System) answer(ctx context.Context, c *call) {
	data, err := any(nil), error(nil)
	if c.scope != thisServer {
		f, bad := readFilter(c.Payload)
		id := s.cfg.Pages.Identity()
		if bad == nil && !f.fits(&id) {
			return
		}
		err = bad
	}
	if err == nil {
		data, err = c.service.answer(ctx, s, c)
	}
	s.reply(c, data, err)
}

// serverServices lists what a server tells about itself.
func serverServices() []service {
	return []service{
		{"IDZ", func(_ context.Context, s *System, _ *call) (any, error) { return bare{s.cfg.Pages.Idz()}, nil }},
		{"STATSZ", statsz},
		{"VARZ", func(_ context.Context, s *System, _ *call) (any, error) { return s.cfg.Pages.Varz(), nil }},
		{"CONNZ", connz},
		{"SUBSZ", subsz},
		{"ROUTEZ", page((*monitor.Pages).Routez, nil)},
		{"GATEWAYZ", page((*monitor.Pages).Gatewayz, nil)},
		{"LEAFZ", leafz},
		{"ACCOUNTZ", page((*monitor.Pages).Accountz, nil)},
		{"JSZ", page((*monitor.Pages).Jsz, nil)},
		{"HEALTHZ", healthz},
		{"EXPVARZ", func(_ context.Context, s *System, _ *call) (any, error) { return s.cfg.Pages.Expvarz(), nil }},
		{"IPQUEUESZ", page((*monitor.Pages).Ipqueuesz, nil)},
		{"RAFTZ", page((*monitor.Pages).Raftz, nil)},
		{"PROFILEZ", profilez},
	}
}

// accountServices lists what a server tells about one account.
func accountServices() []service {
	return []service{
		{"SUBSZ", subsz},
		{"CONNZ", connz},
		{"LEAFZ", leafz},
		{"JSZ", page((*monitor.Pages).JszAccount, func(o *monitor.JszOptions, c *call) { o.Account = c.about })},
		{"INFO", func(_ context.Context, s *System, c *call) (any, error) { return s.cfg.Pages.AccountDetail(c.about) }},
		{"STATZ", accstatz},
		{"CONNS", accountConns},
	}
}

// actionServices lists what changes the server.
func actionServices() []service {
	return []service{
		{"RELOAD", func(_ context.Context, s *System, _ *call) (any, error) { return reload(s.cfg.Actions) }},
		{"KICK", onConnection(Actions.Kick, "no such client or leafnode id")},
		{"LDM", onConnection(Actions.SendLameDuck, "no such client id")},
	}
}

// reloaded is what a reload has changed, without secrets.
type reloaded struct {
	Changes []string `json:"changes"`
}

func reload(a Actions) (any, error) {
	changes, err := a.Reload()
	if err != nil || len(changes) == 0 {
		return nil, err
	}
	return reloaded{changes}, nil
}

// page makes a service of a page. limit, where given, narrows the options down to what the call is about.
func page[O any, P interface {
	*O
	monitor.Parameters
}, R any](build func(*monitor.Pages, O) (R, error), limit func(*O, *call),
) func(context.Context, *System, *call) (any, error) {
	return func(_ context.Context, s *System, c *call) (any, error) {
		var options O
		if err := monitor.FromJSON(c.Payload, P(&options)); err != nil {
			return nil, err
		}
		if limit != nil {
			limit(&options, c)
		}
		return build(s.cfg.Pages, options)
	}
}

func statsz(_ context.Context, s *System, _ *call) (any, error) {
	return bare{s.statszMessage()}, nil
}

// statszMessage is both the reply to a ping and an event.
type statszMessage struct {
	Server ServerInfo      `json:"server"`
	Statsz *monitor.Statsz `json:"statsz"`
}

func (s *System) statszMessage() statszMessage {
	return statszMessage{Server: s.serverInfo(), Statsz: s.cfg.Pages.Statsz()}
}

func connz(ctx context.Context, s *System, c *call) (any, error) {
	return page((*monitor.Pages).Connz, func(o *monitor.ConnzOptions, c *call) {
		if c.about != "" {
			o.Account = c.about
		}
	})(ctx, s, c)
}

// subsz lists subscriptions even unasked when it is about one account.
func subsz(ctx context.Context, s *System, c *call) (any, error) {
	return page((*monitor.Pages).Subsz, func(o *monitor.SubszOptions, c *call) {
		if c.about != "" {
			o.Account, o.Subscriptions = c.about, true
		}
	})(ctx, s, c)
}

func leafz(ctx context.Context, s *System, c *call) (any, error) {
	return page((*monitor.Pages).Leafz, func(o *monitor.LeafzOptions, c *call) {
		if c.about != "" {
			o.Account = c.about
		}
	})(ctx, s, c)
}

// accstatz shows an account that the subject names even when nobody uses it.
func accstatz(ctx context.Context, s *System, c *call) (any, error) {
	return page((*monitor.Pages).Accstatz, func(o *monitor.AccstatzOptions, c *call) {
		if c.about != "" {
			o.Accounts, o.IncludeUnused = []string{c.about}, true
		}
	})(ctx, s, c)
}

func healthz(ctx context.Context, s *System, c *call) (any, error) {
	return page(func(p *monitor.Pages, o monitor.HealthzOptions) (*monitor.Healthz, error) {
		return p.Healthz(o), nil
	}, nil)(ctx, s, c)
}

func profilez(ctx context.Context, s *System, c *call) (any, error) {
	return page(func(p *monitor.Pages, o monitor.ProfilezOptions) (*monitor.Profilez, error) {
		return p.Profilez(ctx, o), nil
	}, nil)(ctx, s, c)
}

// accountConns answers in the form of the event.
func accountConns(_ context.Context, s *System, c *call) (any, error) {
	a, ok := s.cfg.Pages.AccountFigures(c.about)
	if !ok {
		return nil, badRequest("Account %s does not exist", c.about)
	}
	return bare{s.connsEvent(a)}, nil
}

// userData is the answer about a user.
type userData struct {
	User        string        `json:"user"`
	Account     string        `json:"account"`
	AccountName string        `json:"account_name,omitempty"`
	UserName    string        `json:"user_name,omitempty"`
	Permissions *Permissions  `json:"permissions,omitempty"`
	Expires     time.Duration `json:"expires,omitempty"`
}

// userInfo tells users who they are.
func userInfo(_ context.Context, _ *System, c *call) (any, error) {
	r := c.Requester
	name := r.AccountName
	if name == "" {
		name = r.Account
	}
	return userData{
		User: r.User, Account: r.Account, AccountName: name, UserName: r.UserName,
		Permissions: r.Permissions, Expires: r.Expires,
	}, nil
}

// onConnection makes a service of an action on the connection whose cid is in the body.
func onConnection(act func(Actions, uint64) bool, missing string) func(context.Context, *System, *call) (any, error) {
	return func(_ context.Context, s *System, c *call) (any, error) {
		var body struct {
			CID uint64 `json:"cid"`
		}
		if err := json.Unmarshal(c.Payload, &body); err != nil {
			return nil, badRequest(`the request must be a JSON object with a "cid": %v`, err)
		}
		if !act(s.cfg.Actions, body.CID) {
			return nil, errors.New(missing)
		}
		return nil, nil
	}
}

func badRequest(format string, args ...any) error {
	return &monitor.RequestError{Code: http.StatusBadRequest, Text: fmt.Sprintf(format, args...)}
}
