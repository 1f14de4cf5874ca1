package server_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"runnel/server"
	"runnel/server/servertest"
)

// BenchmarkLogin is how long it takes until a client is let in, from its first packet to the answer to its first PING,
// with several clients at a time. The client's part is in it, the signature of the nonce above all.
func BenchmarkLogin(b *testing.B) {
	b.Run("nothing", func(b *testing.B) {
		benchmarkLogin(b, servertest.Start(b, ""), nil, "")
	})
	b.Run("nkey", func(b *testing.B) {
		u := newPair(b, nkeys.CreateUser)
		s := servertest.Start(b, fmt.Sprintf("authorization { users: [{nkey: %s}] }", u.public))
		benchmarkLogin(b, s, u, fmt.Sprintf(`"nkey":%q,`, u.public))
	})
	b.Run("jwt", func(b *testing.B) {
		w := newOperatorWorld(b)
		w.startMemory("", w.tokens(nil))
		benchmarkLogin(b, w.server, w.ua, fmt.Sprintf(`"jwt":%q,`, w.userJWT(w.a, w.a, w.ua, nil)))
	})
	b.Run("scoped jwt", func(b *testing.B) {
		w := newOperatorWorld(b)
		role := newPair(b, nkeys.CreateAccount)
		w.startMemory("", w.tokens(func(c *jwt.AccountClaims) {
			s := jwt.NewUserScope()
			s.Key = role.public
			s.Template.Sub.Allow.Add("user.{{subject()}}.>", "team.{{tag(team)}}")
			c.SigningKeys.AddScopedSigner(s)
		}))
		benchmarkLogin(b, w.server, w.ua, fmt.Sprintf(`"jwt":%q,`, w.userJWT(w.a, role, w.ua, func(c *jwt.UserClaims) {
			c.Tags.Add("team:red")
			c.SetScoped(true)
		})))
	})
}

func benchmarkLogin(b *testing.B, s *server.Server, key nkeys.KeyPair, members string) {
	b.ReportAllocs()
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := logInOnce(s.Addr().String(), key, members); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "logins/s")
}

// logInOnce connects, and closes the connection once it is let in.
func logInOnce(addr string, key nkeys.KeyPair, members string) error {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = nc.Close() }()
	r := bufio.NewReader(nc)
	line, err := r.ReadString('\n')
	if err != nil {
		return err
	}
	var info struct{ Nonce string }
	if err := json.Unmarshal([]byte(strings.TrimPrefix(line, "INFO ")), &info); err != nil {
		return err
	}
	if key != nil {
		signature, err := key.Sign([]byte(info.Nonce))
		if err != nil {
			return err
		}
		members += fmt.Sprintf(`"sig":%q,`, base64.RawURLEncoding.EncodeToString(signature))
	}
	if _, err := fmt.Fprintf(nc, "CONNECT {%s\"verbose\":false}\r\nPING\r\n", members); err != nil {
		return err
	}
	if line, err = r.ReadString('\n'); err != nil || line != "PONG\r\n" {
		return fmt.Errorf("got %q, %w", line, err)
	}
	return nil
}
