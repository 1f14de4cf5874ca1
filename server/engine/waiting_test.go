package engine

import (
	"sync/atomic"
	"testing"
	"testing/synctest"

	"runnel/server/accounts"
	"runnel/server/wire"
)

// askingDoor asks somebody who does not answer before it lets anybody in.
type askingDoor struct {
	*openDoor
	engine   *Engine
	waiting  atomic.Int32
	answered chan struct{}
	grant    *accounts.Grant
}

func (d *askingDoor) MayBlock(_ *Conn, o *wire.Connect) bool { return o.User == "asked" }

func (d *askingDoor) Authenticate(c *Conn, o *wire.Connect) (*accounts.Identity, error) {
	if !c.MayWait() {
		return d.openDoor.Authenticate(c, o)
	}
	d.engine.Aside(func() {
		d.waiting.Add(1)
		<-d.answered
	})
	if d.grant != nil {
		return d.policy.Vouch(d.grant, accounts.Standard)
	}
	return d.openDoor.Authenticate(c, o)
}

// TestAside: those who wait for somebody else do not keep others from being checked, and there may be any number.
func TestAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newFixture(t, openConfig)
		door := &askingDoor{openDoor: x.door, engine: x.Engine, answered: make(chan struct{})}
		x.handler = door
		var asked []*Conn
		for range 10 * cap(x.checks) {
			c, _ := x.pipe("CONNECT {\"user\":\"asked\",\"verbose\":false}\r\n")
			asked = append(asked, c)
		}
		synctest.Wait()
		if got := int(door.waiting.Load()); got != len(asked) {
			t.Errorf("%d wait, want all %d", got, len(asked))
		}
		other, _ := x.pipe("CONNECT {\"verbose\":false}\r\n")
		synctest.Wait()
		if !other.Connected() {
			t.Error("who need not wait is not connected")
		}
		close(door.answered)
		synctest.Wait()
		for i, c := range asked {
			if !c.Connected() {
				t.Errorf("client %d is not connected after the answer", i)
			}
		}
	})
}

// TestGrantLimits: the limits of one user hold for its connection, besides all others.
func TestGrantLimits(t *testing.T) {
	x := newFixture(t, openConfig)
	limits := func(subscriptions int64) *Conn {
		id, err := x.door.policy.Vouch(&accounts.Grant{
			Account: x.door.policy.Global(), Limits: accounts.Limits{MaxSubscriptions: subscriptions},
		}, accounts.Standard)
		if err != nil {
			t.Fatal(err)
		}
		c := x.NewConn(&Meta{})
		c.bind(id)
		return c
	}
	tests := []struct {
		own   int64
		every int
		want  int
	}{{0, 0, 0}, {0, 5, 5}, {3, 5, 3}, {5, 3, 3}, {3, 0, 3}, {-1, 0, 0}, {1 << 40, 7, 7}, {accounts.Nothing, 5, -1}}
	for _, tt := range tests {
		if got := limits(tt.own).maxSubscriptions(&Settings{MaxSubscriptions: tt.every}); got != tt.want {
			t.Errorf("own limit %d, limit of all %d: got %d, want %d", tt.own, tt.every, got, tt.want)
		}
	}
}
