package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"time"

	"runnel/conf"
	"runnel/server"
	"runnel/server/logs"
	"runnel/server/memory"
)

// shutdownTimeout is how long clients may take to receive what is queued for
// them when the server ends.
const shutdownTimeout = 10 * time.Second

// serverCommand runs "runnel" without a subcommand: the server, or one of the
// flags that only print or check something.
func serverCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c, err := parseCommandLine(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 1
	case c.help:
		fmt.Fprint(stdout, helpText)
		return 0
	case c.helpTLS:
		fmt.Fprint(stdout, helpTLSText)
		return 0
	case c.version:
		printVersion(stdout)
		return 0
	case c.signal != "":
		return signalCommand(c.signal, stderr)
	case c.check:
		return checkConfig(c, stdout, stderr)
	}
	o, err := c.options()
	if err != nil {
		return reportConfig(stderr, err)
	}
	log, err := logs.Open(logConfig(o, stderr))
	if err != nil {
		return fail(stderr, err)
	}
	code := serve(ctx, c, o, log, stdout, stderr)
	if err := log.Close(); err != nil {
		return fail(stderr, fmt.Errorf("close log: %w", err))
	}
	return code
}

// process is the running server with all that belongs to the process and not
// to the server: signals, files, the log, the service manager.
//
// One goroutine, in run, acts on signals one after the other. A lame duck
// phase has a goroutine of its own, since it takes minutes and signals must
// work meanwhile. A reload may also be asked for over the system account, on
// a goroutine of the server; mu puts them in a row.
type process struct {
	command *commandLine
	server  *server.Server
	log     *logs.Log
	logger  *slog.Logger
	stderr  io.Writer // where the log goes without another place
	manager *serviceManager

	mu    sync.Mutex // one reload at a time; guards files
	files files
}

// serve runs a server until it is told to end, and returns the exit code. The
// log is on stderr unless the options want it elsewhere.
func serve(ctx context.Context, c *commandLine, o *conf.Options, log *logs.Log, stdout, stderr io.Writer) int {
	p := &process{command: c, log: log, logger: log.Logger(), stderr: stderr, manager: newServiceManager(os.Getenv)}
	// Signals that come while the server starts must not be lost.
	received := make(chan os.Signal, 8)
	signal.Notify(received, handledSignals()...)
	defer signal.Stop(received)
	if err := p.start(o); err != nil {
		p.logger.Log(ctx, logs.LevelFatal, err.Error())
		return 1
	}
	p.logger.Info("Server is ready")
	p.tell(p.manager.ready())
	if c.newcomer {
		p.tell(welcome(stdout, p.server.Ports(), o.JetStream.StoreDir))
	}
	return p.run(ctx, received)
}

// start opens the server and writes the files. The server accepts clients
// before the files are there, so that whoever waits for a file can connect as
// soon as he sees it. On an error nothing is left running.
func (p *process) start(o *conf.Options) error {
	raiseThreads(server.Pollers())
	p.logger.Info("Starting runnel")
	p.logger.Info(fmt.Sprintf("  Version:  %s (NATS %s compatible)", server.Version, server.NATSVersion))
	if o.File != "" {
		p.logger.Info(fmt.Sprintf("Using configuration file: %s (%s)", o.File, o.Digest))
	}
	for _, w := range o.Warnings {
		p.logger.Warn(w.Error())
	}
	var err error
	if p.server, err = server.OpenOn(server.Host{Memory: memory.Given(os.ReadFile)}, o, p.logger); err != nil {
		return fmt.Errorf("cannot start: %w", err)
	}
	p.logger.Info("  Name:     " + p.server.Name())
	p.logger.Info("  ID:       " + p.server.ID())
	p.server.OnReloadRequest(p.reload)
	if err := p.files.write(o, p.server.Ports()); err != nil {
		return errors.Join(err, p.server.Close())
	}
	return nil
}

