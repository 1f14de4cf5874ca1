package transport_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"runnel/cluster/transport"
	"runnel/cluster/transport/transporttest"
)

// mesh of transports without groups.
type trio struct {
	net   *transporttest.Network
	names []string
	all   map[string]*transport.Transport
}

func inTrio(t *testing.T, test func(t *testing.T, c *trio)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &trio{net: transporttest.New(), names: []string{"aaa", "bbb", "ccc"}, all: map[string]*transport.Transport{}}
		defer func() {
			c.net.Close()
			for _, tr := range c.all {
				tr.Close()
			}
		}()
		for _, name := range c.names {
			c.all[name] = transport.New(transport.Config{Node: name})
			c.net.Join(name, c.all[name])
		}
		test(t, c)
	})
}

// matrix is who reaches whom in the eyes of one of them.
func (c *trio) matrix(by string) string {
	var list []string
	r := c.all[by].Reach()
	for i, a := range c.names {
		for _, b := range c.names[i+1:] {
			if r.Reaches(a, b) {
				list = append(list, a[:1]+b[:1])
			}
		}
	}
	return strings.Join(list, " ")
}

// majority is whom a majority reaches in the eyes of one of them.
func (c *trio) majority(by string) string {
	var list []string
	for _, name := range c.names {
		if c.all[by].Reach().Majority(c.names, name) {
			list = append(list, name)
		}
	}
	return strings.Join(list, " ")
}

// TestWhoReachesWhom harms the network in many ways, and looks a second and a half later what each server makes of it.
func TestWhoReachesWhom(t *testing.T) {
	tests := []struct {
		name string
		harm func(n *transporttest.Network)
		seen [3]string // by a, b and c
		most [3]string // whom a majority reaches, as a, b and c see it
	}{
		{
			"all is well", func(*transporttest.Network) {},
			[3]string{"ab ac bc", "ab ac bc", "ab ac bc"},
			[3]string{"aaa bbb ccc", "aaa bbb ccc", "aaa bbb ccc"},
		},
		{
			"one link is cut", func(n *transporttest.Network) { n.Cut("aaa", "bbb") },
			[3]string{"ac bc", "ac bc", "ac bc"},
			[3]string{"aaa bbb ccc", "aaa bbb ccc", "aaa bbb ccc"},
		},
		{
			"one is cut off", func(n *transporttest.Network) { n.Isolate("aaa") },
			[3]string{"", "bc", "bc"},
			[3]string{"", "bbb ccc", "bbb ccc"},
		},
		{
			"one has gone", func(n *transporttest.Network) { n.Leave("aaa") },
			[3]string{"", "bc", "bc"},
			[3]string{"", "bbb ccc", "bbb ccc"},
		},
		{
			"one direction is silent", func(n *transporttest.Network) { n.Freeze("aaa", "bbb") },
			[3]string{"ac bc", "ac bc", "ac bc"},
			[3]string{"aaa bbb ccc", "aaa bbb ccc", "aaa bbb ccc"},
		},
		{
			"nobody hears one", func(n *transporttest.Network) { n.Freeze("aaa", "bbb"); n.Freeze("aaa", "ccc") },
			[3]string{"bc", "bc", "bc"},
			[3]string{"bbb ccc", "bbb ccc", "bbb ccc"},
		},
		{
			"one hears nobody", func(n *transporttest.Network) { n.Freeze("bbb", "aaa"); n.Freeze("ccc", "aaa") },
			[3]string{"", "bc", "bc"},
			[3]string{"", "bbb ccc", "bbb ccc"},
		},
		{
			"links break and come again", func(n *transporttest.Network) { n.Break("aaa", "bbb"); n.Break("aaa", "ccc") },
			[3]string{"ab ac bc", "ab ac bc", "ab ac bc"},
			[3]string{"aaa bbb ccc", "aaa bbb ccc", "aaa bbb ccc"},
		},
		{
			"it is far", func(n *transporttest.Network) { n.Delay("aaa", "bbb", 300*time.Millisecond) },
			[3]string{"ab ac bc", "ab ac bc", "ab ac bc"},
			[3]string{"aaa bbb ccc", "aaa bbb ccc", "aaa bbb ccc"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inTrio(t, func(t *testing.T, c *trio) {
				after(time.Second)
				events := map[string][]transport.PeerEvent{}
				var mu sync.Mutex
				for _, name := range c.names {
					c.all[name].Watch(func(e transport.PeerEvent) {
						mu.Lock()
						defer mu.Unlock()
						events[name] = append(events[name], e)
					})
				}
				tt.harm(c.net)
				after(1500 * time.Millisecond)
				for i, name := range c.names {
					if got := c.matrix(name); got != tt.seen[i] {
						t.Errorf("%s sees %q, want %q", name, got, tt.seen[i])
					}
					if got := c.majority(name); got != tt.most[i] {
						t.Errorf("in the eyes of %s a majority reaches %q, want %q", name, got, tt.most[i])
					}
				}
				if tt.seen[1] == "ab ac bc" {
					mu.Lock()
					for name, list := range events {
						if len(list) != 2 {
							t.Errorf("%s was told %v, though nothing has happened", name, list)
						}
					}
					mu.Unlock()
				}
				c.net.HealAll()
				if tt.name == "one has gone" {
					return
				}
				after(1500 * time.Millisecond)
				for _, name := range c.names {
					if got := c.matrix(name); got != "ab ac bc" {
						t.Errorf("%s sees %q after all was healed", name, got)
					}
				}
			})
		})
	}
}

