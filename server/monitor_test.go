package server_test

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"runnel/server"
	"runnel/server/servertest"
)

// watched is a server with three clients: in account A "first" with two subscriptions, who has published,
// and "second" with one; in B "third".
func watched(t *testing.T) (s *server.Server, clients []*servertest.Client) {
	t.Helper()
	s = servertest.Start(t, `http_port: -1, accounts { A { users: [{user: a, password: x}] }, B { users: [{user: b, password: x}] } }`)
	for i, name := range []string{"first", "second", "third"} {
		c := servertest.Dial(t, s)
		c.Send(login(fmt.Sprintf(`"user":%q,"pass":"x","name":%q,"lang":"go","version":"9"`, []string{"a", "a", "b"}[i], name)))
		c.Flush()
		clients = append(clients, c)
	}
	clients[0].Send("SUB foo.* 1\r\nSUB foo.> q 2\r\n")
	clients[0].Flush()
	clients[1].Send("SUB foo.x 1\r\nUNSUB 1 5\r\nSUB gone 2\r\nUNSUB 2\r\n")
	clients[1].Flush()
	clients[2].Send("SUB bar 1\r\n")
	clients[2].Flush()
	clients[0].Send("PUB foo.x 5\r\nhello\r\n")
	clients[0].Expect("MSG foo.x 1 5", "hello", "MSG foo.x 2 5", "hello")
	clients[0].Flush()
	clients[1].Expect("MSG foo.x 1 5", "hello")
	return s, clients
}

func names(z connz) string {
	var all []string
	for _, c := range z.Connections {
		all = append(all, c.Name)
	}
	return strings.Join(all, " ")
}

func TestConnz(t *testing.T) {
	s, clients := watched(t)
	cid := clients[1].Info()["client_id"]
	tests := []struct {
		query, names string
		total        int
	}{
		{"", "first second third", 3},
		{"sort=cid", "first second third", 3},
		{"sort=start", "first second third", 3},
		{"sort=msgs_to", "first second third", 3},
		{"sort=bytes_from&limit=1", "first", 3},
		{"sort=subs&limit=1", "first", 3},
		{"offset=1", "second third", 3},
		{"offset=1&limit=1", "second", 3},
		{"offset=3", "", 3},
		{"limit=2&offset=2", "third", 3},
		{"acc=B", "third", 1},
		{"acc=A&auth=1", "first second", 2},
		{"user=a&auth=true", "first second", 2},
		{"user=nobody&auth=1", "", 0},
		{fmt.Sprintf("cid=%v", cid), "second", 1},
		{"cid=99999", "", 0},
		{"acc=A&filter_subject=foo.x&subs=1", "first second", 2},
		{"acc=A&filter_subject=foo.y", "first", 1},
		{"state=closed", "", 0},
		{"state=any", "first second third", 3},
	}
	for _, tt := range tests {
		z := page[connz](t, s, "/connz?"+tt.query)
		if got := names(z); got != tt.names || z.Total != tt.total || z.NumConnections != len(z.Connections) {
			t.Errorf("%s: got %q of %d, num_connections %d, want %q of %d", tt.query, got, z.Total, z.NumConnections, tt.names, tt.total)
		}
	}
	c := page[connz](t, s, "/connz?subs=1&auth=1").Connections[0]
	slices.Sort(c.List)
	if c.User != "a" || c.Account != "A" || c.Lang != "go" || c.IP != "127.0.0.1" || c.Port == 0 || c.InMsgs != 1 || c.OutMsgs != 2 ||
		c.Subscriptions != 2 || !slices.Equal(c.List, []string{"foo.*", "foo.>"}) {
		t.Errorf("first connection = %+v", c)
	}
}

// TestClosedConnections checks what is remembered of connections that have ended, and how many.
func TestClosedConnections(t *testing.T) {
	s := servertest.Start(t, `http_port: -1, max_closed_clients: 3, max_payload: 10, authorization { user: a, password: x }`)
	ends := []func(c *servertest.Client){
		func(c *servertest.Client) { c.Send("FOO\r\n") },
		func(c *servertest.Client) { c.Send(user("a", "wrong")) },
		func(c *servertest.Client) { c.Send(user("a", "x") + "PUB a 11\r\n") },
		func(c *servertest.Client) {
			c.Send(user("a", "x") + "SUB > 1\r\nPUB a 1\r\nx\r\n")
			c.Line()
			c.Line()
			c.Close()
		},
		func(c *servertest.Client) { c.Send(`CONNECT {"protocol":7}` + "\r\n") },
	}
	want := []string{"Bad Client Protocol Version", "Client Closed", "Maximum Message Payload Exceeded"} // the last three
	for _, end := range ends {
		c := servertest.Dial(t, s)
		end(c)
		cid := c.Info()["client_id"]
		servertest.Eventually(t, "the connection to end", func() bool {
			return page[connz](t, s, fmt.Sprintf("/connz?state=closed&cid=%v", cid)).Total == 1
		})
	}
	z := page[connz](t, s, "/connz?state=closed&sort=cid&auth=1&subs=1")
	var got []string
	for i := range z.Connections {
		got = append([]string{z.Connections[i].Reason}, got...)
	}
	if !slices.Equal(got, want) {
		t.Errorf("reasons = %q, want %q", got, want)
	}
	if c := z.Connections[1]; c.User != "a" || c.Account != "$G" || c.InMsgs != 1 || c.OutMsgs != 1 {
		t.Errorf("the client that left = %+v", c)
	}
	if got := page[connz](t, s, "/connz?state=closed&sort=stop&limit=1").Total; got != 3 {
		t.Errorf("total = %d, want 3", got)
	}

	o := servertest.Options(t, `http_port: -1`)
	o.Limits.MaxClosedClients = 0
	none := servertest.StartOptions(t, o)
	servertest.DialQuiet(t, none).Close()
	servertest.Eventually(t, "the client to be gone", func() bool { return page[connz](t, none, "/connz").Total == 0 })
	if got := page[connz](t, none, "/connz?state=any").Total; got != 0 {
		t.Errorf("%d connections are remembered, want none", got)
	}
}

