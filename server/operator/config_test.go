package operator_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"runnel/server/accounts"
	"runnel/server/operator"
)

func nobody(string) *operator.Account { return nil }

func TestPlan(t *testing.T) {
	w := newWorld(t)
	exporter := newKey(t, nkeys.CreateAccount).public
	a := w.read(t, func(c *jwt.AccountClaims) {
		c.Limits.Conn, c.Limits.Subs, c.Limits.Payload, c.Limits.LeafNodeConn = 5, 0, -1, 2
		c.Exports.Add(
			&jwt.Export{Subject: "news.>", Type: jwt.Stream},
			&jwt.Export{
				Subject: "q.*", Type: jwt.Service, TokenReq: true, ResponseType: jwt.ResponseTypeChunked, ResponseThreshold: time.Second,
				Latency: &jwt.ServiceLatency{Sampling: 50, Results: "lat"}, AccountTokenPosition: 2, AllowTrace: true,
			},
		)
		c.Imports.Add(
			&jwt.Import{Account: exporter, Subject: "s.>", Type: jwt.Stream},
			//lint:ignore SA1019 tokens that were written the older way are read
			&jwt.Import{Account: exporter, Subject: "p.>", To: "pre.", Type: jwt.Stream},
			&jwt.Import{Account: exporter, Subject: "l.*", LocalSubject: "here.$1", Type: jwt.Stream, AllowTrace: true},
			//lint:ignore SA1019 likewise
			&jwt.Import{Account: exporter, Subject: "mine", To: "theirs", Type: jwt.Service, Share: true},
			&jwt.Import{Account: exporter, Subject: "theirs.*", LocalSubject: "mine.*", Type: jwt.Service},
		)
		c.Mappings = jwt.Mapping{}
		c.AddMapping("b", jwt.WeightedMapping{Subject: "c"})
		c.AddMapping("a.*", jwt.WeightedMapping{Subject: "x.$1", Weight: 20}, jwt.WeightedMapping{Subject: "y.$1", Weight: 30, Cluster: "east"}, jwt.WeightedMapping{Subject: "z.$1", Weight: 40, Cluster: "west"})
		c.AddMapping("only", jwt.WeightedMapping{Subject: "there", Cluster: "west"})
		c.Trace = &jwt.MsgTrace{Destination: "traces"}
	})
	want := accounts.AccountConfig{
		Name: w.account.public, NKey: w.account.public,
		Limits: accounts.Limits{MaxConnections: 5, MaxSubscriptions: accounts.Nothing, MaxLeafNodes: 2},
		Exports: []accounts.ExportConfig{
			{Subject: "news.>"},
			{
				Service: true, Subject: "q.*", Private: true, Response: accounts.ResponseChunked, Threshold: time.Second,
				Latency: &accounts.LatencyConfig{Subject: "lat", Sampling: 50}, AccountTokenPosition: 2, AllowTrace: true,
			},
		},
		Imports: []accounts.ImportConfig{
			{Account: exporter, Subject: "l.*", To: "here.$1", AllowTrace: true},
			{Service: true, Account: exporter, Subject: "theirs", To: "mine", Share: true},
			{Account: exporter, Subject: "p.>", To: "pre.p.>"},
			{Account: exporter, Subject: "s.>"},
			{Service: true, Account: exporter, Subject: "theirs.*", To: "mine.*"},
		},
		Mappings: []accounts.MappingConfig{
			{Source: "a.*", Destinations: []accounts.MappingDestination{{Subject: "x.$1", Weight: 20}, {Subject: "y.$1", Weight: 30}}},
			{Source: "b", Destinations: []accounts.MappingDestination{{Subject: "c", Weight: 100}}},
		},
		Trace: &accounts.TraceConfig{Destination: "traces", Sampling: 100},
	}
	p := a.Plan(nobody, "east", w.now)
	if !reflect.DeepEqual(p.Account, want) {
		t.Errorf("got\n%+v\nwant\n%+v", p.Account, want)
	}
	if len(p.Refused) != 0 || !p.Until.IsZero() {
		t.Errorf("refused %v, until %v", p.Refused, p.Until)
	}
	if got := a.Exporters(); !reflect.DeepEqual(got, []string{exporter}) {
		t.Errorf("exporters: got %q", got)
	}
	// What the plan says, a registry takes.
	r := accounts.NewRegistry()
	r.Put(accounts.AccountConfig{Name: exporter, Exports: []accounts.ExportConfig{
		{Subject: ">"}, {Subject: ">", Service: true},
	}})
	if _, errs := r.Put(p.Account); len(errs) > 0 {
		t.Errorf("put: %v", errs)
	}
}

