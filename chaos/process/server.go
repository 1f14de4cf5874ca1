package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"
)

// lastWords is how many lines of its log a server's end is told with.
const lastWords = 30

// A Server is a place for one server: a folder, ports, and a process while it runs. What starts, ends, pauses or changes it is
// for one goroutine at a time. All else may be called by any, at any time.
type Server struct {
	dir   string // of its own: configuration, log, streams
	ended func(*End)

	mu       sync.Mutex // guards what follows
	cfg      Config
	program  Program
	prefix   []string // of the command
	life     *life    // nil: down
	ends     []*End
	expected []*regexp.Regexp // errors in its log that are none
}

// New makes a server that is down, with a folder that is made if there is none. The folder stays, whatever happens.
//
// ended, if it is not nil, is called for each end that nobody has asked for, by a goroutine of its own; it must not wait for
// anything to happen to this server.
func New(dir string, cfg Config, p Program, ended func(*End)) (*Server, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of server %s: %w", cfg.Name, err)
	}
	return &Server{dir: dir, cfg: cfg, program: p, ended: ended}, nil
}

// Config is what the configuration of the server says, from its next start on.
func (s *Server) Config() Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	cfg := s.cfg
	cfg.Routes, cfg.Tags = slices.Clone(cfg.Routes), slices.Clone(cfg.Tags)
	return cfg
}

// Configure changes what the configuration says, from the next start on.
func (s *Server) Configure(change func(*Config)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.cfg)
}

// Name is what the server is called in its cluster.
func (s *Server) Name() string { return s.Config().Name }

// ClientURL is where clients connect: what the server tells them about itself.
func (s *Server) ClientURL() string {
	cfg := s.Config()
	if cfg.ClientAdvertise != "" {
		return "nats://" + cfg.ClientAdvertise
	}
	return "nats://" + cfg.Client
}

// MonitorURL is the root of the pages of the monitoring.
func (s *Server) MonitorURL() string { return "http://" + s.Config().Monitor }

// Dir is the server's own folder.
func (s *Server) Dir() string { return s.dir }

// StoreDir is the folder of the server's streams; there is none before the first start. Empty: it keeps no streams.
func (s *Server) StoreDir() string { return s.Config().StoreDir }

// logPath is the file with what all lives of the server have said.
func (s *Server) logPath() string { return filepath.Join(s.dir, "log") }

// Program is what the server runs, from its next start on.
func (s *Server) Program() Program {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.program
}

// Use has the server run another program from its next start on.
func (s *Server) Use(p Program) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.program = p
}

// Wrap puts words before the command of the server from its next start on; none ends that. The first of them is a program which
// must become the server in its own process, as env, nice and strace -D do: what is done to the server is done to that process.
func (s *Server) Wrap(prefix ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prefix = slices.Clone(prefix)
}

// command is how the server is started, and its config file.
func (s *Server) command() (words []string, text string, file string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	file = filepath.Join(s.dir, "server.conf")
	words = append(slices.Clone(s.prefix), s.program.Path, "-c", file)
	return words, s.cfg.Text(s.program.Dialect), file
}

// Start starts the server, which must not be running, and waits until it listens for clients. When it ends instead the error is
// an [*End]. When ctx ends before, the server goes on.
func (s *Server) Start(ctx context.Context) error {
	if err := s.Launch(); err != nil {
		return err
	}
	return s.WaitListening(ctx)
}

// Launch starts the server, which must not be running, and does not wait for it.
func (s *Server) Launch() error { return s.launch(false) }

// LaunchDoomed is [Server.Launch] of a server that may end by itself at any time, so that this is no fault: see [Server.WaitEnd].
func (s *Server) LaunchDoomed() error { return s.launch(true) }

func (s *Server) launch(doomed bool) error {
	if l := s.current(); l != nil && !l.ended() {
		return fmt.Errorf("start server %s: it runs already", s.Name())
	}
	words, text, file := s.command()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return fmt.Errorf("configure server %s: %w", s.Name(), err)
	}
	l, err := begin(exec.Command(words[0], words[1:]...), s.logPath(), doomed, s.told)
	if err != nil {
		return fmt.Errorf("start server %s: %w", s.Name(), err)
	}
	s.replace(l)
	return nil
}

// current is the life of the server; nil when it is down.
func (s *Server) current() *life {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.life
}

// replace gives the server another life, or none.
func (s *Server) replace(l *life) (before *life) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, s.life = s.life, l
	return before
}

