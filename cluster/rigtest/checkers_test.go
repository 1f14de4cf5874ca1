package rigtest_test

import (
	"strings"
	"testing"
	"time"

	"runnel/cluster/rigtest"
	"runnel/conf"
)

func TestListenerFindings(t *testing.T) {
	tests := []struct {
		name  string
		heard []string
		want  []string
	}{
		{"in order", []string{"n1-0 1", "n2-0 1", "n1-0 2"}, nil},
		{"some lost", []string{"n1-0 1", "n1-0 4"}, nil},
		{"another connection", []string{"n1-0 4", "n1-1 1"}, nil},
		{"twice", []string{"n1-0 1", "n1-0 1"}, []string{"twice: message 1 of n1-0"}},
		{"out of order", []string{"n1-0 2", "n1-0 1"}, []string{"order: message 1 of n1-0 after 2"}},
		{"of somebody else", []string{"hello"}, []string{"alien: "}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { wantFindings(t, rigtest.Heard(tt.heard...), tt.want) })
	}
}

func TestWorkersFindings(t *testing.T) {
	wantFindings(t, rigtest.Floors(0, 1, 1, 5), nil)
	wantFindings(t, rigtest.Floors(3, 1, 5, 4), []string{"floor: the ack floor is 1 on n1, after it was 3", "floor: the ack floor is 4 on n1, after it was 5"})
	if got := rigtest.RepeatedOf([]uint64{1, 2}, 2, 3, 3); got != 1 {
		t.Errorf("got %d repeated, want the one that was confirmed", got)
	}
}

func TestReaderFindings(t *testing.T) {
	wantFindings(t, rigtest.Took(1, 2, 3), nil)
	wantFindings(t, rigtest.Took(1, 3), []string{"order: sequence 3 where 2 was due"})
	wantFindings(t, rigtest.Took(1, 2, 1), []string{"order: sequence 1 where 3 was due"})
}

func TestFaults(t *testing.T) {
	log := "[1] started\npanic: oops\ngoroutine 1\n" + strings.Repeat("main\n", 100) + "WARNING: DATA RACE\n[1] ended\n"
	got := rigtest.Faults(log)
	if len(got) != 2 || !strings.HasPrefix(got[0], "panic: oops\ngoroutine 1\nmain\n") || got[1] != "WARNING: DATA RACE\n[1] ended\n" {
		t.Errorf("got %q, want the panic with what follows, and the race", got)
	}
	if got := rigtest.Faults("[1] started\n[1] do not panic: all is well\n"); len(got) > 0 {
		t.Errorf("got %q, want nothing", got)
	}
	if got, want := rigtest.Tail(log, 2), "WARNING: DATA RACE\n[1] ended\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := rigtest.Tail(log, 1000); got != log {
		t.Errorf("got %q, want all", got)
	}
}

// TestConfig: the config file says what it is meant to say.
func TestConfig(t *testing.T) {
	text := rigtest.ConfigText("n2", "/data/n2", []string{"127.0.0.1:1", "127.0.0.1:2"}, 2*time.Second, "max_payload: 1KB\n")
	o, err := conf.Parse("rig.conf", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if o.ServerName != "n2" || o.Port != 4222 || o.Monitor.Port != 8222 || o.Limits.MaxPayloadBytes != 1024 {
		t.Errorf("got name %q, ports %d and %d, payloads of %d, want those of the settings", o.ServerName, o.Port, o.Monitor.Port, o.Limits.MaxPayloadBytes)
	}
	if o.JetStream == nil || o.JetStream.StoreDir != "/data/n2" || o.NoAuthUser != "app" || o.SystemAccount != "SYS" {
		t.Errorf("got streams %+v, user %q, system account %q", o.JetStream, o.NoAuthUser, o.SystemAccount)
	}
	c := o.Cluster
	if c == nil || c.Name != "rig" || c.Port != 6222 || c.PingInterval != 2*time.Second || len(c.Routes) != 2 || c.Advertise != "127.0.0.1:1" {
		t.Errorf("got cluster %+v, want that of the settings", c)
	}
	lone, err := conf.Parse("rig.conf", []byte(rigtest.ConfigText("n1", "", nil, 0, "")))
	if err != nil {
		t.Fatal(err)
	}
	if lone.JetStream != nil || len(lone.Cluster.Routes) != 0 {
		t.Errorf("got streams %+v, routes %q, want none", lone.JetStream, lone.Cluster.Routes)
	}
}
