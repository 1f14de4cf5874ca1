package jetstream_test

import (
	"fmt"
	"strings"
	"testing"

	"runnel/server/servertest"
)

// TestManyDeletes sends deletes without waiting: each has its own answer, and what comes behind them sees all.
func TestManyDeletes(t *testing.T) {
	const many = 300
	for _, storage := range []string{"file", "memory"} {
		t.Run(storage, func(t *testing.T) {
			s := newSite(t, "")
			s.stream("S", fmt.Sprintf(`"subjects":["s"],"storage":%q`, storage))
			for range many {
				if _, err := s.conn.Request("s", nil, servertest.Patience); err != nil {
					t.Fatal(err)
				}
			}
			answers, err := s.conn.SubscribeSync("answer.*")
			if err != nil {
				t.Fatal(err)
			}
			ask := func(i int, subject, body string) {
				t.Helper()
				if err := s.conn.PublishRequest("$JS.API.STREAM."+subject+".S", fmt.Sprint("answer.", i), []byte(body)); err != nil {
					t.Fatal(err)
				}
			}
			var want []string
			for i := range many {
				seq := i + 1
				switch i % 10 {
				case 3: // again what went just before
					seq--
					want = append(want, "no message found")
				case 5:
					seq = many + i
					want = append(want, "no message found")
				case 7: // one that no stream understands
					ask(i, "MSG.DELETE", `{"seq":`)
					want = append(want, `"error"`)
					continue
				case 9: // ends a run of deletes
					ask(i, "PURGE", `{"seq":1}`)
					want = append(want, `"purged":0`)
					continue
				default:
					want = append(want, `"success":true`)
				}
				ask(i, "MSG.DELETE", fmt.Sprintf(`{"seq":%d,"no_erase":%v}`, seq, i%2 == 0))
			}
			got := make([]string, many)
			for range many {
				m, err := answers.NextMsg(servertest.Patience)
				if err != nil {
					t.Fatal(err)
				}
				var i int
				if _, err := fmt.Sscanf(m.Subject, "answer.%d", &i); err != nil {
					t.Fatal(err)
				}
				got[i] += string(m.Data)
			}
			for i, w := range want {
				if !strings.Contains(got[i], w) {
					t.Errorf("answer %d is %s, want %s", i, got[i], w)
				}
			}
			var info struct{ State streamState }
			s.must("STREAM.INFO.S", "", &info)
			if w := uint64(many - many/10*6); info.State.Messages != w {
				t.Errorf("%d messages are left, want %d", info.State.Messages, w)
			}
		})
	}
}
