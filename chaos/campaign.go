package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/chaos/check"
	"runnel/chaos/fault"
	"runnel/chaos/history"
	"runnel/chaos/judge"
	"runnel/chaos/process"
	"runnel/chaos/report"
	"runnel/chaos/workload"
)

// Files of a campaign in its folder.
const (
	ServersFolder = "servers" // has a folder for each server
	HistoryFile   = "history.jsonl"
	ReportFile    = "report.json"
	PageFile      = "report.html"
)

// Times that a campaign gives the cluster.
const (
	readyTime  = time.Minute     // to form, and to be well again when all is healed
	setupTime  = time.Minute     // to create all streams
	finishTime = 2 * time.Minute // for the final reads of all workloads

	conditionMax = 30 * time.Minute // for the plan of a condition
	afterwards   = 5 * time.Second  // of load, when that is done
	ackWait      = 5 * time.Second  // of the consumers with workers
)

// unreachable are lines of a log about servers that cannot be reached, which is what a campaign does to them, about the address
// where nobody is that servers hear of one another, and about requests that could not be carried out meanwhile.
var unreachable = regexp.MustCompile(`trying to connect to route|cannot connect with another server|JetStream request failed|Error flushing`)

// campaign is one that runs. One goroutine leads it through its parts; the workloads have theirs, and the ends of servers that nobody asked
// for come from yet others.
type campaign struct {
	Options
	began   time.Time
	plan    []fault.Step
	missing []report.NotRunnable
	cluster *process.Cluster
	history *history.Recorder
	loads   []workload.Workload

	mu     sync.Mutex // guards broken
	broken []check.Finding
}

// Run runs a campaign and writes its report. The error says that it could not be run; what was found is in the report. When ctx ends, the
// load ends, and what has happened until then is checked.
func Run(ctx context.Context, o Options) (*report.Run, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	c := &campaign{Options: o, began: time.Now()}
	if c.history, err = history.Create(filepath.Join(o.Dir, HistoryFile)); err != nil {
		return nil, err
	}
	c.cluster, err = process.NewCluster(filepath.Join(o.Dir, ServersFolder), process.Options{
		Servers: o.Servers, Program: o.Program, SyncAlways: o.SyncAlways, Seed: o.Seed, Ended: c.ended,
	})
	if err != nil {
		return nil, errors.Join(err, c.history.Close())
	}
	err = c.run(ctx)
	for _, w := range c.loads {
		w.Close()
	}
	c.lookAtLogs()
	if err = errors.Join(err, c.cluster.Close(), c.history.Close()); err != nil {
		return nil, err
	}
	ops, err := history.ReadFile(filepath.Join(o.Dir, HistoryFile))
	if err != nil {
		return nil, err
	}
	c.Tell(fmt.Sprintf("checking %d operations", len(ops)))
	r := c.report(ctx, ops)
	return r, c.write(r)
}

// report says what the campaign was and what came of it.
func (c *campaign) report(ctx context.Context, ops []history.Operation) *report.Run {
	r := &report.Run{
		Command: c.Command, Seed: c.Seed, Schedule: c.schedule(), Began: c.began, Duration: time.Since(c.began),
		Server:  report.Server{Binary: filepath.Base(c.Program.Path), Version: c.Program.String()},
		Machine: fmt.Sprintf("%s/%s, %d processors", runtime.GOOS, runtime.GOARCH, runtime.NumCPU()), Servers: c.Servers, Replicas: c.Replicas,
		Settings: []report.Setting{
			{Name: "workloads", Value: strings.Join(c.Workloads, ",")},
			{Name: "load", Value: c.howLong()},
			{Name: "operations a second of each workload", Value: fmt.Sprint(c.Rate)},
			{Name: "clients of each workload", Value: fmt.Sprint(c.Processes)},
			{Name: "sync_interval: always", Value: fmt.Sprint(c.SyncAlways)},
		},
		NotRunnable: c.missing,
	}
	sets, findings := judge.All(ops, c.Workloads, judge.Limits{
		AckWait: ackWait, Liveness: c.Liveness, LeadersMayRefuse: c.Program.Dialect == process.Incumbent, StaleLeaders: true,
	})
	reason := ""
	if ctx.Err() != nil {
		reason = "it was cut short"
	}
	r.Conclude(ops, sets, append(c.broken, findings...), reason)
	return r
}

// write writes the report.
func (c *campaign) write(r *report.Run) error {
	for _, file := range []struct {
		name  string
		write func(io.Writer) error
	}{{ReportFile, r.WriteJSON}, {PageFile, r.WriteHTML}} {
		f, err := os.Create(filepath.Join(c.Dir, file.name))
		if err != nil {
			return err
		}
		if err := errors.Join(file.write(f), f.Close()); err != nil {
			return fmt.Errorf("write %s: %w", f.Name(), err)
		}
	}
	return nil
}

// run is the campaign up to the final reads.
func (c *campaign) run(ctx context.Context) error {
	c.Tell(fmt.Sprintf("starting %d servers: %s", c.Servers, c.Program))
	limited, cancel := context.WithTimeout(ctx, readyTime)
	err := errors.Join(c.cluster.StartAll(limited), c.cluster.WaitReady(limited))
	cancel()
	if err != nil {
		return fmt.Errorf("start the cluster: %w", err)
	}
	if err := c.setup(ctx); err != nil {
		return err
	}
	if err := c.harm(ctx); err != nil {
		return err
	}
	// What follows takes place even if the campaign was cut short.
	c.finish(context.WithoutCancel(ctx))
	return nil
}

