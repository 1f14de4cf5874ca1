package server_test

import (
	"slices"
	"strings"
	"testing"

	"runnel/server/servertest"
)

// act is what one of the connected clients sends, and what clients are to be told then: each of them in that order.
type act struct {
	who  int
	send string
	want map[int][]string // lines by client
}

// liveReload is a reload with clients that are connected.
type liveReload struct {
	name          string
	before, after string
	clients       []string // what each sends first, the user before a bar
	errors        []string // what the first client is told by the reload, in any order
	goes          []int    // who is disconnected
	told          string   // what those are told, nothing when empty
	acts          []act
}

const (
	denyA = `subscribe { deny: "a.x" }`
	all   = `subscribe: ">"`
)

// permitted is a configuration in which u has these permissions, and o may do all.
func permitted(permissions string) string {
	return usersOf(`{user: u, password: x, permissions { ` + permissions + ` } }, {user: o, password: x}`)
}

// inAccount is a configuration in which u is in account A with these keys, and o in B.
func inAccount(keys string) string {
	return "accounts { A { " + keys + " users: [{user: u, password: x}] }, B { users: [{user: o, password: x}] } }"
}

var liveReloads = []liveReload{
	{
		name: "subscriptions narrowed", before: permitted(`subscribe: ["a.>", "q v", "q w"]`), after: permitted(`subscribe: ["a.c", "q w"]`),
		clients: []string{"u|SUB a.b 1\r\nSUB a.c 2\r\nSUB q v 3\r\nSUB q w 4\r\nSUB a.> 5\r\n", "o|"},
		errors: []string{
			`-ERR 'Permissions Violation for Subscription to "a.>" (sid "5")'`,
			`-ERR 'Permissions Violation for Subscription to "a.b" (sid "1")'`,
			`-ERR 'Permissions Violation for Subscription to "q" using queue "v" (sid "3")'`,
		},
		acts: []act{
			{1, pub("a.b") + pub("a.c") + pub("q"), map[int][]string{0: {"MSG a.c 2 0", "", "MSG q 4 0", ""}}},
			{0, "UNSUB 1\r\nSUB a.c 1\r\n" + "SUB q 3\r\n", map[int][]string{0: {`-ERR 'Permissions Violation for Subscription to "q"'`}}},
		},
	},
	{
		name: "a rule for a queue group replaces one for all", before: permitted(`subscribe: q`), after: permitted(`subscribe: "q v*"`),
		clients: []string{"u|SUB q 1\r\nSUB q v* 2\r\nSUB q z 3\r\n", "o|"},
		errors: []string{
			`-ERR 'Permissions Violation for Subscription to "q" (sid "1")'`,
			`-ERR 'Permissions Violation for Subscription to "q" using queue "z" (sid "3")'`,
		},
		acts: []act{{1, pub("q"), map[int][]string{0: {"MSG q 2 0", ""}}}},
	},
	{
		name: "a queue group denied", before: permitted(all), after: permitted(`subscribe { allow: ">", deny: "q v" }`),
		clients: []string{"u|SUB q 1\r\nSUB q v 2\r\n", "o|"},
		errors:  []string{`-ERR 'Permissions Violation for Subscription to "q" using queue "v" (sid "2")'`},
		acts:    []act{{1, pub("q"), map[int][]string{0: {"MSG q 1 0", ""}}}},
	},
	{
		name: "a subject denied below a wider subscription", before: permitted(all), after: permitted(denyA),
		clients: []string{"u|SUB a.* 1\r\nSUB a.x 2\r\nSUB a.x q 3\r\nSUB b q 4\r\n", "o|" + pub("a.x") + pub("b")},
		errors: []string{
			`MSG a.x 1 0`, ``, `MSG a.x 2 0`, ``, `MSG a.x 3 0`, ``, `MSG b 4 0`, ``, // of before
			`-ERR 'Permissions Violation for Subscription to "a.x" (sid "2")'`,
			`-ERR 'Permissions Violation for Subscription to "a.x" using queue "q" (sid "3")'`,
		},
		acts: []act{{1, pub("a.x") + pub("a.y") + pub("b"), map[int][]string{0: {"MSG a.y 1 0", "", "MSG b 4 0", ""}}}},
	},
	{
		name: "a subject not denied any more", before: permitted(denyA), after: permitted(all),
		clients: []string{"u|SUB a.* 1\r\n", "o|" + pub("a.x")},
		acts:    []act{{1, pub("a.x") + pub("a.y"), map[int][]string{0: {"MSG a.x 1 0", "", "MSG a.y 1 0", ""}}}},
	},
	{
		name: "publishing narrowed", before: permitted(`publish: [a, b]`), after: permitted(`publish: a`),
		clients: []string{"u|" + pub("b"), "o|SUB a 1\r\nSUB b 2\r\n"},
		acts: []act{{0, pub("b") + pub("a"), map[int][]string{
			0: {`-ERR 'Permissions Violation for Publish to "b"'`}, 1: {"MSG a 1 0", ""},
		}}},
	},
	{
		name: "publishing widened", before: permitted(`publish: a`), after: permitted(``),
		clients: []string{"u|", "o|SUB b 2\r\n"},
		acts:    []act{{0, pub("b"), map[int][]string{1: {"MSG b 2 0", ""}}}},
	},
	{
		name: "default permissions appear", before: usersOf(`{user: u, password: x}, {user: o, password: x, permissions { subscribe: b } }`),
		after:   `authorization { default_permissions { publish: a, subscribe: a }, users: [{user: u, password: x}, {user: o, password: x, permissions { subscribe: b } }] }`,
		clients: []string{"u|SUB a 1\r\nSUB b 2\r\n", "o|SUB b 1\r\n"},
		errors:  []string{`-ERR 'Permissions Violation for Subscription to "b" (sid "2")'`},
		acts: []act{
			{0, pub("b") + pub("a"), map[int][]string{0: {`-ERR 'Permissions Violation for Publish to "b"'`, "MSG a 1 0", ""}}},
			{1, pub("b"), map[int][]string{1: {"MSG b 1 0", ""}}},
		},
	},
	{
		name: "default permissions of an account change", before: inAccount(`default_permissions { subscribe: [a, b] },`), after: inAccount(`default_permissions { subscribe: [b, c] },`),
		clients: []string{"u|SUB a 1\r\nSUB b 2\r\n", "o|SUB a 1\r\n"},
		errors:  []string{`-ERR 'Permissions Violation for Subscription to "a" (sid "1")'`},
		acts: []act{
			{0, "SUB c 3\r\n" + pub("b") + pub("c"), map[int][]string{0: {"MSG b 2 0", "", "MSG c 3 0", ""}}},
			{1, pub("a"), map[int][]string{1: {"MSG a 1 0", ""}}},
		},
	},
	{
		name: "answers allowed from here on", before: permitted(`publish: a, subscribe: ">"`), after: permitted(`publish: a, subscribe: ">", allow_responses: true`),
		clients: []string{"u|SUB r 1\r\n", "o|SUB i.* 1\r\nPUB r i.1 0\r\n\r\n"},
		errors:  []string{"MSG r 1 i.1 0", ""},
		acts: []act{
			{0, pub("i.1"), map[int][]string{0: {`-ERR 'Permissions Violation for Publish to "i.1"'`}}},
			{1, "PUB r i.2 0\r\n\r\n", map[int][]string{0: {"MSG r 1 i.2 0", ""}}},
			{0, pub("i.2") + pub("i.2"), map[int][]string{0: {`-ERR 'Permissions Violation for Publish to "i.2"'`}, 1: {"MSG i.2 1 0", ""}}},
		},
	},
	{
		name: "answers not allowed any more", before: permitted(`publish: a, subscribe: ">", allow_responses: true`), after: permitted(`publish: a, subscribe: ">"`),
		clients: []string{"u|SUB r 1\r\n", "o|SUB i.* 1\r\nPUB r i.1 0\r\n\r\n"},
		errors:  []string{"MSG r 1 i.1 0", ""},
		acts:    []act{{0, pub("i.1"), map[int][]string{0: {`-ERR 'Permissions Violation for Publish to "i.1"'`}}}},
	},
	{
		name: "answers that are owed when something else changes", before: permitted(`publish: a, subscribe: ">", allow_responses: true`), after: permitted(`publish: b, subscribe: ">", allow_responses: true`),
		clients: []string{"u|SUB r 1\r\n", "o|SUB i.* 1\r\nPUB r i.1 0\r\n\r\n"},
		errors:  []string{"MSG r 1 i.1 0", ""},
		acts:    []act{{0, pub("i.1"), map[int][]string{1: {"MSG i.1 1 0", ""}}}},
	},
	{
		name: "more answers allowed", before: permitted(`publish: a, subscribe: ">", allow_responses: { max: 1 }`), after: permitted(`publish: a, subscribe: ">", allow_responses: { max: 2 }`),
		clients: []string{"u|SUB r 1\r\n", "o|SUB i.* 1\r\n"},
		acts: []act{
			{1, "PUB r i.2 0\r\n\r\n", map[int][]string{0: {"MSG r 1 i.2 0", ""}}},
			{0, pub("i.2") + pub("i.2") + pub("i.2"), map[int][]string{0: {`-ERR 'Permissions Violation for Publish to "i.2"'`}, 1: {"MSG i.2 1 0", "", "MSG i.2 1 0", ""}}},
		},
	},
	{
		name: "moved to another account", before: inAccount(""), after: `accounts { A {}, B { users: [{user: o, password: x}, {user: u, password: x}] } }`,
		clients: []string{"u|SUB a 1\r\n", "o|SUB a 1\r\n"}, goes: []int{0},
		acts: []act{{1, pub("a"), map[int][]string{1: {"MSG a 1 0", ""}}}},
	},
	{
		name: "account renamed", before: inAccount(""), after: strings.Replace(inAccount(""), "A {", "C {", 1),
		clients: []string{"u|SUB a 1\r\n", "o|SUB a 1\r\n"}, goes: []int{0},
		acts: []act{{1, pub("a"), map[int][]string{1: {"MSG a 1 0", ""}}}},
	},
	{
		name: "in another account by another name", before: usersOf(`{user: u, password: x}, {user: o, password: x}`),
		after:   inAccount(""),
		clients: []string{"u|SUB a 1\r\n", "o|"}, goes: []int{0, 1},
	},
	{
		name: "password changed", before: inAccount(""), after: strings.Replace(inAccount(""), "x}", "y}", 1),
		clients: []string{"u|SUB a 1\r\n", "o|SUB a 1\r\n"}, goes: []int{0}, told: "-ERR 'Authorization Violation'",
		acts: []act{{1, pub("a"), map[int][]string{1: {"MSG a 1 0", ""}}}},
	},
	{
		name: "most subscriptions of an account lowered", before: inAccount(""), after: inAccount(`limits { max_subscriptions: 2 },`),
		clients: []string{"u|SUB a 1\r\n", "o|SUB a 1\r\nSUB b 2\r\nSUB c 3\r\n", "u|SUB a 1\r\nSUB b 2\r\n", "u|"},
		goes:    []int{2}, told: "-ERR 'maximum subscriptions exceeded'",
		acts: []act{
			{3, "SUB a 1\r\nSUB b 2\r\n", map[int][]string{3: {"-ERR 'maximum subscriptions exceeded'"}}},
			{0, pub("a"), map[int][]string{0: {"MSG a 1 0", ""}, 3: {"MSG a 1 0", ""}}},
		},
	},
	{
		name: "largest message of an account lowered", before: inAccount(""), after: inAccount(`limits { max_payload: 3 },`),
		clients: []string{"u|", "o|"},
		acts: []act{
			{1, "PUB a 5\r\nhello\r\n", nil},
			{0, "PUB a 3\r\nhel\r\n", nil},
		},
	},
	{
		name: "a stream is exported and imported", before: inAccount(""),
		after:   `accounts { A { exports: [{stream: "s.>"}], users: [{user: u, password: x}] }, B { imports: [{stream: {account: A, subject: "s.>"}}], users: [{user: o, password: x}] } }`,
		clients: []string{"u|" + pub("s.a"), "o|SUB s.* 1\r\n"},
		acts:    []act{{0, pub("s.a"), map[int][]string{1: {"MSG s.a 1 0", ""}}}},
	},
	{
		name:   "an export is taken back",
		before: `accounts { A { exports: [{stream: "s.>"}], users: [{user: u, password: x}] }, B { imports: [{stream: {account: A, subject: "s.>"}}], users: [{user: o, password: x}] } }`,
		after:  inAccount(""), clients: []string{"u|", "o|SUB s.* 1\r\n"},
		acts: []act{{0, pub("s.a"), nil}, {1, pub("s.b"), map[int][]string{1: {"MSG s.b 1 0", ""}}}},
	},
	{
		name: "a mapping goes elsewhere", before: usersOf(`{user: u, password: x}`) + "mappings { a: b }", after: usersOf(`{user: u, password: x}`) + "mappings { a: c }",
		clients: []string{"u|SUB b 1\r\nSUB c 2\r\nSUB a 3\r\n"},
		acts:    []act{{0, pub("a"), map[int][]string{0: {"MSG c 2 0", ""}}}},
	},
}