// told notes that a life has ended which nobody has ended.
func (s *Server) told(l *life) {
	state := l.cmd.ProcessState
	e := &End{Server: s.Name(), PID: l.pid(), Time: time.Now(), Code: state.ExitCode(), How: state.String(), Log: s.LogEnd(lastWords)}
	l.end = e
	s.keep(e)
	if s.ended != nil {
		s.ended(e)
	}
}

func (s *Server) keep(e *End) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends = append(s.ends, e)
}

// Ends are those that nobody has asked for, of all lives.
func (s *Server) Ends() []*End {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ends)
}

// Err is nil as long as the server has ended only when that was asked for. Otherwise it holds an [*End] for each other time.
func (s *Server) Err() error {
	var all []error
	for _, e := range s.Ends() {
		all = append(all, e)
	}
	return errors.Join(all...)
}

// Running reports whether the server was started, and not ended by the methods of this type. One that has ended by itself counts
// as running: it should be.
func (s *Server) Running() bool { return s.current() != nil }

// Paused reports whether the server is stopped in its tracks.
func (s *Server) Paused() bool {
	l := s.current()
	return l != nil && l.isPaused()
}

// PID is the number of the server's process; false when it is down.
func (s *Server) PID() (pid int, ok bool) {
	l := s.current()
	if l == nil || l.ended() {
		return 0, false
	}
	return l.pid(), true
}

// Stop ends the server as an operating system does that shuts down, and waits until it has ended. When ctx ends before, the server
// is killed, which is an error. Nothing happens to a server that is down.
func (s *Server) Stop(ctx context.Context) error { return s.end(ctx, signalEnd) }

// LameDuck has the server send its clients away and end, and waits until it has ended, as [Server.Stop] does.
func (s *Server) LameDuck(ctx context.Context) error { return s.end(ctx, signalLameDuck) }

// Kill ends the server without a chance to do anything, and waits until it has ended. Nothing happens to a server that is down.
func (s *Server) Kill() error { return s.end(context.Background(), os.Kill) }

// end sends a signal that means the end.
func (s *Server) end(ctx context.Context, signal os.Signal) error {
	l := s.replace(nil)
	if l == nil {
		return nil
	}
	l.expect()
	err := l.signal(signal)
	if err == nil && signal != os.Kill && l.isPaused() {
		err = l.pause(false) // it sees no other signal until then
	}
	if err == nil {
		select {
		case <-l.done:
			return nil
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	_ = l.cmd.Process.Kill() // it fails when the process has just ended
	<-l.done
	return fmt.Errorf("server %s did not end after %v and was killed: %w", s.Name(), signal, err)
}

// Pause stops the process of the server in its tracks, in a moment; its connections stay.
func (s *Server) Pause() error { return s.pause(true) }

// Resume lets a paused server go on.
func (s *Server) Resume() error { return s.pause(false) }

func (s *Server) pause(stop bool) error {
	l := s.current()
	if l == nil || l.ended() {
		return fmt.Errorf("pause or resume server %s: it is down", s.Name())
	}
	return l.pause(stop)
}

// Wipe removes all that the server keeps, which must not be running: what then starts under its name is a new machine.
func (s *Server) Wipe() error {
	if s.Running() {
		return fmt.Errorf("wipe server %s: it runs", s.Name())
	}
	dir := s.StoreDir()
	if dir == "" {
		return nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("wipe server %s: %w", s.Name(), err)
	}
	return nil
}

// ExpectEnd notes that the server, which must be running, is about to end by itself, so that this is no fault: see
// [Server.WaitEnd].
func (s *Server) ExpectEnd() error {
	l := s.current()
	if l == nil || l.ended() {
		return fmt.Errorf("expect the end of server %s: it is down", s.Name())
	}
	l.expect()
	return nil
}

// WaitEnd waits until a server has ended by itself, and returns the exit code; it is down then.
func (s *Server) WaitEnd(ctx context.Context) (code int, err error) {
	l := s.current()
	if l == nil {
		return 0, fmt.Errorf("wait for the end of server %s: it is down", s.Name())
	}
	select {
	case <-l.done:
		s.replace(nil)
		return l.cmd.ProcessState.ExitCode(), nil
	case <-ctx.Done():
		return 0, fmt.Errorf("wait for the end of server %s: %w", s.Name(), ctx.Err())
	}
}