// TestPlanInTime: an account shares nothing when its time is over or has not come, and the plan says when that changes.
func TestPlanInTime(t *testing.T) {
	w := newWorld(t)
	at := func(d time.Duration) time.Time { return w.now.Add(d).Truncate(time.Second) }
	for _, tt := range []struct {
		name       string
		begin, end time.Time
		shares     bool
		until      time.Time
	}{
		{name: "for ever", shares: true},
		{name: "ends later", end: at(time.Hour), shares: true, until: at(time.Hour)},
		{name: "has ended", end: at(-time.Hour)},
		{name: "ends now", end: at(0)},
		{name: "begins later", begin: at(time.Hour), end: at(2 * time.Hour), until: at(time.Hour)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := w.read(t, func(c *jwt.AccountClaims) {
				c.Exports.Add(&jwt.Export{Subject: "foo", Type: jwt.Stream})
				c.Imports.Add(&jwt.Import{Account: newKey(t, nkeys.CreateAccount).public, Subject: "bar", Type: jwt.Stream})
				if !tt.begin.IsZero() {
					c.NotBefore = tt.begin.Unix()
				}
				if !tt.end.IsZero() {
					c.Expires = tt.end.Unix()
				}
			})
			p := a.Plan(nobody, "", w.now)
			if got := len(p.Account.Exports) + len(p.Account.Imports); (got == 2) != tt.shares || got%2 != 0 || !p.Until.Equal(tt.until) {
				t.Errorf("it shares %d, until %v", got, p.Until)
			}
		})
	}
}

