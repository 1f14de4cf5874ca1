package monitor_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"runnel/server/monitor"
)

func TestHandlerServesAllPaths(t *testing.T) {
	want := strings.Fields("/ /varz /connz /subsz /subscriptionsz /accountz /accstatz /jsz /routez /clusterz /gatewayz /leafz " +
		"/raftz /ipqueuesz /debug/vars /healthz /stacksz /metrics")
	if got := monitor.Paths(); len(got) != len(want) {
		t.Errorf("got paths %q, want %q", got, want)
	}
	for _, base := range []string{"", "/", "/mon", "mon/", "/a/b"} {
		h := monitor.Handler(newPages(newSource()), base)
		prefix := "/" + strings.Trim(base, "/")
		if prefix == "/" {
			prefix = ""
		}
		for _, path := range want {
			w := get(h, prefix+path)
			code := http.StatusOK
			if path == "/raftz" || path == "/clusterz" {
				code = http.StatusNotFound
			}
			if w.Code != code {
				t.Errorf("base %q, GET %s%s: got status %d, want %d", base, prefix, path, w.Code, code)
			}
			if got := w.Header().Get("Access-Control-Allow-Origin"); got != "*" {
				t.Errorf("GET %s: got Access-Control-Allow-Origin %q, want *", path, got)
			}
		}
	}
}

func TestHandlerUnknownPages(t *testing.T) {
	h := monitor.Handler(newPages(newSource()), "/mon")
	for _, target := range []string{"/", "/varz", "/mon/varz/", "/mon/varz/x", "/mon/nothing", "/mon/VARZ", "/monvarz"} {
		w := get(h, target)
		var answer struct{ Error string }
		decode(t, w, &answer)
		if w.Code != http.StatusNotFound || !strings.Contains(answer.Error, target) {
			t.Errorf("GET %s: got %d %q, want 404 that names it", target, w.Code, answer.Error)
		}
	}
	if w := get(h, "/mon"); w.Code != http.StatusOK {
		t.Errorf("GET /mon: got status %d, want 200", w.Code)
	}
}

func TestHandlerAnyMethod(t *testing.T) {
	server := httptest.NewServer(monitor.Handler(newPages(newSource()), ""))
	defer server.Close()
	for _, method := range []string{"GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "BREW"} {
		req, err := http.NewRequest(method, server.URL+"/healthz", strings.NewReader(strings.Repeat("x", 100_000)))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		want := `{"status":"ok"}`
		if method == "HEAD" {
			want = ""
		}
		if err != nil || res.StatusCode != http.StatusOK || string(body) != want {
			t.Errorf("%s: got %d %q %v, want 200 %q", method, res.StatusCode, body, err, want)
		}
	}
}

func TestHandlerIgnoresCallback(t *testing.T) {
	w := get(monitor.Handler(newPages(newSource()), ""), "/varz?callback=steal&_=1")
	if w.Code != http.StatusOK || !strings.HasPrefix(w.Body.String(), "{\n") {
		t.Errorf("got %d %.20q, want plain JSON", w.Code, w.Body)
	}
}

func TestRaftzIsTextWithoutGroups(t *testing.T) {
	w := get(monitor.Handler(newPages(newSource()), ""), "/raftz?acc=A")
	if w.Code != http.StatusNotFound || w.Body.String() != "No Raft nodes registered" ||
		!strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		t.Errorf("got %d %q %q", w.Code, w.Header().Get("Content-Type"), w.Body)
	}
}

func TestStacksAreText(t *testing.T) {
	w := get(monitor.Handler(newPages(newSource()), ""), "/stacksz")
	if !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") || !strings.Contains(w.Body.String(), "goroutine ") {
		t.Errorf("got %q %.60q, want stacks as text", w.Header().Get("Content-Type"), w.Body)
	}
}

func TestExpvarzHidesArguments(t *testing.T) {
	var page struct {
		Cmdline  []string
		Memstats struct{ Sys uint64 }
	}
	decode(t, get(monitor.Handler(newPages(newSource()), ""), "/debug/vars"), &page)
	if len(page.Cmdline) != 1 || page.Memstats.Sys == 0 {
		t.Errorf("got %d words of the command line and %d bytes, want the program alone and its memory",
			len(page.Cmdline), page.Memstats.Sys)
	}
}

func TestRequestsAreCounted(t *testing.T) {
	h := monitor.Handler(newPages(newSource()), "/mon")
	for _, target := range []string{"/mon", "/mon/", "/mon/connz", "/mon/subsz", "/mon/subscriptionsz", "/mon/none", "/mon/connz?sort=x"} {
		get(h, target)
	}
	var page struct {
		Stats map[string]uint64 `json:"http_req_stats"`
	}
	decode(t, get(h, "/mon/varz"), &page)
	want := map[string]uint64{"/": 2, "/connz": 2, "/subsz": 2, "/varz": 1}
	if fmt.Sprint(page.Stats) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", page.Stats, want)
	}
}

func TestLongQueryIsRefused(t *testing.T) {
	h := monitor.Handler(newPages(newSource()), "")
	w := get(h, "/varz?x="+strings.Repeat("y", monitor.MaxQueryBytes))
	if w.Code != http.StatusRequestURITooLong {
		t.Errorf("got status %d, want 414", w.Code)
	}
	if w := get(h, "/connz?a=1;b=2"); w.Code != http.StatusBadRequest {
		t.Errorf("query that cannot be read: got status %d, want 400", w.Code)
	}
}

// TestBusyPages checks that while large pages are being built, others of their kind wait and give up, and
// small pages and probes are answered.
func TestBusyPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := monitor.OccupiedHandler(newPages(newSource()))
		for target, want := range map[string]int{
			"/connz": 503, "/subsz": 503, "/stacksz": 503, "/varz": 200, "/healthz": 200, "/": 200,
		} {
			if w := get(h, target); w.Code != want {
				t.Errorf("GET %s: got status %d, want %d", target, w.Code, want)
			}
		}
	})
}

func TestTurnEndsWithRequest(t *testing.T) {
	turns := make(chan struct{}, 1)
	for range 3 { // given back each time, however often done is called
		if err := monitor.Turn(t.Context(), turns); err != nil {
			t.Fatal(err)
		}
	}
	turns <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := monitor.Turn(ctx, turns); err == nil {
		t.Error("got a turn while none was free")
	}
}

func TestConcurrentRequests(t *testing.T) {
	s := newSource()
	h := monitor.Handler(monitor.New(&quietSource{s}), "")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, path := range monitor.Paths() {
				get(h, path)
			}
		})
	}
	wg.Wait()
}

// quietSource does not count what was walked, so that many may ask at once.
type quietSource struct{ *fakeSource }

func (s *quietSource) Subscriptions(account string) iter.Seq[monitor.Subscription] {
	c := *s.fakeSource
	return c.Subscriptions(account)
}

func (s *quietSource) SubscriptionStats(account string) monitor.SubscriptionStats {
	c := *s.fakeSource
	return c.SubscriptionStats(account)
}