// pub is an empty message.
func pub(subject string) string { return "PUB " + subject + " 0\r\n\r\n" }

// TestReloadLive changes the configuration under connected clients, and looks what they may do then. Nobody is
// disconnected but who must be.
func TestReloadLive(t *testing.T) {
	for _, tt := range liveReloads {
		t.Run(tt.name, func(t *testing.T) {
			s := servertest.Start(t, tt.before)
			var clients []*servertest.Client
			for _, text := range tt.clients {
				name, sends, _ := strings.Cut(text, "|")
				c := servertest.Dial(t, s)
				c.Send(user(name, "x"))
				c.Flush()
				c.Send("%s", sends)
				c.Flush()
				clients = append(clients, c)
			}
			reload(t, s, tt.after)
			var got []string
			for range tt.errors {
				got = append(got, clients[0].Line())
			}
			want := slices.Clone(tt.errors)
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("after the reload the client was told %q, want %q", got, want)
			}
			for i, c := range clients {
				if slices.Contains(tt.goes, i) {
					if tt.told != "" {
						c.Expect(tt.told)
					}
					c.ExpectClosed()
				}
			}
			for _, a := range tt.acts {
				clients[a.who].Send("%s", a.send)
				for i, c := range clients {
					if !slices.Contains(tt.goes, i) {
						c.Expect(a.want[i]...)
						c.Flush()
					}
				}
			}
		})
	}
}
