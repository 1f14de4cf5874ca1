package monitor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	// maxQueryBytes bounds the query of a request.
	maxQueryBytes = 16 << 10
	// pagesAtOnce is how many large answers may be in memory at the same time.
	pagesAtOnce = 4
	// largeBytes is the size from which an answer counts as large until it is written.
	largeBytes = 64 << 10
	// waitForTurn is how long a request waits for its turn to be built.
	waitForTurn = 10 * time.Second
	// writeWithin is how long a reader may take to fetch an answer.
	writeWithin = 30 * time.Second
)

// route is a page under its path. Its build returns what to show as JSON.
type route struct {
	path  string
	alias string // another path for the same page, or empty
	title string // in the index
	large bool   // grows with connections, subscriptions or accounts
	build func(*Pages, url.Values) (any, error)
}

// routes lists the pages that are plain JSON, in the order of the index.
func routes() []route {
	return []route{
		{"/varz", "", "General", false, func(p *Pages, _ url.Values) (any, error) { return p.Varz(), nil }},
		{"/connz", "", "Connections", true, page((*Pages).Connz)},
		{"/subsz", "/subscriptionsz", "Subscriptions", true, page((*Pages).Subsz)},
		{"/accountz", "", "Accounts", true, page((*Pages).Accountz)},
		{"/accstatz", "", "Account figures", true, page((*Pages).Accstatz)},
		{"/jsz", "", "JetStream", true, page((*Pages).Jsz)},
		{"/routez", "", "Routes", true, page((*Pages).Routez)},
		{"/clusterz", "", "Cluster", true, func(p *Pages, _ url.Values) (any, error) { return p.Clusterz() }},
		{"/gatewayz", "", "Gateways", true, page((*Pages).Gatewayz)},
		{"/leafz", "", "Leaf nodes", true, page((*Pages).Leafz)},
		{"/raftz", "", "Raft groups", false, raftPage},
		{"/ipqueuesz", "", "Internal queues", false, page((*Pages).Ipqueuesz)},
		{"/debug/vars", "", "Go runtime", false, func(p *Pages, _ url.Values) (any, error) { return p.Expvarz(), nil }},
		{"/healthz", "", "Health", false, nil},
		{"/stacksz", "", "Goroutine stacks", true, nil},
		{"/metrics", "", "Prometheus metrics", false, nil},
	}
}

// page makes a route of a page and its options type.
func page[O any, P interface {
	*O
	Parameters
}, R any](build func(*Pages, O) (R, error),
) func(*Pages, url.Values) (any, error) {
	return func(p *Pages, query url.Values) (any, error) {
		var options O
		if err := FromQuery(query, P(&options)); err != nil {
			return nil, err
		}
		return build(p, options)
	}
}

func raftPage(p *Pages, query url.Values) (any, error) {
	groups, err := page((*Pages).Raftz)(p, query)
	if err == nil && len(groups.(map[string]map[string]RaftGroup)) == 0 {
		return nil, errNoRaft
	}
	return groups, err
}

// errNoRaft is the one error that is answered as plain text, as nats-server does.
var errNoRaft = &RequestError{Code: http.StatusNotFound, Text: "No Raft nodes registered"}

// site serves the pages over HTTP.
type site struct {
	pages *Pages
	base  string        // "" or "/path" without a slash at the end
	turns chan struct{} // one token for each large answer in memory
}

// Handler serves the pages below basePath: an index at its root, every page of the operations manual, and
// /metrics. Any method is accepted and a body is not read. A request for an unknown page gets 404, one with
// a bad parameter 400, both with a JSON object that has an "error". Pages that grow with the server are built
// a few at a time, and a reader who does not fetch its answer is cut off, so requests cannot fill the memory.
func Handler(pages *Pages, basePath string) http.Handler {
	s := &site{pages: pages, base: cleanBase(basePath), turns: make(chan struct{}, pagesAtOnce)}
	return s.mux()
}

// mux puts every page under its path.
func (s *site) mux() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", http.HandlerFunc(s.notFound))
	if s.base != "" {
		mux.Handle(s.base, s.counted("/", s.index))
	}
	mux.Handle(s.base+"/{$}", s.counted("/", s.index))
	plain := map[string]http.HandlerFunc{
		"/healthz": s.health,
		"/stacksz": s.stacks,
		"/metrics": metricsHandler(s.pages).ServeHTTP,
	}
	for _, r := range routes() {
		handle := plain[r.path]
		if handle == nil {
			handle = s.json(r)
		}
		mux.Handle(s.base+r.path, s.counted(r.path, handle))
		if r.alias != "" {
			mux.Handle(s.base+r.alias, s.counted(r.path, handle))
		}
	}
	return mux
}