func TestActivation(t *testing.T) {
	w := newWorld(t)
	theirs, signing, stranger := newKey(t, nkeys.CreateAccount), newKey(t, nkeys.CreateAccount), newKey(t, nkeys.CreateAccount)
	role := newKey(t, nkeys.CreateAccount)
	ends := w.now.Add(time.Hour).Truncate(time.Second)
	exports := func(change func(*jwt.Export)) *operator.Account {
		c := jwt.NewAccountClaims(theirs.public)
		c.SigningKeys.Add(signing.public)
		scope := jwt.NewUserScope()
		scope.Key = role.public
		c.SigningKeys.AddScopedSigner(scope)
		e := &jwt.Export{Subject: "priv.>", Type: jwt.Stream, TokenReq: true}
		if change != nil {
			change(e)
		}
		c.Exports.Add(e)
		a, err := w.trust.ReadAccount(w.operator.sign(t, c), "", w.now)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	plain := exports(nil)
	for _, tt := range []struct {
		name     string
		by       key
		change   func(*jwt.ActivationClaims)
		exporter *operator.Account
		want     error
		until    time.Time
	}{
		{name: "good", by: theirs, exporter: plain},
		{name: "wider", by: theirs, exporter: plain, change: func(c *jwt.ActivationClaims) { c.ImportSubject = "priv.>" }},
		{name: "with an end", by: theirs, exporter: plain, change: func(c *jwt.ActivationClaims) { c.Expires = ends.Unix() }, until: ends},
		{name: "by a signing key", by: signing, exporter: plain, change: func(c *jwt.ActivationClaims) { c.IssuerAccount = theirs.public }},
		{
			name: "by a key for users", by: role, exporter: plain, change: func(c *jwt.ActivationClaims) { c.IssuerAccount = theirs.public },
			want: operator.ErrUntrusted,
		},
		{name: "expired", by: theirs, exporter: plain, change: func(c *jwt.ActivationClaims) { c.Expires = w.now.Unix() }, want: operator.ErrExpired},
		{
			name: "not yet", by: theirs, exporter: plain, change: func(c *jwt.ActivationClaims) { c.NotBefore = ends.Unix() },
			want: operator.ErrNotYetValid, until: ends,
		},
		{name: "no exporter", by: theirs, want: operator.ErrNoExporter},
		{
			name: "revoked", by: theirs, exporter: exports(func(e *jwt.Export) { e.RevokeAt(w.account.public, w.now.Add(time.Hour)) }),
			want: operator.ErrRevoked,
		},
		{
			name: "all revoked", by: theirs, exporter: exports(func(e *jwt.Export) { e.RevokeAt("*", w.now.Add(time.Hour)) }),
			want: operator.ErrRevoked,
		},
		{
			name: "revoked earlier", by: theirs, exporter: exports(func(e *jwt.Export) { e.RevokeAt("*", w.now.Add(-time.Hour)) }),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			act := jwt.NewActivationClaims(w.account.public)
			act.ImportSubject, act.ImportType = "priv.x", jwt.Stream
			if tt.change != nil {
				tt.change(act)
			}
			a := w.read(t, func(c *jwt.AccountClaims) {
				c.Imports.Add(&jwt.Import{Account: theirs.public, Subject: "priv.x", Type: jwt.Stream, Token: tt.by.sign(t, act)})
			})
			p := a.Plan(func(string) *operator.Account { return tt.exporter }, "", w.now)
			if got := p.Account.Imports[0].Approved; got != (tt.want == nil) {
				t.Errorf("approved: got %v", got)
			}
			if err := errors.Join(p.Refused...); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if !p.Until.Equal(tt.until) {
				t.Errorf("until: got %v, want %v", p.Until, tt.until)
			}
		})
	}
	// What is wrong with a token for all times keeps out the account that has it.
	for _, tt := range []struct {
		name   string
		by     key
		change func(*jwt.ActivationClaims)
		token  string
	}{
		{name: "by a stranger", by: stranger},
		{name: "by a signing key that names no account", by: signing},
		{name: "for another importer", by: theirs, change: func(c *jwt.ActivationClaims) { c.Subject = stranger.public }},
		{name: "for another subject", by: theirs, change: func(c *jwt.ActivationClaims) { c.ImportSubject = "priv.y" }},
		{name: "for a service", by: theirs, change: func(c *jwt.ActivationClaims) { c.ImportType = jwt.Service }},
		{name: "garbage", token: "garbage"},
		{name: "a URL", token: "http://127.0.0.1:1/token"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			token := tt.token
			if token == "" {
				act := jwt.NewActivationClaims(w.account.public)
				act.ImportSubject, act.ImportType = "priv.x", jwt.Stream
				if tt.change != nil {
					tt.change(act)
				}
				token = tt.by.sign(t, act)
			}
			c := jwt.NewAccountClaims(w.account.public)
			c.Imports.Add(&jwt.Import{Account: theirs.public, Subject: "priv.x", Type: jwt.Stream, Token: token})
			if _, err := w.trust.ReadAccount(w.operator.sign(t, c), "", w.now); !errors.Is(err, operator.ErrClaims) {
				t.Errorf("got %v, want %v", err, operator.ErrClaims)
			}
		})
	}
}