func TestSubsz(t *testing.T) {
	s, clients := watched(t)
	type subscription struct {
		Account, Subject, SID string
		Queue                 string `json:"qgroup"`
		CID                   uint64
		Msgs, Max             int64
	}
	type subsz struct {
		Num   int `json:"num_subscriptions"`
		Total int
		List  []subscription `json:"subscriptions_list"`
	}
	if z := page[subsz](t, s, "/subsz"); z.Num < 4 || len(z.List) != 0 {
		t.Errorf("got %+v, want at least four and no list", z)
	}
	if z := page[subsz](t, s, "/subscriptionsz?test=foo.x"); z.Total != 3 || len(z.List) != 0 {
		t.Errorf("test=foo.x: got %+v, want 3 without a list", z)
	}
	z := page[subsz](t, s, "/subsz?subs=1&acc=A&test=foo.x")
	slices.SortFunc(z.List, func(a, b subscription) int { return strings.Compare(a.Subject, b.Subject) })
	if len(z.List) != 3 {
		t.Fatalf("got %+v, want three subscriptions", z)
	}
	if got := z.List[2]; got.Subject != "foo.x" || got.Max != 5 || got.Msgs != 1 || float64(got.CID) != clients[1].Info()["client_id"] || got.Account != "A" {
		t.Errorf("got %+v, want the subscription with a maximum", got)
	}
	if got := z.List[1]; got.Queue != "q" || got.SID != "2" {
		t.Errorf("got %+v, want the queue subscription", got)
	}
	if z := page[subsz](t, s, "/subsz?subs=1&acc=A&test=foo.x&limit=2&offset=2"); z.Total != 3 || len(z.List) != 1 {
		t.Errorf("the second page: got %+v, want the third of 3", z)
	}
}

// TestVarz checks that the counters follow what happens.
func TestVarz(t *testing.T) {
	s, clients := watched(t)
	type varz struct {
		ID          string `json:"server_id"`
		Connections int
		Total       int            `json:"total_connections"`
		InMsgs      int            `json:"in_msgs"`
		OutMsgs     int            `json:"out_msgs"`
		InBytes     int            `json:"in_bytes"`
		OutBytes    int            `json:"out_bytes"`
		Stats       map[string]int `json:"http_req_stats"`
		Mem         int64
		Cores       int
		Auth        bool `json:"auth_required"`
		Port        int
	}
	v := page[varz](t, s, "/varz")
	if v.ID != s.ID() || v.Connections != 3 || v.Total != 3 || v.InMsgs != 1 || v.OutMsgs != 3 || v.InBytes != 5 || v.OutBytes != 15 ||
		v.Mem == 0 || v.Cores == 0 || !v.Auth || fmt.Sprint(v.Port) != s.ClientURL()[strings.LastIndex(s.ClientURL(), ":")+1:] {
		t.Errorf("varz = %+v", v)
	}
	clients[2].Send("PUB nowhere 2\r\nhi\r\n")
	clients[2].Flush()
	clients[2].Close()
	servertest.Eventually(t, "the client to be gone", func() bool { return page[varz](t, s, "/varz").Connections == 2 })
	v = page[varz](t, s, "/varz")
	if v.Total != 3 || v.InMsgs != 2 || v.OutMsgs != 3 || v.InBytes != 7 || v.Stats["/varz"] < 3 {
		t.Errorf("varz later = %+v", v)
	}
}

