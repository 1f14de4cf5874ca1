//go:build unix

package rigtest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/cluster/rigtest"
)

// unavailable is the code of an answer in the place of a leader that there is not.
const unavailable = 10008

// metaLeader is the server that leads the meta group, as another one sees it.
func metaLeader(t *testing.T, c *rigtest.Cluster) *rigtest.Node {
	t.Helper()
	var page struct {
		Meta struct {
			Leader string `json:"leader"`
		} `json:"meta_cluster"`
	}
	rigtest.Eventually(t, "a leader of the meta group", func() error {
		text, err := c.Nodes[0].Get("/jsz")
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, &page); err != nil {
			return err
		}
		if page.Meta.Leader == "" {
			return errors.New("it has none")
		}
		return nil
	})
	return c.Node(page.Meta.Leader)
}

// calls are requests of all kinds, those that change something with names that end in suffix.
func calls(suffix string) map[string]string {
	return map[string]string{
		"STREAM.INFO." + stream:                             "",
		"STREAM.MSG.GET." + stream:                          `{"seq":1}`,
		"STREAM.PURGE." + stream:                            `{"seq":1}`,
		"STREAM.MSG.DELETE." + stream:                       `{"seq":100000}`,
		"CONSUMER.NAMES." + stream:                          "",
		"CONSUMER.CREATE." + stream + ".C" + suffix:         fmt.Sprintf(`{"stream_name":%q,"config":{"name":"C%s"}}`, stream, suffix),
		"CONSUMER.DURABLE.CREATE." + stream + ".D" + suffix: fmt.Sprintf(`{"stream_name":%q,"config":{"durable_name":"D%s"}}`, stream, suffix),
		"STREAM.NAMES":                                      "",
		"STREAM.CREATE.T" + suffix:                          fmt.Sprintf(`{"name":"T%s","subjects":["t%s.>"],"num_replicas":3}`, suffix, suffix),
		"STREAM.INFO.NONE" + suffix:                         "",
		"STREAM.UPDATE." + stream:                           fmt.Sprintf(`{"name":%q,"subjects":["%s.>"],"num_replicas":3,"max_msgs":100000}`, stream, stream),
	}
}

// askAll sends requests at once, and fails the test for each that is not answered in time; if refused is set, with a refusal.
func askAll(t *testing.T, nc *nats.Conn, within time.Duration, list map[string]string, refused bool, running *sync.WaitGroup) {
	for subject, body := range list {
		running.Go(func() {
			asked := time.Now()
			m, err := nc.Request("$JS.API."+subject, []byte(body), within)
			if err != nil {
				t.Errorf("%s: %v after %v", subject, err, time.Since(asked))
				return
			}
			var answer struct {
				Error struct {
					Code int    `json:"err_code"`
					Text string `json:"description"`
				} `json:"error"`
			}
			if err := json.Unmarshal(m.Data, &answer); err != nil {
				t.Errorf("%s: %v", subject, err)
			}
			if refused && answer.Error.Code != unavailable {
				t.Errorf("%s of a server that is alone: got %d %s, want %d", subject, answer.Error.Code, answer.Error.Text, unavailable)
			}
			t.Logf("%s: %d %s after %v", subject, answer.Error.Code, answer.Error.Text, time.Since(asked))
		})
	}
}

// TestRequestsToDeadLeader: what is asked between the death of a leader, of the stream and of the meta group, and its discovery is
// answered: by the next leader, or with a refusal.
func TestRequestsToDeadLeader(t *testing.T) {
	t.Parallel()
	c := rigtest.Start(t, rigtest.Config{Servers: 3, JetStream: true, SyncAlways: true})
	nc := c.Connect()
	c.CreateStream(nc, stream, 3)
	c.WaitReplicas(nc, stream)
	dead := metaLeader(t, c)
	c.Lead(nc, stream, dead)
	var clients []*nats.Conn
	for _, n := range c.Others(dead) {
		clients = append(clients, n.Connect())
	}
	if _, err := clients[0].Request(stream+".x", nil, rigtest.Patience); err != nil {
		t.Fatal(err)
	}
	dead.Pause()
	var running sync.WaitGroup
	for i, client := range clients {
		askAll(t, client, rigtest.Patience, calls(fmt.Sprint(i)), false, &running)
	}
	running.Wait()
	dead.Resume()
	c.WaitReady()
}

// aloneTime is how long a server without others may take to refuse: 5 s, and more for a machine that is busy with other tests. A
// request that waited anew each time it is looked at would take 8.
const aloneTime = 7 * time.Second

// TestRequestsToLeaderAlone: a server that leads and is left alone refuses what it cannot decide, also what came before it has found
// out, and what came before it has ceased to lead.
func TestRequestsToLeaderAlone(t *testing.T) {
	t.Parallel()
	c := rigtest.Start(t, rigtest.Config{Servers: 3, JetStream: true, SyncAlways: true})
	nc := c.Connect()
	c.CreateStream(nc, stream, 3)
	c.WaitReplicas(nc, stream)
	alone := c.Leader(nc, stream)
	client := alone.Connect()
	for _, n := range c.Others(alone) {
		n.Pause()
	}
	if err := client.Publish(stream+".x", nil); err != nil { // what follows has to wait for it
		t.Fatal(err)
	}
	var running sync.WaitGroup
	for i := range 3 {
		askAll(t, client, aloneTime, calls(fmt.Sprint(i)), false, &running)
		c.Pass(time.Second)
	}
	running.Wait()
	askAll(t, client, aloneTime, calls("late"), true, &running) // it leads nothing any more
	running.Wait()
	for _, n := range c.Others(alone) {
		n.Resume()
	}
	c.WaitReady()
}
