package jetstream_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"runnel/server/servertest"
)

// TestManyConsumers creates, changes and deletes consumers without waiting: each request finds what those before it about
// the same consumer have done.
func TestManyConsumers(t *testing.T) {
	s := newSite(t, "")
	s.stream("S", `"subjects":["s.>"],"max_consumers":40`)
	answers, err := s.conn.SubscribeSync("answer.*")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	ask := func(subject, body, answer string) {
		t.Helper()
		if err := s.conn.PublishRequest("$JS.API.CONSUMER."+subject, fmt.Sprint("answer.", len(want)), []byte(body)); err != nil {
			t.Fatal(err)
		}
		want = append(want, answer)
	}
	create := func(name, action, answer string) {
		t.Helper()
		ask("CREATE.S."+name, consumerBody("S", name, action, `"ack_policy":"explicit","description":"`+action+`"`), answer)
	}
	for i := range 50 {
		name := fmt.Sprint("c", i)
		if i >= 40 {
			create(name, "create", "10026") // too many
			continue
		}
		create(name, "create", `"name":"`+name+`"`)
	}
	for i := range 40 {
		name := fmt.Sprint("c", i)
		switch i % 4 {
		case 0: // all at once about one
			create(name, "update", `"description":"update"`)
			create(name, "create", "10148") // there is another of that name now
			ask("DELETE.S."+name, "", `"success":true`)
			ask("DELETE.S."+name, "", "10014")
			create(name, "update", "10149")
			create(name, "create", `"description":"create"`)
		case 1:
			ask("DELETE.S."+name, "", `"success":true`)
		case 2:
			create(name, "update", `"description":"update"`)
		case 3:
			ask("CREATE.S", fmt.Sprintf(`{"stream_name":"S","config":{"name":%q,"ack_policy":"none"}}`, name), `"error"`)
		}
	}
	for i, w := range want {
		m, err := answers.NextMsg(servertest.Patience)
		if err != nil {
			t.Fatalf("answer %d: %v", i, err)
		}
		var n int
		if _, err := fmt.Sscanf(m.Subject, "answer.%d", &n); err != nil {
			t.Fatal(err)
		}
		if w = want[n]; !strings.Contains(string(m.Data), w) {
			t.Errorf("answer %d is %s, want %s", n, m.Data, w)
		}
	}
	var names struct{ Consumers []string }
	if err := json.Unmarshal(s.ask("CONSUMER.NAMES.S", "").raw, &names); err != nil || len(names.Consumers) != 30 {
		t.Errorf("%d consumers are left, want 30: %v, %v", len(names.Consumers), names.Consumers, err)
	}
}
