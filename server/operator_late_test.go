package server_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"

	"runnel/server/servertest"
)

// TestOperatorLateClaims: claims that were read before others were pushed do not come into force after these.
func TestOperatorLateClaims(t *testing.T) {
	w := newOperatorWorld(t)
	imports := func(c *jwt.AccountClaims) {
		c.Imports.Add(&jwt.Import{Account: w.b.public, Subject: "from.b", Type: jwt.Stream})
	}
	var mu sync.Mutex // guards tokens
	tokens := map[string]string{w.sys.public: w.accountJWT(w.sys, nil), w.a.public: w.accountJWT(w.a, imports)}
	asked, answer := make(chan struct{}, 1), make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		if name == w.b.public {
			select {
			case asked <- struct{}{}:
			default:
			}
			<-answer
		}
		mu.Lock()
		defer mu.Unlock()
		if tokens[name] == "" && name != "" {
			http.NotFound(rw, r)
			return
		}
		_, _ = rw.Write([]byte(tokens[name])) // the client has gone
	}))
	t.Cleanup(site.Close)
	release := sync.OnceFunc(func() { close(answer) })
	t.Cleanup(release)
	w.start("operator: " + w.operatorJWT(nil) + "\nresolver: URL(" + site.URL + "/)\nauthorization: { timeout: 30 }\n")
	w.administration = w.connect(w.admin, w.userJWT(w.sys, w.sys, w.admin, nil))

	came := make(chan error, 1)
	go func() {
		nc, err := nats.Connect(w.server.ClientURL(), credentials(w.ua, w.userJWT(w.a, w.a, w.ua, nil)), nats.Timeout(servertest.Patience))
		if err == nil {
			nc.Close()
		}
		came <- err
	}()
	<-asked // the claims of a were read
	revoking := w.accountJWT(w.a, func(c *jwt.AccountClaims) {
		imports(c)
		c.RevokeAt(w.ua.public, time.Now().Add(time.Hour))
	})
	mu.Lock()
	tokens[w.a.public] = revoking
	mu.Unlock()
	mustContain(t, "answer to a push", request(t, w.administration, "$SYS.REQ.ACCOUNT."+w.a.public+".CLAIMS.UPDATE", revoking), `"code":200`)
	release()
	if err := <-came; err == nil {
		t.Error("a user is let in who was revoked meanwhile")
	}
}
