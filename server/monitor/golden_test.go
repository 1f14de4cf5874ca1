package monitor_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"runnel/server/monitor"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden compares whole answers with files, so that every change of a field is seen in review. The
// clock is that of a synctest bubble, in which it is always epoch.
func TestGolden(t *testing.T) {
	tests := []struct{ name, target string }{
		{"varz", "/varz"},
		{"connz", "/connz"},
		{"connz-auth-detail", "/connz?auth=1&subs=detail&state=any"},
		{"connz-subs-closed", "/connz?subs=1&state=closed&sort=stop"},
		{"subsz", "/subsz"},
		{"subsz-list", "/subsz?subs=1&acc=A"},
		{"accountz", "/accountz"},
		{"accountz-detail", "/accountz?acc=A"},
		{"accstatz", "/accstatz"},
		{"accstatz-unused", "/accstatz?unused=1"},
		{"routez", "/routez"},
		{"gatewayz", "/gatewayz"},
		{"leafz", "/leafz"},
		{"jsz", "/jsz"},
		{"ipqueuesz", "/ipqueuesz"},
		{"ipqueuesz-all", "/ipqueuesz?all=true"},
		{"healthz", "/healthz"},
		{"error", "/connz?sort=beauty"},
		{"index", "/"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := get(monitor.Handler(newPages(newSource()), ""), tt.target)
				compareGolden(t, tt.name, w.Body.Bytes())
			})
		})
	}
}

// TestGoldenSystem has the pages that only $SYS shows.
func TestGoldenSystem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPages(newSource())
		compareGolden(t, "statsz", indent(t, p.Statsz()))
		compareGolden(t, "idz", indent(t, p.Idz()))
		compareGolden(t, "healthz-system", indent(t, p.Healthz(monitor.HealthzOptions{})))
	})
}

// TestGoldenJetStream has the pages of a server with JetStream.
func TestGoldenJetStream(t *testing.T) {
	tests := []struct{ name, target string }{
		{"js-varz", "/varz"},
		{"js-jsz", "/jsz"},
		{"js-jsz-accounts", "/jsz?accounts=true"},
		{"js-jsz-streams", "/jsz?streams=1"},
		{"js-jsz-all", "/jsz?consumers=1&config=1&raft=1&direct-consumers=1&leader-only=1&stream-leader-only=1"},
		{"js-accountz-detail", "/accountz?acc=A"},
		{"js-healthz", "/healthz"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := get(monitor.Handler(newPages(newJetStream()), ""), tt.target)
				compareGolden(t, tt.name, w.Body.Bytes())
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		compareGolden(t, "js-statsz", indent(t, newPages(newJetStream()).Statsz()))
	})
}

// TestGoldenClustered has the pages of one of three servers.
func TestGoldenClustered(t *testing.T) {
	tests := []struct{ name, target string }{
		{"cluster-varz", "/varz"},
		{"cluster-routez", "/routez"},
		{"cluster-routez-subs", "/routez?subs=1"},
		{"cluster-routez-detail", "/routez?subs=detail"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := get(monitor.Handler(newPages(newClustered()), ""), tt.target)
				compareGolden(t, tt.name, w.Body.Bytes())
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		compareGolden(t, "cluster-statsz", indent(t, newPages(newClustered()).Statsz()))
	})
}

func TestGoldenUnwell(t *testing.T) {
	s := newSource()
	s.health = errors.New("shutting down")
	h := monitor.Handler(newPages(s), "")
	for name, target := range map[string]string{
		"healthz-unwell":  "/healthz",
		"healthz-details": "/healthz?details=true",
	} {
		w := get(h, target)
		if w.Code != http.StatusServiceUnavailable {
			t.Errorf("%s: got status %d, want 503", target, w.Code)
		}
		compareGolden(t, name, w.Body.Bytes())
	}
}

func indent(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func compareGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	ext := ".json"
	if bytes.HasPrefix(got, []byte("<")) {
		ext = ".html"
	}
	got = bytes.ReplaceAll(got, []byte(runtime.Version()), []byte("GO-VERSION"))
	got = append(got, '\n')
	file := filepath.Join("testdata", name+ext)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (run with -update to write it)", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from %s\ngot:\n%s\nwant:\n%s", name, file, got, want)
	}
}

// get asks the handler for a target.
func get(h http.Handler, target string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
	return w
}

// decode reads a JSON answer.
func decode(t *testing.T, w *httptest.ResponseRecorder, to any) {
	t.Helper()
	if got := w.Header().Get("Content-Type"); !strings.HasPrefix(got, "application/json") {
		t.Fatalf("got content type %q and body %s, want application/json", got, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), to); err != nil {
		t.Fatalf("answer %s: %v", w.Body, err)
	}
}