// cleanBase makes "mon", "/mon" and "/mon/" the same, and "/" nothing.
func cleanBase(base string) string {
	base = strings.Trim(base, "/")
	if base == "" {
		return ""
	}
	return "/" + base
}

// counted does what all pages have in common.
func (s *site) counted(path string, next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.pages.requests.add(path)
		// Not every writer has a deadline (a test's has none); then whoever owns the writer bounds it.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(waitForTurn + writeWithin))
		w.Header().Set("Access-Control-Allow-Origin", "*")
		if len(r.URL.RawQuery) > maxQueryBytes {
			refuse(w, &RequestError{
				Code: http.StatusRequestURITooLong,
				Text: fmt.Sprintf("the query has %d bytes, at most %d are allowed", len(r.URL.RawQuery), maxQueryBytes),
			})
			return
		}
		next(w, r)
	})
}

// json serves a page of JSON.
func (s *site) json(r route) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		query, err := url.ParseQuery(req.URL.RawQuery)
		if err != nil {
			refuse(w, badRequest("the query cannot be read: %v", err))
			return
		}
		done := func() {}
		if r.large {
			if done, err = s.turn(req.Context()); err != nil {
				refuse(w, err)
				return
			}
			defer done()
		}
		page, err := r.build(s.pages, query)
		if err != nil {
			refuse(w, err)
			return
		}
		body, err := json.MarshalIndent(page, "", "  ")
		if err != nil {
			refuse(w, fmt.Errorf("write %s as JSON: %w", r.path, err))
			return
		}
		if len(body) < largeBytes {
			done() // the network buffers it, nothing waits for the reader
		}
		write(w, http.StatusOK, "application/json", body)
	}
}

// turn waits until an answer may be built. The caller calls done, any number of times, when the answer is
// out of memory.
func (s *site) turn(ctx context.Context) (done func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, waitForTurn)
	defer cancel()
	select {
	case s.turns <- struct{}{}:
	case <-ctx.Done():
		return nil, &RequestError{Code: http.StatusServiceUnavailable, Text: "too many requests at once, try again"}
	}
	held := true
	return func() {
		if held {
			held = false
			<-s.turns
		}
	}, nil
}

// health never waits for a turn: a probe must be answered however busy the pages are. Its JSON is one line.
func (s *site) health(w http.ResponseWriter, r *http.Request) {
	var options HealthzOptions
	if err := FromQuery(r.URL.Query(), &options); err != nil {
		refuse(w, err)
		return
	}
	h := s.pages.Healthz(options)
	code := h.StatusCode
	h.StatusCode = 0
	body, err := json.Marshal(h)
	if err != nil {
		refuse(w, fmt.Errorf("write health as JSON: %w", err))
		return
	}
	write(w, code, "application/json", body)
}

func (s *site) stacks(w http.ResponseWriter, r *http.Request) {
	done, err := s.turn(r.Context())
	if err != nil {
		refuse(w, err)
		return
	}
	defer done()
	write(w, http.StatusOK, "text/plain; charset=utf-8", s.pages.Stacksz())
}

func (s *site) notFound(w http.ResponseWriter, r *http.Request) {
	const most = 128
	refuse(w, &RequestError{
		Code: http.StatusNotFound,
		Text: fmt.Sprintf("there is no page %.*q, %s/ lists them", most, r.URL.Path, s.base),
	})
}

// refuse answers with an error: those that are not a RequestError are our own fault.
func refuse(w http.ResponseWriter, err error) {
	if err == errNoRaft {
		write(w, http.StatusNotFound, "text/plain; charset=utf-8", []byte(errNoRaft.Text))
		return
	}
	code := http.StatusInternalServerError
	var request *RequestError
	if errors.As(err, &request) {
		code = request.Code
	}
	body, err := json.MarshalIndent(struct {
		Error string `json:"error"`
	}{err.Error()}, "", "  ")
	if err != nil {
		body = []byte(`{"error": "the error cannot be written"}`)
	}
	write(w, code, "application/json", body)
}

func write(w http.ResponseWriter, code int, contentType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	// A reader that went away is no event of the server.
	_, _ = w.Write(body)
}
