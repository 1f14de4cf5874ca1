package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// readyWait is how long a server may take to accept its first client.
	readyWait = 15 * time.Second
	// readyPoll is the time between two attempts.
	readyPoll = 20 * time.Millisecond
	// stopWait is how long a server may take to end before it is killed.
	stopWait = 5 * time.Second
	// outputBytes is how much of a server's output is kept to explain a failure.
	outputBytes = 4 << 10
)

// Server is a server process that was started to be measured.
type Server struct {
	url     string
	command *exec.Cmd
	output  *tail
	ended   chan struct{} // closed when the process is gone
}

// StartServer runs a command line in which {port} stands for the port to listen
// on, and returns when the server there answers as NATS does, be it that it wants
// to know who asks. Port 0 picks a free one. The options are those of its clients. The process that is started must be
// the server itself: a script has to exec it.
func StartServer(ctx context.Context, commandLine string, port int, options ...nats.Option) (*Server, error) {
	return startServer(ctx, commandLine, port, "", options)
}

// startServer is StartServer with a folder for which {dir} stands.
func startServer(ctx context.Context, commandLine string, port int, dir string, options []nats.Option) (*Server, error) {
	port, err := freePort(port)
	if err != nil {
		return nil, err
	}
	args, err := splitCommand(commandLine)
	if err != nil {
		return nil, err
	}
	if len(args) == 0 {
		return nil, errors.New("the server command is empty")
	}
	fill := strings.NewReplacer("{port}", strconv.Itoa(port), "{dir}", dir)
	for i := range args {
		args[i] = fill.Replace(args[i])
	}
	s := &Server{
		url:     "nats://127.0.0.1:" + strconv.Itoa(port),
		command: exec.Command(args[0], args[1:]...),
		output:  &tail{},
		ended:   make(chan struct{}),
	}
	s.command.Stdout, s.command.Stderr = s.output, s.output
	s.command.WaitDelay = time.Second // a child that it left behind may keep the output open
	if err := s.command.Start(); err != nil {
		return nil, fmt.Errorf("start server: %w", err)
	}
	go func() {
		// How it ended shows in ProcessState.
		_ = s.command.Wait()
		close(s.ended)
	}()
	if err := s.awaitReady(ctx, options); err != nil {
		s.Stop()
		return nil, fmt.Errorf("server %s: %w%s", args[0], err, s.output.quoted())
	}
	return s, nil
}

// freePort makes sure that nobody listens on the port, or another server would
// be measured. For 0 it finds a port.
func freePort(port int) (int, error) {
	probe, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return 0, fmt.Errorf("no free port for the server: %w", err)
	}
	port = probe.Addr().(*net.TCPAddr).Port
	return port, probe.Close()
}

// awaitReady returns when a client can connect, or is refused: a load may have users of its own, and if not,
// it says so itself.
func (s *Server) awaitReady(ctx context.Context, options []nats.Option) error {
	deadline := time.Now().Add(readyWait)
	for {
		nc, err := nats.Connect(s.url, append([]nats.Option{nats.NoReconnect()}, options...)...)
		if err == nil {
			nc.Close()
			return nil
		}
		if errors.Is(err, nats.ErrAuthorization) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("no client can connect after %v: %w", readyWait, err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.ended:
			return fmt.Errorf("it ended at once: %v", s.command.ProcessState)
		case <-time.After(readyPoll):
		}
	}
}

// URL is where the server listens.
func (s *Server) URL() string { return s.url }

// PID is the server's process.
func (s *Server) PID() int { return s.command.Process.Pid }

// Stop ends the server, with force if it does not end when asked, and returns
// when it is gone. It may be called again.
func (s *Server) Stop() {
	// Windows knows no interrupt; the error leads to the kill.
	if err := s.command.Process.Signal(os.Interrupt); err == nil {
		select {
		case <-s.ended:
			return
		case <-time.After(stopWait):
		}
	}
	// The only error is that it has ended already.
	_ = s.command.Process.Kill()
	<-s.ended
}

// splitCommand splits a command line at blanks; single or double quotes keep
// them.
func splitCommand(line string) ([]string, error) {
	var args []string
	var word strings.Builder
	var quote rune
	inWord := false
	for _, c := range line {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote, inWord = c, true
		case c == ' ' || c == '\t':
			if inWord {
				args = append(args, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteRune(c)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("command %q has a quote %c that is not closed", line, quote)
	}
	if inWord {
		args = append(args, word.String())
	}
	return args, nil
}

// tail keeps the last part of what is written to it.
type tail struct {
	mu   sync.Mutex // guards data
	data []byte
}

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	if excess := len(t.data) - outputBytes; excess > 0 {
		t.data = append(t.data[:0], t.data[excess:]...)
	}
	return len(p), nil
}

// quoted returns what is kept, as an addition to an error.
func (t *tail) quoted() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.data) == 0 {
		return ""
	}
	return "; its last output:\n" + strings.TrimSpace(string(t.data))
}
