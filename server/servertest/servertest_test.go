package servertest_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"runnel/server/servertest"
)

// fakeTest is a test that notes its failures and runs its cleanups when it is told to.
type fakeTest struct {
	testing.TB
	mu       sync.Mutex
	failures []string
	cleanups []func()
}

func (f *fakeTest) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failures = append(f.failures, fmt.Sprintf(format, args...))
}

// Fatalf ends nothing: the goroutine is that of the real test.
func (f *fakeTest) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	panic(errStop)
}

func (f *fakeTest) Fatal(args ...any)      { f.Fatalf("%s", fmt.Sprint(args...)) }
func (f *fakeTest) Cleanup(cleanup func()) { f.cleanups = append(f.cleanups, cleanup) }

func (f *fakeTest) finish() {
	for i := len(f.cleanups) - 1; i >= 0; i-- {
		f.cleanups[i]()
	}
}

var errStop = errors.New("the fake test has ended")

// run calls test and returns the failures.
func run(t *testing.T, test func(tb testing.TB)) []string {
	t.Helper()
	f := &fakeTest{TB: t}
	func() {
		defer func() {
			if r := recover(); r != nil && r != any(errStop) {
				panic(r)
			}
		}()
		test(f)
	}()
	f.finish()
	return f.failures
}

func TestStart(t *testing.T) {
	s := servertest.Start(t, `server_name: one, http_port: -1`)
	if s.Name() != "one" {
		t.Errorf("name = %q, want the configured one", s.Name())
	}
	if got := s.Ports().Monitoring; len(got) != 1 || !strings.HasPrefix(got[0], "http://127.0.0.1:") {
		t.Errorf("monitoring at %q, want loopback", got)
	}
	nc := servertest.Connect(t, s, nats.Name("me"))
	sub, err := nc.SubscribeSync("a")
	if err != nil {
		t.Fatal(err)
	}
	raw := servertest.DialQuiet(t, s)
	raw.Send("PUB a 2\r\n%s\r\n", "hi")
	if m, err := sub.NextMsg(servertest.Patience); err != nil || string(m.Data) != "hi" {
		t.Errorf("got %v, %v, want hi", m, err)
	}
	if got := raw.Info()["server_name"]; got != "one" {
		t.Errorf("server_name in INFO = %v, want one", got)
	}
}

func TestFailures(t *testing.T) {
	tests := []struct {
		name string
		test func(tb testing.TB)
		want string // in the only failure; none when empty
	}{
		{"unused server", func(tb testing.TB) { servertest.Start(tb, "") }, ""},
		{"shut down by the test itself", func(tb testing.TB) { _ = servertest.Start(tb, "").Close() }, ""},
		{"a client that is still there", func(tb testing.TB) { servertest.DialQuiet(t, servertest.Start(tb, "")) }, ""},
		{"unknown key", func(tb testing.TB) { servertest.Start(tb, "prot: 1") }, "prot"},
		{"not built", func(tb testing.TB) { servertest.Start(tb, "gateway { name: a }") }, "gateway"},
		{"refused", func(tb testing.TB) { servertest.Connect(tb, servertest.Start(tb, "authorization {token: x}")) }, "Authorization"},
		{"wrong line", func(tb testing.TB) {
			c := servertest.DialQuiet(tb, servertest.Start(tb, ""))
			c.Send("FOO\r\n")
			c.Expect("BAR")
		}, `got line "-ERR 'Unknown Protocol Operation'", want "BAR"`},
		{"something before the end", func(tb testing.TB) {
			c := servertest.DialQuiet(tb, servertest.Start(tb, ""))
			c.Send("FOO\r\n")
			c.ExpectClosed()
		}, "want the end of the connection"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := run(t, tt.test)
			switch {
			case tt.want == "" && len(got) > 0:
				t.Errorf("got failures %q, want none", got)
			case tt.want != "" && (len(got) != 1 || !strings.Contains(got[0], tt.want)):
				t.Errorf("got failures %q, want one with %q", got, tt.want)
			}
		})
	}
}

// TestLabels checks what the look for leaks rests on: that the goroutines of a server carry its label.
func TestLabels(t *testing.T) {
	servertest.Start(t, "http_port: -1")
	want := `"servertest":"TestLabels#`
	// Goroutines that have not begun yet are one line of the profile, however many they are.
	servertest.Eventually(t, "three lines with the label "+want, func() bool {
		var text strings.Builder
		if err := pprof.Lookup("goroutine").WriteTo(&text, 1); err != nil {
			t.Fatal(err)
		}
		return strings.Count(text.String(), want) >= 3
	})
}

func TestCertificates(t *testing.T) {
	a := servertest.NewAuthority(t)
	client := a.Client(x509.Certificate{Subject: pkix.Name{CommonName: "me"}, EmailAddresses: []string{"me@example.com"}})
	s := servertest.Start(t, a.Server().Block(fmt.Sprintf("verify: true, ca_file: %q, pinned_certs: [%q]", a.File, client.Pin())))
	nc := servertest.Connect(t, s, nats.Secure(a.ClientConfig(client)))
	if _, err := nc.TLSConnectionState(); err != nil {
		t.Error(err)
	}
	raw, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	plain := servertest.NewClient(t, raw)
	plain.ReadInfo()
	c := servertest.NewClient(t, tls.Client(raw, a.ClientConfig(client)))
	c.Send(servertest.Quiet)
	c.Flush()
	c.Close()
}

// TestStartCluster stops a server of a cluster and starts it again. The names of the servers are theirs in the config too.
func TestStartCluster(t *testing.T) {
	c := servertest.StartCluster(t, 3, "server_tags: [ {{name}} ]\ncluster { authorization { user: u, password: p } }")
	for i, want := range [][]string{{"s2", "s3"}, {"s1", "s3"}, {"s1", "s2"}} {
		if got := c.Servers[i].Peers(); !slices.Equal(got, want) {
			t.Errorf("s%d is connected with %q, want %q", i+1, got, want)
		}
		if got := c.Options(i).ServerTags; !slices.Equal(got, []string{c.Servers[i].Name()}) {
			t.Errorf("s%d has the tags %q", i+1, got)
		}
	}
	url := c.Servers[1].ClientURL()
	c.Stop(1)
	if got := c.Servers[0].Peers(); !slices.Equal(got, []string{"s3"}) {
		t.Errorf("without s2, s1 is connected with %q", got)
	}
	c.Start(1)
	if got := c.Servers[1].ClientURL(); got != url {
		t.Errorf("s2 is at %s after a restart, was at %s", got, url)
	}
}
