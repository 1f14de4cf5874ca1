package delivery_test

import (
	"fmt"
	"testing"
	"time"

	"runnel/jetlog/config"
)

func TestPullStatuses(t *testing.T) {
	limited := explicit()
	limited.MaxBatch, limited.MaxExpires, limited.MaxBytes = 5, 500*time.Millisecond, 1000
	tests := []struct {
		name     string
		consumer config.Consumer
		publish  int
		body     string
		wait     time.Duration
		want     []string
	}{
		{"empty body", explicit(), 2, ``, 0, []string{"m1"}},
		{"number", explicit(), 3, `2`, 0, []string{"m1", "m2"}},
		{"no wait, nothing there", explicit(), 0, `{"batch":5,"no_wait":true}`, 0, []string{"404 No Messages"}},
		{"no wait, some there", explicit(), 2, `{"batch":5,"no_wait":true}`, 0, []string{"m1", "m2", "404 No Messages"}},
		{"no wait with expires, some there", explicit(), 2, `{"batch":5,"no_wait":true,"expires":1000000000}`, 0, []string{"m1", "m2", "404 No Messages"}},
		{"no wait with expires, nothing there", explicit(), 0, `{"batch":5,"no_wait":true,"expires":1000000000}`, time.Second, []string{"408 Request Timeout Pending-Messages=5 Pending-Bytes=0"}},
		{"expires", explicit(), 2, `{"batch":5,"expires":1000000000}`, time.Second, []string{"m1", "m2", "408 Request Timeout Pending-Messages=3 Pending-Bytes=0"}},
		{"bytes run out", explicit(), 5, `{"batch":5,"max_bytes":100,"expires":1000000000}`, time.Second, []string{"m1", "m2", "409 Message Size Exceeds MaxBytes Pending-Messages=3 Pending-Bytes=14"}},
		{"no message fits", explicit(), 1, `{"batch":5,"max_bytes":10,"expires":1000000000}`, time.Second, []string{"409 Message Size Exceeds MaxBytes Pending-Messages=5 Pending-Bytes=10"}},
		{"batch filled, bytes left", explicit(), 3, `{"batch":1,"max_bytes":100,"expires":1000000000}`, time.Second, []string{"m1", "409 Batch Completed Pending-Messages=0 Pending-Bytes=57"}},
		{"heartbeats", explicit(), 1, `{"batch":5,"expires":500000000,"idle_heartbeat":200000000}`, time.Second, []string{
			"m1", "100 Idle Heartbeat Last-Consumer=1 Last-Stream=1", "100 Idle Heartbeat Last-Consumer=1 Last-Stream=1",
			"408 Request Timeout Pending-Messages=4 Pending-Bytes=0",
		}},
		{"heartbeat too large", explicit(), 1, `{"batch":5,"expires":500000000,"idle_heartbeat":300000000}`, 0, []string{"400 Bad Request - heartbeat value too large"}},
		{"too large a batch", limited, 1, `{"batch":6}`, 0, []string{"409 Exceeded MaxRequestBatch of 5"}},
		{"too long", limited, 1, `{"batch":5,"expires":600000000}`, 0, []string{"409 Exceeded MaxRequestExpires of 500ms"}},
		{"too many bytes", limited, 1, `{"batch":5,"max_bytes":1001}`, 0, []string{"409 Exceeded MaxRequestMaxBytes of 1000"}},
		{"within limits", limited, 1, `{"batch":1,"max_bytes":0}`, 0, []string{"m1"}},
		{"overflow only", explicit(), 1, `{"min_pending":5}`, 0, []string{"400 Bad Request - Not a Overflow Priority consumer"}},
		{"pinned only", explicit(), 1, `{"id":"x"}`, 0, []string{"400 Bad Request - Not a Pinned Client Priority consumer"}},
		{"priority", explicit(), 1, `{"priority":10}`, 0, []string{"400 Bad Request - Priority must be between 0 and 9"}},
		{"group without policy", explicit(), 1, `{"group":"A"}`, 0, []string{"m1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, streamConfig(), func(t *testing.T, w *world) {
				w.consumer(test.consumer)
				for i := range test.publish {
					w.publish("s.a", fmt.Sprintf("m%d", i+1))
				}
				w.pull("inbox", test.body)
				w.pass(test.wait)
				w.got("inbox", test.want...)
			})
		})
	}
}

func TestPullWaitsForMessages(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(explicit())
		w.pull("inbox", `{"batch":3,"expires":30000000000}`)
		w.got("inbox")
		w.publish("s.a", "one")
		w.wait()
		m := w.got("inbox", "one")[0]
		a := m.ack(t)
		if m.subject != "s.a" || a.Stream != "S" || a.Consumer != "c" || a.Deliveries != 1 || a.StreamSequence != 1 ||
			a.ConsumerSequence != 1 || a.Pending != 0 || a.Time == 0 {
			t.Errorf("got %q with ack %+v", m.subject, a)
		}
		w.publish("s.b", "two", "three", "four")
		w.wait()
		w.got("inbox", "two", "three")
		w.numbers("c", "delivered 3/3 floor 0/0 pending 1 ack pending 3 redelivered 0")
	})
}
