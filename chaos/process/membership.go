package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
)

// removeSubject is where the leader of a cluster is told that a server will not come back.
const removeSubject = "$JS.API.SERVER.REMOVE"

// codeUnknownServer is the error of a cluster that does not have the server which is to be removed.
const codeUnknownServer = 10044

// Add starts one more server, under a new name, and waits until it listens for clients. The others learn of it from itself, and
// have it in their configuration from their next start on. Nothing between it and the others is cut, whatever else is.
func (c *Cluster) Add(ctx context.Context) (*Server, error) {
	cfg, err := c.place()
	if err != nil {
		return nil, err
	}
	number := len(c.list())
	if c.mesh != nil {
		if number, err = c.mesh.Add(target(cfg)); err != nil {
			return nil, err
		}
		for _, other := range c.list() {
			cfg.Routes = append(cfg.Routes, c.mesh.Addr(number, other.number))
			other.Configure(func(cfg *Config) { cfg.Routes = append(cfg.Routes, c.mesh.Addr(other.number, number)) })
		}
	} else {
		cfg.Routes = c.peers()
	}
	s, err := c.join(cfg, number)
	if err != nil {
		return nil, err
	}
	return s, s.Start(ctx)
}

// peers are where all servers really listen for one another.
func (c *Cluster) peers() []string {
	var all []string
	for _, s := range c.Servers() {
		all = append(all, s.Config().Peer)
	}
	return all
}

// Remove kills a server and tells the others that it will not come back. It is not of this cluster then; its folder stays.
func (c *Cluster) Remove(ctx context.Context, s *Server) error {
	if err := s.Kill(); err != nil {
		return err
	}
	if err := c.RemovePeer(ctx, s.Name()); err != nil {
		return err
	}
	c.drop(s)
	return nil
}

// drop forgets a server.
func (c *Cluster) drop(s *Server) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members = slices.DeleteFunc(c.members, func(m member) bool { return m.Server == s })
	c.former = append(c.former, s)
}

// Replace removes a server as [Cluster.Remove] does, and starts another one in its place: a new machine, with a new name, an empty
// folder and other ports, whom the others reach where they reached the old one. It waits until it listens for clients. What is
// done to the network at that place goes on. (A new machine under the old name: Kill, Wipe, Start.)
func (c *Cluster) Replace(ctx context.Context, s *Server) (*Server, error) {
	number := c.Number(s)
	if err := c.Remove(ctx, s); err != nil {
		return nil, err
	}
	cfg, err := c.place()
	if err != nil {
		return nil, err
	}
	if c.mesh != nil {
		cfg.Routes = s.Config().Routes
		c.mesh.Retarget(number, target(cfg))
	} else {
		cfg.Routes = c.peers()
	}
	next, err := c.join(cfg, number)
	if err != nil {
		return nil, err
	}
	return next, next.Start(ctx)
}

// RemovePeer tells the cluster, by any server that answers, that one of its servers will not come back. It asks again until ctx
// ends.
func (c *Cluster) RemovePeer(ctx context.Context, name string) error {
	last := errors.New("no other server runs") // what went wrong when there was time
	unsure := false                            // an answer got lost, so it may be removed
	for {
		for _, via := range c.Servers() {
			if _, up := via.PID(); !up || via.Paused() || via.Name() == name {
				continue
			}
			err := removePeer(ctx, via, name)
			var refused *refusal
			refusal := errors.As(err, &refused)
			if err == nil || refusal && refused.Code == codeUnknownServer && unsure {
				return nil
			}
			unsure = unsure || !refusal
			if ctx.Err() == nil {
				last = err
			}
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return fmt.Errorf("remove server %s from its cluster: %w: %w", name, ctx.Err(), last)
		}
	}
}

// refusal is an error that the API answers with.
type refusal struct {
	Code        int    `json:"err_code"`
	Description string `json:"description"`
}

// Error is what the server says.
func (r *refusal) Error() string { return fmt.Sprintf("%s (%d)", r.Description, r.Code) }

// removePeer asks once, as a user of the system account.
func removePeer(ctx context.Context, via *Server, name string) error {
	nc, err := nats.Connect("nats://"+via.Config().Client, nats.UserInfo(SystemUser, SystemPassword), nats.NoReconnect(), nats.Timeout(answerTime))
	if err != nil {
		return fmt.Errorf("connect with %s: %w", via.Name(), err)
	}
	defer nc.Close()
	request, err := json.Marshal(map[string]string{"peer": name})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	m, err := nc.RequestWithContext(ctx, removeSubject, request)
	if err != nil {
		return fmt.Errorf("%s by way of %s: %w", removeSubject, via.Name(), err)
	}
	var answer struct {
		Error   *refusal `json:"error"`
		Success bool     `json:"success"`
	}
	switch err := json.Unmarshal(m.Data, &answer); {
	case err != nil:
		return fmt.Errorf("answer to %s: %w", removeSubject, err)
	case answer.Error != nil:
		return answer.Error
	case !answer.Success:
		return fmt.Errorf("answer to %s: %q", removeSubject, m.Data)
	}
	return nil
}