// setup makes the workloads, and what they need.
func (c *campaign) setup(ctx context.Context) error {
	var nodes []workload.Node
	for i, s := range c.cluster.Servers() {
		nodes = append(nodes, c.node(i, s.Name()))
	}
	for i, name := range c.Workloads {
		w, err := workload.New(name, workload.Config{
			Nodes: nodes, Recorder: c.history, Replicas: c.Replicas, Processes: c.Processes, Rate: c.Rate, Seed: c.Seed + uint64(i),
			FirstProcess: (i + 1) * workload.ProcessesMax, AckWait: ackWait,
		})
		if err != nil {
			return err
		}
		c.loads = append(c.loads, w)
	}
	limited, cancel := context.WithTimeout(ctx, setupTime)
	defer cancel()
	return c.each(func(w workload.Workload) error { return w.Setup(limited) })
}

// node is the server at a place of the cluster, as clients see it. Who stands there may change; clients that connect again find it.
func (c *campaign) node(i int, name string) workload.Node {
	return workload.Node{Name: name, Connect: func(options ...nats.Option) (*nats.Conn, error) {
		return nats.Connect("nats://"+c.cluster.Mesh().ClientAddr(i), options...)
	}}
}

// each does something with all workloads at the same time.
func (c *campaign) each(do func(workload.Workload) error) error {
	errs := make([]error, len(c.loads))
	var all sync.WaitGroup
	for i, w := range c.loads {
		all.Go(func() { errs[i] = do(w) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// harm has the workloads work while faults come and go.
func (c *campaign) harm(ctx context.Context) error {
	kinds, err := c.kinds()
	if err != nil {
		return err
	}
	r := &fault.Runner{Cluster: c.cluster, History: c.history, Tell: c.step}
	var runnable []fault.Kind
	for _, k := range kinds {
		if err := k.Missing(r); err != nil {
			c.missing = append(c.missing, report.NotRunnable{What: k.Name, Why: err.Error()})
			continue
		}
		runnable = append(runnable, k)
	}
	c.plan = c.planOf(runnable)
	length := c.Length
	if c.Condition != "" {
		length = conditionMax
	}
	c.Tell(fmt.Sprintf("%d workloads for %s, %d faults, seed %d", len(c.loads), c.howLong(), len(c.plan), c.Seed))
	limited, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	// The plan of a seed may end before the load does, which then goes on with a cluster that is well; and the load ends in the middle of a
	// fault, which is undone at once. The plan of a condition is carried out to its end.
	load := make(chan error, 1)
	go func() { load <- c.each(func(w workload.Workload) error { return w.Run(limited) }) }()
	err = r.Run(limited, c.plan)
	if c.Condition != "" {
		if limited.Err() != nil && ctx.Err() == nil {
			c.note(check.Unchecked, fmt.Sprintf("the plan was not done after %v", conditionMax))
		}
		time.AfterFunc(afterwards, cancel)
	}
	return errors.Join(err, <-load)
}

// step tells of a fault.
func (c *campaign) step(s fault.Step, ended bool, err error) {
	switch {
	case err != nil:
		text := fmt.Sprintf("%s could not be done as planned: %v", s.Kind, err)
		c.Tell("  " + text)
		c.note(check.Unchecked, text)
	case !ended:
		c.Tell(fmt.Sprintf("  %s of %s for %v", s.Kind, c.names(s.Servers), s.For.Round(time.Second)))
	}
}

// names are those of the servers at some places, at the time of asking.
func (c *campaign) names(places []int) string {
	all := c.cluster.Servers()
	var names []string
	for _, i := range places {
		names = append(names, all[i%len(all)].Name())
	}
	return strings.Join(names, ", ")
}

// finish waits until the cluster is well, and reads what is there.
func (c *campaign) finish(ctx context.Context) {
	c.Tell("healed; waiting until all servers are ready")
	ready, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	if err := c.cluster.WaitReady(ready); err != nil {
		c.note(check.Broken, fmt.Sprintf("not ready %v after all was healed: %v", readyTime, err))
	}
	c.Tell("reading what each server has")
	limited, cancel := context.WithTimeout(ctx, finishTime)
	defer cancel()
	if err := c.each(func(w workload.Workload) error { return w.Finish(limited) }); err != nil {
		c.note(check.Broken, fmt.Sprintf("final reads: %v", err))
	}
}

// ended notes the end of a server that nobody asked for.
func (c *campaign) ended(e *process.End) { c.note(check.Broken, e.Error()) }

// note notes what is wrong with a server, or could not be done to it.
func (c *campaign) note(kind check.Kind, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = append(c.broken, check.Finding{Kind: kind, Text: text, Count: 1})
}

// lookAtLogs notes lines that a server should not have written. What faults of the network and of other servers make it say is no such line.
func (c *campaign) lookAtLogs() {
	for _, s := range append(c.cluster.Servers(), c.cluster.Former()...) {
		s.ExpectLog(unreachable)
		lines, err := s.LogFaults()
		if err != nil {
			c.note(check.Unchecked, fmt.Sprintf("log of %s: %v", s.Name(), err))
		}
		for _, line := range lines {
			c.note(check.Broken, fmt.Sprintf("log of %s: %s", s.Name(), line))
		}
	}
}
