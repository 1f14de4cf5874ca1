package delivery_test

import (
	"strings"
	"testing"
	"time"

	"runnel/jetlog/command"
	"runnel/jetlog/config"
)

// breaking is a consumer that is to be paused after four attempts of which half have failed.
func breaking() config.Consumer {
	c := explicit()
	c.AckWait = 10 * time.Second
	c.Metadata = map[string]string{config.MetadataBreaker: "failures=50%,min=4,window=1m,pause=30s"}
	return c
}

// trips returns what was told of consumers that are to be paused.
func (w *world) trips() (list []string) {
	for _, line := range w.events.take() {
		if strings.HasPrefix(line, "tripped") {
			list = append(list, line)
		}
	}
	return list
}

func (w *world) tripped(want ...string) {
	w.t.Helper()
	if got := w.trips(); strings.Join(got, ";") != strings.Join(want, ";") {
		w.t.Errorf("told %q, want %q", got, want)
	}
}

func TestBreaker(t *testing.T) {
	const once, told = "+ACK", "tripped c 2 of 4, pause 30s"
	fetch := func(w *world, n string, want int) []message {
		w.t.Helper()
		w.net.subscribe("inbox")
		w.pull("inbox", `{"batch":`+n+`,"expires":1000000000}`)
		w.wait()
		got := w.net.take("inbox")
		if len(got) < want {
			w.t.Fatalf("got %d messages, want %d", len(got), want)
		}
		return got[:want]
	}
	for name, test := range map[string]struct {
		answers []string // to four messages; empty for none
		pass    time.Duration
		want    []string
	}{
		"all processed":         {[]string{once, once, once, once}, 0, nil},
		"one fails":             {[]string{once, once, once, "-NAK"}, 0, nil},
		"half of them fail":     {[]string{once, "-NAK", once, "+TERM no"}, 0, []string{told}},
		"half are not answered": {[]string{once, "", once, ""}, 11 * time.Second, []string{told}},
		"at work":               {[]string{once, "+WPI", once, "+WPI"}, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, streamConfig(), func(t *testing.T, w *world) {
				w.consumer(breaking())
				w.publish("s.a", "1", "2", "3", "4")
				for i, m := range fetch(w, "4", 4) {
					if test.answers[i] != "" {
						w.ack(m, test.answers[i], "")
					}
				}
				w.wait()
				if w.pass(test.pass); test.pass > 0 {
					fetch(w, "2", 2) // they come again
				}
				w.tripped(test.want...)
			})
		})
	}
}

// TestBreakerGivesUp has messages fail for the last time, whose failures nobody sees but the deadlines.
func TestBreakerGivesUp(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		c := breaking()
		c.MaxDeliver = 1
		w.consumer(c)
		w.publish("s.a", "1", "2", "3", "4")
		w.net.subscribe("inbox")
		w.pull("inbox", `{"batch":4,"expires":1000000000}`)
		w.pass(11 * time.Second)
		w.tripped("tripped c 4 of 4, pause 30s")
	})
}

// TestBreakerWhilePaused does not tell again while the consumer is paused, and counts anew afterwards.
func TestBreakerWhilePaused(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(breaking())
		w.publish("s.a", "1", "2", "3", "4")
		w.net.subscribe("inbox")
		w.pull("inbox", `{"batch":4,"expires":1000000000}`)
		w.wait()
		got := w.net.take("inbox")
		until := time.Now().Add(30 * time.Second).UnixNano()
		w.propose(&command.Pause{Time: time.Now().UnixNano(), Consumer: "c", Until: until})
		w.stream.Update("c")
		w.pull("inbox", `{"batch":4,"expires":1000000000}`)
		for _, m := range got[:4] {
			w.ack(m, "-NAK", "")
		}
		w.wait()
		w.tripped()
		w.pass(31 * time.Second)
		w.pull("inbox", `{"batch":4,"expires":1000000000}`)
		w.wait()
		w.tripped("tripped c 4 of 4, pause 30s")
	})
}
