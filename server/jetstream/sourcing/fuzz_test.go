package sourcing_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
)

// largest is the largest sequence that there is.
const largest = 1 << 62

// FuzzOrigin lets an origin send whatever it likes, to both subjects of a session, and sees that what it sends after
// that is stored all the same.
func FuzzOrigin(f *testing.F) {
	f.Add("a", "$JS.ACK.O.C.1.1.1.1.0", []byte(nil), []byte("x"), false)
	f.Add("a", "$JS.ACK.O.C.1.18446744073709551615.1.1.0", []byte(nil), []byte("x"), false)
	f.Add("a", "$JS.ACK.O.C.1.9223372036854775807.1.1.0", []byte(nil), []byte("x"), false)
	f.Add("", "$JS.FC.O.C.1", api.StatusFlowControl.Block(), []byte(nil), false)
	f.Add("", "", api.AppendHeartbeat(nil, 1<<63, 7, "x"), []byte(nil), false)
	f.Add("", "", api.StatusConsumerDeleted.Block(), []byte(nil), true)
	f.Add("", "", []byte(nil), []byte(`{"error":{"err_code":10185}}`), true)
	f.Add("", "", []byte(nil), []byte(`{"error":{"err_code":10225}}`), true)
	f.Add("", "", []byte("NATS/1.0\r\nNats-Stream-Identity: other\r\n\r\n"), []byte(`{"name":"x","num_pending":5}`), true)
	f.Add("", "", []byte(nil), []byte(`{`), true)
	f.Fuzz(func(t *testing.T, subject, reply string, header, payload []byte, answers bool) {
		for name, cfg := range map[string]config.Stream{"mirror": mirror(config.Source{}), "source": source(config.Source{})} {
			synctest.Test(t, func(t *testing.T) {
				o := newOrigin()
				o.silent = answers
				s := begin(t, cfg, o)
				asked := s.asked()[0]
				to := asked.consumer(t).DeliverSubject
				if answers {
					to = asked.reply
				}
				o.send(to, subject, reply, header, payload)
				synctest.Wait()
				o.change(func() { o.silent = false })
				o.add(largest, "later", "y")
				time.Sleep(time.Minute)
				a, _ := api.ParseAck(reply)
				if got := s.log.String(); a.StreamSequence != largest && !strings.HasSuffix(got, " later y") {
					t.Errorf("%s: what came later is not stored: %s", name, got)
				}
			})
		}
	})
}