// run acts on signals until the server has ended: by a signal, by ctx, or by
// itself at the end of a lame duck phase.
func (p *process) run(ctx context.Context, received <-chan os.Signal) int {
	var background sync.WaitGroup
	defer background.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // before the wait
	background.Go(func() { steerGarbage(ctx) })
	leaving := false
	for {
		select {
		case <-ctx.Done():
			return p.end()
		case <-p.server.Done():
			return p.end()
		case <-p.server.Hung():
			p.logger.Log(ctx, logs.LevelFatal, "the process ends without waiting for the disk: "+p.server.Err().Error())
			return 1
		case s := <-received:
			p.logger.Info(fmt.Sprintf("Trapped %q signal", s))
			switch actionOf(s) {
			case actionReload:
				if _, err := p.reload(); err != nil {
					p.logger.Error("reload: " + err.Error())
				}
			case actionReopen:
				if err := p.log.Reopen(); err != nil {
					p.logger.Error("reopen log: " + err.Error())
				}
			case actionLameDuck:
				leaving = true
				background.Go(func() { p.server.LameDuck(ctx) })
			case actionTerminate:
				// Clients are being sent away already; let that finish.
				if !leaving {
					return p.end()
				}
			case actionInterrupt:
				return p.end()
			}
		}
	}
}

// end shuts the server down, if it has not ended already, and cleans up. The
// exit code is 0 even if connections had to be cut, since what was asked for is
// done; it is 1 if the server ended by itself because its disk failed.
func (p *process) end() int {
	p.tell(p.manager.stopping())
	p.logger.Info("Initiating Shutdown...")
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	// Who presses Ctrl-C again does not want to wait.
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	if err := p.server.Shutdown(ctx); err != nil {
		p.logger.Warn("shutdown cut connections: " + err.Error())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.files.remove(); err != nil {
		p.logger.Warn(err.Error())
	}
	if err := p.server.Err(); err != nil {
		p.logger.Log(ctx, logs.LevelFatal, "the server ended by itself: "+err.Error())
		return 1
	}
	p.logger.Info("Server Exiting..")
	return 0
}

// reload reads the configuration file again, under the same flags. The server
// takes all of it or nothing; only then follow the log and the files. The
// service manager is told in any case that the reload is over, since it would
// otherwise take the server for stuck.
func (p *process) reload() ([]conf.Change, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.command.configFile == "" {
		return nil, errors.New("the server was started without a config file")
	}
	p.tell(p.manager.reloading())
	defer func() { p.tell(p.manager.ready()) }()
	o, err := p.command.options()
	if err != nil {
		return nil, err
	}
	changes, err := p.server.Reload(o)
	if err != nil {
		return nil, err
	}
	for _, w := range o.Warnings {
		p.logger.Warn(w.Error())
	}
	var left []error
	for _, c := range changes {
		if c.Reloadable {
			p.logger.Info("Reloaded: " + c.String())
		} else {
			left = append(left, errors.New(server.RestartNeeded(c)))
		}
	}
	err = errors.Join(errors.Join(left...), p.log.Reload(logConfig(o, p.stderr)), p.files.write(o, p.server.Ports()))
	p.logger.Info("Reloaded server configuration")
	return changes, err
}

// tell logs that the service manager could not be told something.
// It is no reason to end: the server serves all the same.
func (p *process) tell(err error) {
	if err != nil {
		p.logger.Warn(err.Error())
	}
}

// logConfig says where the options want the log. Tracing the system account
// is tracing; what is traced, the server decides.
func logConfig(o *conf.Options, stderr io.Writer) logs.Config {
	return logs.Config{
		Debug:        o.Log.Debug,
		Trace:        o.Log.Trace || o.Log.TraceVerbose,
		Time:         o.Log.Time,
		UTC:          o.Log.TimeUTC,
		File:         o.Log.File,
		MaxFileBytes: o.Log.MaxFileBytes,
		MaxFiles:     o.Log.MaxFiles,
		Syslog:       o.Log.Syslog,
		RemoteSyslog: o.Log.RemoteSyslog,
		Name:         "runnel",
		Output:       stderr,
	}
}

// raiseThreads makes room for goroutines beside the pollers, each of which
// keeps a thread busy. A GOMAXPROCS that somebody has set stays.
func raiseThreads(pollers int) {
	if os.Getenv("GOMAXPROCS") == "" && runtime.GOMAXPROCS(0) < pollers+2 {
		runtime.GOMAXPROCS(pollers + 2)
	}
}