func TestAccountPages(t *testing.T) {
	s, _ := watched(t)
	z := page[struct {
		System   string `json:"system_account"`
		Accounts []string
	}](t, s, "/accountz")
	if z.System != "$SYS" || !slices.Equal(z.Accounts, []string{"$G", "$SYS", "A", "B"}) {
		t.Errorf("accountz = %+v", z)
	}
	detail := page[struct {
		Detail struct {
			Name        string `json:"account_name"`
			Connections int    `json:"client_connections"`
			Complete    bool
			System      bool `json:"is_system"`
		} `json:"account_detail"`
	}](t, s, "/accountz?acc=A").Detail
	if detail.Name != "A" || detail.Connections != 2 || !detail.Complete || detail.System {
		t.Errorf("account detail = %+v", detail)
	}
	type accstatz struct {
		Accounts []struct {
			Acc            string
			Conns          int
			Sent, Received struct{ Msgs, Bytes int }
		} `json:"account_statz"`
	}
	stats := page[accstatz](t, s, "/accstatz").Accounts
	if len(stats) != 2 || stats[0].Acc != "A" || stats[0].Conns != 2 || stats[0].Sent.Msgs != 3 || stats[0].Received.Bytes != 5 ||
		stats[1].Acc != "B" || stats[1].Sent.Msgs != 0 {
		t.Errorf("accstatz = %+v", stats)
	}
	if got := page[accstatz](t, s, "/accstatz?unused=1").Accounts; len(got) != 4 {
		t.Errorf("accstatz of all = %+v, want four accounts", got)
	}
}

// TestPages asks every page, and such as do not exist.
func TestPages(t *testing.T) {
	s := servertest.Start(t, `http_port: -1, http_base_path: "/mon"`)
	tests := []struct {
		path, contentType string
		status            int
	}{
		{"/", "text/html", 200},
		{"/varz", "application/json", 200},
		{"/connz", "application/json", 200},
		{"/subsz", "application/json", 200},
		{"/routez", "application/json", 200},
		{"/gatewayz", "application/json", 200},
		{"/leafz", "application/json", 200},
		{"/accountz", "application/json", 200},
		{"/accstatz", "application/json", 200},
		{"/jsz", "application/json", 200},
		{"/healthz", "application/json", 200},
		{"/ipqueuesz", "application/json", 200},
		{"/stacksz", "text/plain", 200},
		{"/debug/vars", "application/json", 200},
		{"/metrics", "text/plain", 200},
		{"/raftz", "text/plain", 404},
		{"/nothing", "application/json", 404},
		{"/connz?sort=beauty", "application/json", 400},
		{"/connz?limit=x", "application/json", 400},
		{"/accountz?acc=NOPE", "application/json", 400},
		{"/subsz?test=a.*", "application/json", 400},
	}
	for _, tt := range tests {
		r, err := http.Get(s.Ports().Monitoring[0] + "/mon" + tt.path)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if r.StatusCode != tt.status || !strings.HasPrefix(r.Header.Get("Content-Type"), tt.contentType) {
			t.Errorf("%s: %d %s, want %d %s", tt.path, r.StatusCode, r.Header.Get("Content-Type"), tt.status, tt.contentType)
		}
	}
	if status, body := get(t, s, "/mon/healthz"); status != 200 || body != `{"status":"ok"}` {
		t.Errorf("healthz: %d %s", status, body)
	}
	status, body := get(t, s, "/varz")
	var e struct{ Error string }
	if err := json.Unmarshal([]byte(body), &e); err != nil || status != 404 || e.Error == "" {
		t.Errorf("outside of the base path: %d %s, %v", status, body, err)
	}
}

// TestMetrics checks that a scrape can be parsed, follows good practice, and says what /varz says.
func TestMetrics(t *testing.T) {
	s, _ := watched(t)
	_, body := get(t, s, "/metrics")
	problems, err := promlint.New(strings.NewReader(body)).Lint()
	if err != nil {
		t.Fatalf("the scrape cannot be parsed: %v", err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "runnel_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	mustContain(t, "metrics", body, "\nrunnel_connections 3\n", "\nrunnel_connections_total 3\n", "\nrunnel_received_messages_total 1\n",
		"\nrunnel_sent_messages_total 3\n", "\nrunnel_healthy 1\n", `account="A"`, "go_goroutines", "server_id=\""+s.ID()+"\"")
}

func TestHTTPS(t *testing.T) {
	a := servertest.NewAuthority(t)
	s := servertest.Start(t, "https_port: -1\n"+a.Server().Block(fmt.Sprintf("verify: true, ca_file: %q", a.File)))
	url := s.Ports().Monitoring[0]
	mustContain(t, "URL", url, "https://127.0.0.1:")
	// Monitoring asks for no client certificate, although the port of clients does.
	for _, config := range []*tls.Config{a.ClientConfig(), nil} {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
		r, err := client.Get(url + "/varz")
		if (err == nil) != (config != nil) {
			t.Errorf("trusting the authority %v: got %v", config != nil, err)
		}
		if err == nil {
			_ = r.Body.Close()
		}
	}
}

func TestProfilePort(t *testing.T) {
	s := servertest.Start(t, "prof_port: -1")
	r, err := http.Get(s.Ports().Profile[0] + "/debug/pprof/")
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	if r.StatusCode != http.StatusOK {
		t.Errorf("status %d, want 200", r.StatusCode)
	}
}
