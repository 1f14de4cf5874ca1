package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"runnel/server/accounts"
	"runnel/server/engine"
)

// ladder makes accounts that each import twice what the one before has: 2^(n-1) ways from the first to the last, or with
// services the other way round.
func ladder(n int, service bool) accounts.Config {
	var all []accounts.AccountConfig
	for i := range n {
		a := accounts.AccountConfig{Name: fmt.Sprintf("L%d", i), Exports: exports{{Subject: ">", Service: service}}}
		from := fmt.Sprintf("L%d", i-1)
		switch {
		case i == 0:
		case service:
			a.Imports = imports{importService(from, "q.>", "q.>"), importService(from, "*.>", "*.>")}
		default:
			a.Imports = imports{importStream(from, ">", "a.>"), importStream(from, ">", "b.>")}
		}
		all = append(all, a)
	}
	return sharing(all...)
}

// TestWaysAreBounded has messages take all ways while these are few. Of very many they take some, and that is told.
func TestWaysAreBounded(t *testing.T) {
	tests := []struct {
		name    string
		rungs   int
		service bool
		told    bool
	}{
		{"few streams", 5, false, false},
		{"many streams", 14, false, true},
		{"few services", 5, true, false},
		{"many services", 14, true, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := start(t, 0, ladder(test.rungs, test.service), nil)
			from, to := "l0", fmt.Sprintf("l%d", test.rungs-1)
			if test.service {
				from, to = to, from
			}
			publisher, subscriber := h.login(from), h.login(to)
			subscriber.sub("> 1")
			publisher.pub("q.x", "", "x")
			publisher.flush()
			n, all := len(subscriber.drain()), 1<<(test.rungs-1)
			if n > 1024 || !test.told && n != all {
				t.Errorf("%d of %d messages came", n, all)
			}
			if told := strings.Contains(strings.Join(h.journal.take(), "\n"), "in too many ways"); told != test.told {
				t.Errorf("told: %v, want %v", told, test.told)
			}
			publisher.pub("q.y", "", "x") // the server goes on
			publisher.flush()
			if len(subscriber.drain()) == 0 {
				t.Error("the next message does not come")
			}
		})
	}
}

// TestManyImporters: a stream gets to all who import it, however many these are.
func TestManyImporters(t *testing.T) {
	all := []accounts.AccountConfig{{Name: "HUB", Exports: exports{exportStream("q.*")}}}
	for i := range 3000 {
		all = append(all, accounts.AccountConfig{Name: fmt.Sprintf("I%d", i), Imports: imports{importStream("HUB", "q.*", "")}})
	}
	h := start(t, 0, sharing(all...), nil)
	came := 0
	for i := 1; i < len(all); i++ {
		h.engine.Subscribe(h.account(all[i].Name), "q.x", "", func(*engine.Message) { came++ })
	}
	h.engine.Publish(h.account("HUB"), "q.x", "", nil, nil)
	if came != len(all)-1 {
		t.Errorf("%d of %d get the message", came, len(all)-1)
	}
}

// TestTraceOfManyWays: to find out whether a trace may follow does not take as long as there are ways.
func TestTraceOfManyWays(t *testing.T) {
	cfg := ladder(16, false)
	for i := range cfg.Accounts {
		for j := range cfg.Accounts[i].Imports {
			cfg.Accounts[i].Imports[j].AllowTrace = true
		}
	}
	h := start(t, 0, cfg, nil)
	publisher, subscriber := h.login("l0"), h.login("l15")
	subscriber.sub("> 1")
	const header = "NATS/1.0\r\nNats-Trace-Dest: trace\r\n\r\n"
	publisher.send("HPUB q.x %d %d\r\n%sx\r\n", len(header), len(header)+1, header)
	publisher.flush()
	if n := len(subscriber.drain()); n == 0 || n > 1024 {
		t.Errorf("%d messages came", n)
	}
}
