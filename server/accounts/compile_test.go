package accounts_test

import (
	"strings"
	"testing"

	"runnel/server/accounts"
)

func TestCompileErrors(t *testing.T) {
	_, public := newKey(t)
	named := func(names ...string) (users []userConfig) {
		for _, name := range names {
			users = append(users, userConfig{Username: name, Password: knownSecret})
		}
		return users
	}
	account := func(name string, users ...userConfig) accounts.AccountConfig {
		return accounts.AccountConfig{Name: name, Users: users}
	}
	list := func(a ...accounts.AccountConfig) []accounts.AccountConfig { return a }
	publish := func(subject string) []userConfig {
		return []userConfig{{Username: "a", Permissions: &accounts.Permissions{Publish: rules{Allow: []string{subject}}}}}
	}
	subscribe := func(subject string) []userConfig {
		return []userConfig{{Username: "a", Permissions: &accounts.Permissions{Subscribe: rules{Deny: []string{subject}}}}}
	}
	tests := []struct {
		name   string
		config config
		want   string // empty for no error
	}{
		{"nothing", config{}, ""},
		{"twice in a list", config{Users: named("a", "b", "a")}, `users[2] "a": this user is configured twice`},
		{"twice in accounts", config{Accounts: list(account("A", named("a")...), account("B", named("a")...))}, `account "B": users[0] "a": this user is configured twice`},
		{"once in an account", config{Users: named("a"), Accounts: list(account("A", named("a")...))}, "twice"},
		{"no name", config{Users: named("")}, "users[0]: a user needs a name or an nkey"},
		{"nkey twice", config{Users: []userConfig{{NKey: public}, {NKey: public}}}, "this nkey is configured twice"},
		{"nkey and name", config{Users: []userConfig{{NKey: public, Username: "a"}}}, "a user with an nkey has neither name nor password"},
		{"nkey and password", config{Users: []userConfig{{NKey: public, Password: knownSecret}}}, "neither name nor password"},
		{"nkey of another type", config{Users: []userConfig{{NKey: "A" + public[1:]}}}, "not the public nkey of a user"},
		{"nkey is damaged", config{Users: []userConfig{{NKey: public[:55] + "!"}}}, "not the public nkey of a user"},
		{"publish subject", config{Users: publish("a..b")}, `users[0] "a": publish permission: "a..b" is not a valid subject`},
		{"publish with a queue", config{Users: publish("a q")}, `"a q" is not a valid subject`},
		{"empty publish subject", config{Users: publish("")}, `"" is not a valid subject`},
		{"subscribe subject", config{Users: subscribe("a.>.b")}, `subscribe permission: "a.>.b" is not a valid subject`},
		{"subscribe queue", config{Users: subscribe("a q..1")}, `"a q..1" does not name a valid queue group`},
		{"subscribe words", config{Users: subscribe("a q r")}, `"a q r" is not a valid subject`},
		{"subscribe with spaces", config{Users: subscribe("a  q")}, ""},
		{"bcrypt", config{Users: []userConfig{{Username: "a", Password: "$2a$11$" + knownSecret}}}, `"a": password begins like a bcrypt hash but is not one`},
		{"bcrypt cost", config{Users: []userConfig{{Username: "a", Password: "$2a$99$" + strings.Repeat("x", 53)}}}, "but is not one"},
		{"bcrypt characters", config{Users: []userConfig{{Username: "a", Password: "$2a$04$" + strings.Repeat("_", 53)}}}, "but is not one"},
		{"bcrypt length", config{Users: []userConfig{{Username: "a", Password: "$2a$04$" + strings.Repeat("x", 54)}}}, "but is not one"},
		{"bcrypt token", config{Token: "$2b$" + knownSecret}, "token begins like a bcrypt hash"},
		{"connection type", config{Users: []userConfig{{Username: "a", ConnectionTypes: []accounts.ConnectionType{"FOO"}}}}, `unknown connection type "FOO"`},
		{"single and token", config{Username: "a", Token: knownSecret}, "a single user and a token are configured"},
		{"single and users", config{Username: "a", Users: named("b")}, "a single user and a list of users"},
		{"token and users", config{Token: knownSecret, Users: named("b")}, "a token and a list of users"},
		{"single and accounts", config{Username: "a", Accounts: list(account("A", named("b")...))}, "a single user and accounts with users"},
		{"token and accounts", config{Token: knownSecret, Accounts: list(account("A", named("b")...))}, "a token and accounts with users"},
		{"single and accounts without users", config{Username: "a", Accounts: list(account("A"))}, ""},
		{"users and accounts", config{Users: named("a"), Accounts: list(account("A", named("b")...))}, ""},
		{"password only", config{Password: knownSecret}, "a password is configured without a user"},
		{"account twice", config{Accounts: list(account("A"), account("A"))}, `account "A" is configured twice`},
		{"account without a name", config{Accounts: list(account(""))}, "an account has no name"},
		{"global account", config{Accounts: list(account("$G"))}, `account "$G" is reserved`},
		{"system account", config{SystemAccount: "S"}, `system account "S" is not among the accounts`},
		{"default system account", config{SystemAccount: "$SYS"}, ""},
		{"no_auth_user", config{Users: named("a"), NoAuthUser: "b"}, `no_auth_user "b" is not among the users`},
		{"no_auth_user is the single user", config{Username: "a", NoAuthUser: "a"}, `no_auth_user "a" is not among the users`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := accounts.NewRegistry().Compile(tt.config)
			if (err == nil) != (tt.want == "") || (err == nil) != (p != nil) {
				t.Fatalf("Compile gave %v, %v, want error %q", p, err, tt.want)
			}
			if err == nil {
				return
			}
			if text := err.Error(); !strings.Contains(text, tt.want) || strings.Contains(text, knownSecret) {
				t.Errorf("error is %q, want %q and no secret in it", text, tt.want)
			}
		})
	}
}