func TestAccountLimitsOfOperator(t *testing.T) {
	w := newWorld(t)
	for name, change := range map[string]func(*jwt.AccountClaims){
		"exports": func(c *jwt.AccountClaims) {
			c.Limits.Exports = 0
			c.Exports.Add(&jwt.Export{Subject: "a", Type: jwt.Stream})
		},
		"imports": func(c *jwt.AccountClaims) {
			c.Limits.Imports = 0
			c.Imports.Add(&jwt.Import{Account: newKey(t, nkeys.CreateAccount).public, Subject: "a", Type: jwt.Stream})
		},
		"wildcards": func(c *jwt.AccountClaims) {
			c.Limits.WildcardExports = false
			c.Exports.Add(&jwt.Export{Subject: "a.*", Type: jwt.Stream})
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := w.trust.ReadAccount(w.accountToken(t, w.operator, change), "", w.now); !errors.Is(err, operator.ErrClaims) {
				t.Errorf("got %v, want %v", err, operator.ErrClaims)
			}
		})
	}
}

func TestJetStreamLimits(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct {
		name   string
		change func(*jwt.AccountClaims)
		want   *operator.JetStream
	}{
		{"none", nil, nil},
		{
			"some", func(c *jwt.AccountClaims) {
				c.Limits.JetStreamLimits = jwt.JetStreamLimits{
					MemoryStorage: 1, DiskStorage: 2, Streams: 3, Consumer: 4, MaxAckPending: 5, MemoryMaxStreamBytes: 6, DiskMaxStreamBytes: 7, MaxBytesRequired: true,
				}
			},
			&operator.JetStream{1, 2, 3, 4, 5, 6, 7, true, nil},
		},
		{
			"zeros", func(c *jwt.AccountClaims) { c.Limits.JetStreamLimits = jwt.JetStreamLimits{DiskStorage: -1} },
			&operator.JetStream{0, -1, -1, -1, -1, -1, -1, false, nil},
		},
		{
			"tiers", func(c *jwt.AccountClaims) {
				c.Limits.JetStreamTieredLimits = jwt.JetStreamTieredLimits{
					"R1": {DiskStorage: 9, Streams: 1}, "R3": {MemoryStorage: 5, MaxBytesRequired: true}, "R0": {}, "gold": {DiskStorage: 7},
				}
			},
			&operator.JetStream{Tiers: map[int]*operator.JetStream{
				1: {0, 9, 1, -1, -1, -1, -1, false, nil},
				3: {5, 0, -1, -1, -1, -1, -1, true, nil},
			}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := w.read(t, tt.change).JetStream(); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// FuzzTokens reads whatever calls itself a token, as each kind of token. It must not be believed unless it is one.
func FuzzTokens(f *testing.F) {
	w := newWorld(f)
	act := jwt.NewActivationClaims(w.account.public)
	act.ImportSubject, act.ImportType = "a", jwt.Stream
	account := w.accountToken(f, w.operator, nil)
	user := w.account.sign(f, jwt.NewUserClaims(w.user.public))
	for _, seed := range []string{
		account, user, w.operatorToken(f, nil), w.account.sign(f, act), w.operator.sign(f, jwt.NewGenericClaims(w.operator.public)),
		"", "..", "a.b.c", "eyJ0eXAiOiJKV1QiLCJhbGciOiJlZDI1NTE5LW5rZXkifQ.e30.", account + "=",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		if a, err := w.trust.ReadAccount(token, "", w.now); err == nil && a.Issuer() != w.operator.public {
			t.Errorf("account of %s", a.Issuer())
		}
		if u, err := operator.ReadUser(token); err == nil && u.NKey() == "" {
			t.Errorf("user without a key")
		}
		_, _, _ = w.trust.Deletion(token, w.now)
		_, _ = operator.NewTrust([]string{token}, nil, "2.15.2", w.now)
		_ = operator.Subject(token)
		c := jwt.NewAccountClaims(w.account.public)
		c.Imports.Add(&jwt.Import{Account: w.account.public, Subject: "a", Type: jwt.Stream, Token: token})
		signed, err := c.Encode(w.operator)
		if err != nil {
			return
		}
		if a, err := w.trust.ReadAccount(signed, "", w.now); err == nil {
			a.Plan(func(string) *operator.Account { return a }, "", w.now)
		}
	})
}
