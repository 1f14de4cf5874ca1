package process

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	// again is the pause between two looks at whether a server is there.
	again = 20 * time.Millisecond
	// readyAgain is the pause between two looks at what it says of itself, which servers may log.
	readyAgain = 100 * time.Millisecond
	// answerTime is how long one answer of a server may take.
	answerTime = 5 * time.Second
)

// WaitListening waits until the server takes clients. When it ends instead the error is an [*End], or says that it is down.
func (s *Server) WaitListening(ctx context.Context) error {
	return s.until(ctx, "to listen", again, s.greets)
}

// Ready waits until the server is healthy, as it says itself, and has exactly the named servers as others of its cluster. One with
// streams in a cluster must know a leader of the cluster.
func (s *Server) Ready(ctx context.Context, others ...string) error {
	return s.until(ctx, "to be ready", readyAgain, func(ctx context.Context) error { return s.unready(ctx, others) })
}

// until waits until a condition holds, and says what it complains about when ctx ends before. A server that has ended meets none.
func (s *Server) until(ctx context.Context, what string, pause time.Duration, condition func(ctx context.Context) error) error {
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	var last error // what was missing when there was time to look
	for {
		l := s.current()
		if l == nil {
			return fmt.Errorf("wait for server %s %s: it is down", s.Name(), what)
		}
		if l.ended() {
			return s.gone(l)
		}
		err := condition(ctx)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-ticker.C:
		case <-l.done:
		case <-ctx.Done():
			return fmt.Errorf("wait for server %s %s: %w: %w", s.Name(), what, ctx.Err(), last)
		}
	}
}

// gone says how a life has ended.
func (s *Server) gone(l *life) error {
	if l.end != nil {
		return l.end
	}
	return fmt.Errorf("server %s has ended, as was expected: %v", s.Name(), l.cmd.ProcessState)
}

// greets connects as a client, and wants the server to say who it is: somebody else may have its port.
func (s *Server) greets(ctx context.Context) error {
	cfg := s.Config()
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", cfg.Client)
	if err != nil {
		return err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetReadDeadline(deadline); err != nil {
			return err
		}
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return fmt.Errorf("read what %s says: %w", cfg.Client, err)
	}
	var info struct {
		ServerName string `json:"server_name"`
	}
	text, ok := strings.CutPrefix(line, "INFO ")
	if !ok || json.Unmarshal([]byte(text), &info) != nil || info.ServerName != cfg.Name {
		return fmt.Errorf("%s says %q, which is not from server %s", cfg.Client, strings.TrimSpace(line), cfg.Name)
	}
	return nil
}

// unready is what the server still lacks.
func (s *Server) unready(ctx context.Context, others []string) error {
	if _, err := s.Get(ctx, "/healthz"); err != nil {
		return err
	}
	cfg := s.Config()
	if cfg.Cluster == "" {
		return nil
	}
	linked, err := s.Linked(ctx)
	if err != nil {
		return err
	}
	want := slices.Sorted(slices.Values(others))
	if !slices.Equal(linked, want) {
		return fmt.Errorf("%s is linked with %q, want %q", cfg.Name, linked, want)
	}
	if cfg.StoreDir == "" {
		return nil
	}
	leader, err := s.MetaLeader(ctx)
	if err == nil && leader == "" {
		err = fmt.Errorf("%s knows no leader of the cluster", cfg.Name)
	}
	return err
}

// Linked are the names of the servers that this one has connections with, in order.
func (s *Server) Linked(ctx context.Context) ([]string, error) {
	var page struct {
		Routes []struct {
			RemoteName string `json:"remote_name"`
		} `json:"routes"`
	}
	if err := s.read(ctx, "/routez", &page); err != nil {
		return nil, err
	}
	names := make(map[string]bool)
	for _, r := range page.Routes {
		names[r.RemoteName] = true
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// MetaLeader is the name of the server that leads the cluster, as this one knows; empty when it knows none.
func (s *Server) MetaLeader(ctx context.Context) (string, error) {
	var page struct {
		Meta struct {
			Leader string `json:"leader"`
		} `json:"meta_cluster"`
	}
	err := s.read(ctx, "/jsz", &page)
	return page.Meta.Leader, err
}

// read gets a page that is JSON.
func (s *Server) read(ctx context.Context, page string, into any) error {
	text, err := s.Get(ctx, page)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s%s: %w", s.Name(), page, err)
	}
	return nil
}

// Get returns a page of the monitoring, such as /healthz. The error says what is wrong with the server, too. It takes no longer
// than five seconds.
func (s *Server) Get(ctx context.Context, page string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.MonitorURL()+page, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = errors.New(answer.Status + ": " + string(bytes.TrimSpace(body)))
	}
	if err != nil {
		err = fmt.Errorf("%s%s: %w", s.Name(), page, err)
	}
	return body, err
}