func TestCompileTellsAllErrors(t *testing.T) {
	_, err := accounts.NewRegistry().Compile(config{
		SystemAccount: "S",
		NoAuthUser:    "x",
		Users: []userConfig{
			{Username: "a"},
			{Username: "a", Permissions: &accounts.Permissions{
				Publish:   rules{Allow: []string{"a."}},
				Subscribe: rules{Allow: []string{".a"}},
			}},
			{},
		},
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`"S"`, `"x"`, "twice", `"a."`, `".a"`, "users[2]"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}

func TestPolicyAccounts(t *testing.T) {
	tests := []struct {
		config config
		names  string
		system string
	}{
		{config{}, "$G $SYS", "$SYS"},
		{config{Accounts: []accounts.AccountConfig{{Name: "B"}, {Name: "A"}}}, "$G $SYS A B", "$SYS"},
		{config{Accounts: []accounts.AccountConfig{{Name: "B"}}, SystemAccount: "B"}, "$G B", "B"},
		{config{NoSystemAccount: true}, "$G", ""},
		{config{Accounts: []accounts.AccountConfig{{Name: "$SYS"}}}, "$G $SYS", "$SYS"},
	}
	for _, tt := range tests {
		p := compile(t, tt.config)
		var names []string
		for a := range p.Accounts() {
			names = append(names, a.Name())
			if p.Account(a.Name()) != a {
				t.Errorf("Account(%q) is another one", a.Name())
			}
		}
		if got := strings.Join(names, " "); got != tt.names {
			t.Errorf("accounts = %s, want %s", got, tt.names)
		}
		if p.Global().Name() != "$G" || p.System() != p.Account(tt.system) {
			t.Errorf("global = %q, system = %v, want %q", p.Global().Name(), p.System(), tt.system)
		}
		if p.Account("unknown") != nil {
			t.Error("there is an unknown account")
		}
	}
}

func TestParseConnectionType(t *testing.T) {
	for text, want := range map[string]accounts.ConnectionType{
		"standard": accounts.Standard, "WEBSOCKET": accounts.WebSocket, "Leafnode": accounts.Leafnode,
		"leafnode_ws": accounts.LeafnodeWebSocket, "mqtt": accounts.MQTT, "MQTT_WS": accounts.MQTTWebSocket,
		"in_process": accounts.InProcess,
	} {
		if got, err := accounts.ParseConnectionType(text); err != nil || got != want {
			t.Errorf("ParseConnectionType(%q) = %q, %v, want %q", text, got, err, want)
		}
	}
	if _, err := accounts.ParseConnectionType("x"); err == nil {
		t.Error(`ParseConnectionType("x") has no error`)
	}
}