// TestHowFastPeersGoAndCome measures in virtual time.
func TestHowFastPeersGoAndCome(t *testing.T) {
	inPair(t, transport.Config{}, transport.Config{}, func(t *testing.T, p *pair) {
		news := make(chan transport.PeerEvent, 10)
		stop := p.a.Watch(func(e transport.PeerEvent) { news <- e })
		want := func(up bool, atLeast, atMost time.Duration) {
			t.Helper()
			took := within(func() {
				if e := <-news; e != (transport.PeerEvent{Node: "bbb", Up: up}) {
					t.Errorf("event %+v, want up %v", e, up)
				}
			})
			if took < atLeast || took > atMost {
				t.Errorf("it took %v until up was %v, want %v to %v", took, up, atLeast, atMost)
			}
		}
		want(true, 0, 0)
		p.net.Freeze("bbb", "aaa")
		want(false, 750*time.Millisecond, 1250*time.Millisecond)
		p.net.Heal("aaa", "bbb")
		want(true, 0, 500*time.Millisecond)
		p.net.Cut("aaa", "bbb")
		want(false, 750*time.Millisecond, 1250*time.Millisecond)
		after(time.Hour)
		p.net.Heal("aaa", "bbb")
		want(true, 0, 250*time.Millisecond)
		v := view(t, p.a)
		if !v.Up || !v.Data || !v.Heartbeat || !slices.Equal(v.Reaches, nil) || time.Since(v.Since) > time.Second {
			t.Errorf("view %+v", v)
		}
		after(time.Second)
		v = view(t, p.a)
		if !slices.Equal(v.Reaches, []string{"aaa"}) || time.Since(v.Heard) > 300*time.Millisecond {
			t.Errorf("view %+v", v)
		}
		stop()
		p.net.Leave("bbb")
		after(5 * time.Second)
		if len(news) > 0 {
			t.Errorf("told %+v after the watch was stopped", <-news)
		}
		if v := view(t, p.a); v.Up || v.Data || v.Heartbeat || v.Reaches != nil {
			t.Errorf("view of who has gone %+v", v)
		}
	})
}

// TestRoundTripTime is measured by pings.
func TestRoundTripTime(t *testing.T) {
	inPair(t, transport.Config{}, transport.Config{}, func(t *testing.T, p *pair) {
		p.net.Delay("aaa", "bbb", 40*time.Millisecond)
		after(time.Second)
		if got := view(t, p.a).RTT; got != 80*time.Millisecond {
			t.Errorf("round trip time %v, want 80ms", got)
		}
		c := view(t, p.a).Counters
		if c.FramesIn < 6 || c.FramesOut < 6 || c.BytesIn == 0 || c.BytesOut == 0 || c.Writes == 0 {
			t.Errorf("counters %+v", c)
		}
	})
}

// TestWatchersAreToldInOrder has peers come and go while some watch.
func TestWatchersAreToldInOrder(t *testing.T) {
	inTrio(t, func(t *testing.T, c *trio) {
		after(time.Second)
		var mu sync.Mutex
		var got []string
		c.all["aaa"].Watch(func(e transport.PeerEvent) {
			after(50 * time.Millisecond) // a slow one
			mu.Lock()
			defer mu.Unlock()
			got = append(got, fmt.Sprintf("%s %v", e.Node, e.Up))
		})
		for range 3 {
			c.net.Cut("aaa", "bbb")
			after(2 * time.Second)
			c.net.Heal("aaa", "bbb")
			after(2 * time.Second)
		}
		mu.Lock()
		defer mu.Unlock()
		slices.Sort(got[:2])
		want := "[bbb true ccc true bbb false bbb true bbb false bbb true bbb false bbb true]"
		if fmt.Sprint(got) != want {
			t.Errorf("told %v, want %v", got, want)
		}
	})
}
