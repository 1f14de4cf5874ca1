package monitor

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"time"
)

// IpqueueszOptions are the parameters of the internal queues page.
type IpqueueszOptions struct {
	All    bool   // also queues that are empty
	Filter string // only queues whose name contains this
}

func (o *IpqueueszOptions) parameters() []parameter {
	return []parameter{flag("all", "all", &o.All), text("queues", "filter", &o.Filter)}
}

// Ipqueuesz returns the internal queues by name.
func (p *Pages) Ipqueuesz(o IpqueueszOptions) (map[string]Queue, error) {
	queues := map[string]Queue{}
	for name, q := range p.source.Queues() {
		if (o.All || q.Pending+q.InProgress > 0) && strings.Contains(name, o.Filter) {
			queues[name] = q
		}
	}
	return queues, nil
}

// Expvarz is the page of the Go runtime. The command line has no arguments, which may hold passwords.
type Expvarz struct {
	Cmdline  []string         `json:"cmdline"`
	MemStats runtime.MemStats `json:"memstats"`
}

// Expvarz returns figures of the Go runtime.
func (p *Pages) Expvarz() *Expvarz {
	page := &Expvarz{Cmdline: os.Args[:min(1, len(os.Args))]}
	runtime.ReadMemStats(&page.MemStats)
	return page
}

// maxProfileDuration bounds how long a CPU profile may take.
const maxProfileDuration = 15 * time.Second

// ProfilezOptions are the parameters of a profile.
type ProfilezOptions struct {
	Name       string // "cpu", or a profile of the Go runtime: heap, goroutine, mutex, block, ...
	Debug      int64  // 0 = binary, 1 and 2 = text
	DurationNs int64  // how long to watch, for "cpu" only; at most 15 s
}

func (o *ProfilezOptions) parameters() []parameter {
	return []parameter{
		text("", "name", &o.Name), count("", "debug", &o.Debug), count("", "duration", &o.DurationNs),
	}
}

// Profilez is a profile of the process, or why there is none.
type Profilez struct {
	Profile []byte `json:"profile"`
	Error   string `json:"error"`
}

// Profilez takes a profile. A CPU profile takes as long as the options say; when ctx ends before, it is cut
// short. Only one can be taken at a time.
func (p *Pages) Profilez(ctx context.Context, o ProfilezOptions) *Profilez {
	switch o.Name {
	case "":
		return &Profilez{Error: "Profile name not specified"}
	case "cpu":
		return cpuProfile(ctx, time.Duration(o.DurationNs))
	}
	profile := pprof.Lookup(o.Name)
	if profile == nil {
		return &Profilez{Error: fmt.Sprintf("Profile %q not found", o.Name)}
	}
	var b bytes.Buffer
	if err := profile.WriteTo(&b, int(min(max(o.Debug, 0), 2))); err != nil {
		return &Profilez{Error: err.Error()}
	}
	return &Profilez{Profile: b.Bytes()}
}

func cpuProfile(ctx context.Context, d time.Duration) *Profilez {
	if d <= 0 || d > maxProfileDuration {
		return &Profilez{Error: fmt.Sprintf("duration %s is not between 0s and %s", d, maxProfileDuration)}
	}
	var b bytes.Buffer
	if err := pprof.StartCPUProfile(&b); err != nil {
		return &Profilez{Error: err.Error()}
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	pprof.StopCPUProfile()
	return &Profilez{Profile: b.Bytes()}
}

// maxStackBytes bounds the stacks page.
const maxStackBytes = 32 << 20

// Stacksz returns the stacks of all goroutines as text, cut off at 32 MiB.
func (p *Pages) Stacksz() []byte {
	for size := 64 << 10; ; size *= 2 {
		b := make([]byte, size)
		n := runtime.Stack(b, true)
		if n < size || size >= maxStackBytes {
			return b[:n]
		}
	}
}
