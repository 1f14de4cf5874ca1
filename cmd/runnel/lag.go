package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/client"
)

// exitLate is the exit code of "runnel lag" for a consumer that is further behind than may be.
const exitLate = 2

// lagFlags are the flags of "runnel lag".
type lagFlags struct {
	asking
	watch            bool
	interval, most   time.Duration
	limit            int
	stream, consumer string
}

func (f *lagFlags) register(flags *flag.FlagSet) {
	f.asking.register(flags)
	flags.BoolVar(&f.watch, "watch", false, "show it again and again until interrupted")
	flags.DurationVar(&f.interval, "interval", 2*time.Second, "`time` between two looks with --watch")
	flags.DurationVar(&f.most, "max", 0, "`time` that a consumer may be behind: exit code 2 if one is further")
	flags.IntVar(&f.limit, "limit", 50, "`number` of consumers, at most 256")
}

// check takes the arguments that are no flags, and refuses what makes no sense.
func (f *lagFlags) check(args []string, maxGiven bool) error {
	switch {
	case len(args) > 2:
		return fmt.Errorf("%q: at most a stream and a consumer", args[2])
	case f.interval <= 0:
		return fmt.Errorf("--interval %v: it must be above 0", f.interval)
	case f.limit < 1:
		return fmt.Errorf("--limit %d: it must be above 0", f.limit)
	case f.watch && maxGiven:
		return errors.New("--max is for scripts, which look once: leave out --watch")
	}
	if !maxGiven {
		f.most = -1
	}
	args = append(args, "", "")
	f.stream, f.consumer = args[0], args[1]
	return nil
}

// lagCommand runs "runnel lag". It asks as a client of the account, not over HTTP as
// "runnel cluster" does: who may see an account's messages may see how far they
// are, and whoever works on them has credentials and not the monitoring port.
func lagCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var f lagFlags
	flags, rest, err := arguments("lag", lagHelp, f.register, args, stderr)
	if err != nil {
		return usageCode(err)
	}
	maxGiven := false
	flags.Visit(func(g *flag.Flag) { maxGiven = maxGiven || g.Name == "max" })
	if err := f.check(rest, maxGiven); err != nil {
		return fail(stderr, fmt.Errorf("lag: %w", err))
	}
	nc, err := f.connect("lag", f.watch)
	if err != nil {
		return fail(stderr, err)
	}
	defer nc.Close()
	if f.watch {
		ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
		defer stop()
		f.follow(ctx, nc, stdout)
		return 0
	}
	lags, err := f.look(ctx, nc)
	if err != nil {
		return fail(stderr, err)
	}
	if err := f.show(stdout, lags); err != nil {
		return fail(stderr, err)
	}
	return f.verdict(lags, stderr)
}

// look asks the server.
func (f *lagFlags) look(ctx context.Context, nc *nats.Conn) (*client.Lags, error) {
	ctx, cancel := f.bounded(ctx)
	defer cancel()
	if f.consumer == "" {
		return client.AllLags(ctx, nc, client.LagQuery{Stream: f.stream, Limit: f.limit})
	}
	l, err := client.Lag(ctx, nc, f.stream, f.consumer)
	if err != nil {
		return nil, err
	}
	return &client.Lags{Total: 1, Consumers: []client.ConsumerLag{*l}}, nil
}

// show writes what was found, as a table or as JSON. The JSON is the server's answer,
// with the same members, so that a script may ask either.
func (f *lagFlags) show(w io.Writer, lags *client.Lags) error {
	if f.asJSON {
		return writeJSON(w, lags)
	}
	_, err := w.Write(lagTable(lags))
	return err
}

// verdict is the exit code. What is not known is not well: a script that looks at
// a limit must not take a stream without a leader for one without a lag. The first
// consumer is the one that is furthest behind.
func (f *lagFlags) verdict(lags *client.Lags, stderr io.Writer) int {
	if len(lags.Missing) > 0 {
		return fail(stderr, fmt.Errorf("no leader of %s has answered", strings.Join(lags.Missing, ", ")))
	}
	if f.most >= 0 && len(lags.Consumers) > 0 {
		if l := &lags.Consumers[0]; l.Seconds > f.most.Seconds() {
			fmt.Fprintf(stderr, "runnel: %s %s is %s behind, which is more than %s\n", l.Stream, l.Consumer, shortAge(l.Seconds), f.most)
			return exitLate
		}
	}
	return 0
}

// Codes of terminals: to the upper left, and clear from there on.
const redraw = "\x1b[H\x1b[J"

// follow shows the table again and again until the context ends. On a terminal each takes the place of the one before. What
// goes wrong is shown too: it may be over at the next look.
func (f *lagFlags) follow(ctx context.Context, nc *nats.Conn, stdout io.Writer) {
	live := !f.asJSON && terminal(stdout) != nil
	tick := time.NewTicker(f.interval)
	defer tick.Stop()
	for {
		var b bytes.Buffer
		lags, err := f.look(ctx, nc)
		if ctx.Err() != nil {
			return
		}
		if live {
			fmt.Fprintf(&b, "%s%s, every %v; Ctrl-C ends it\n\n", redraw, time.Now().Format(time.TimeOnly), f.interval)
		}
		if err != nil {
			fmt.Fprintf(&b, "runnel: %v\n", err)
		} else {
			_ = f.show(&b, lags) // a buffer takes everything
		}
		if !live && !f.asJSON {
			b.WriteByte('\n')
		}
		if _, err := stdout.Write(b.Bytes()); err != nil {
			return // whoever read it has gone
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// lagTable is the table: seconds first, since a number of messages says nothing to
// whoever does not know how fast they come. Columns are as wide as they need to
// be, so that names can be copied whole.
func lagTable(lags *client.Lags) []byte {
	var b bytes.Buffer
	if len(lags.Consumers) == 0 {
		b.WriteString("There are no consumers.\n")
	} else {
		w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
		fmt.Fprintln(w, "LAG\tSTREAM\tCONSUMER\tWAITING\tUNACKED\tSERVED/S\tDRAINED\tHELD UP")
		for i := range lags.Consumers {
			l := &lags.Consumers[i]
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\n", shortAge(l.Seconds), l.Stream, l.Consumer,
				l.Undelivered.Messages, unacked(&l.Unacked), rate(l.Served), drained(l.DrainSeconds), heldUp(l))
		}
		_ = w.Flush() // a buffer takes everything
	}
	if more := lags.Total - len(lags.Consumers); more > 0 {
		fmt.Fprintf(&b, "and %d more, which are not as far behind\n", more)
	}
	for _, name := range lags.Missing {
		fmt.Fprintf(&b, "no leader of %s has answered\n", name)
	}
	return b.Bytes()
}

// unacked is the number of messages that are not acknowledged, with the age of the oldest.
func unacked(u *client.Backlog) string {
	if u.Messages == 0 {
		return "0"
	}
	mark := ""
	if u.Since == "delivered" {
		mark = "d"
	}
	return fmt.Sprintf("%d (%s%s)", u.Messages, shortAge(u.Seconds), mark)
}

// rate is a rate with three digits. More would change at every look and say nothing.
func rate(perSecond float64) string {
	if perSecond >= 100 {
		return fmt.Sprintf("%.0f", perSecond)
	}
	return fmt.Sprintf("%.3g", perSecond)
}

// drained is how long something takes, if that is known. Without a rate nobody can
// say, which is not the same as never.
func drained(seconds *float64) string {
	if seconds == nil {
		return "-"
	}
	return shortAge(*seconds)
}

// heldUp says why nothing is delivered.
func heldUp(l *client.ConsumerLag) string {
	if l.Stalled == nil {
		return "-"
	}
	if until := l.Stalled.Until; until != nil {
		return fmt.Sprintf("%s (%s)", l.Stalled.Reason, shortAge(max(until.Sub(l.Time).Seconds(), 0)))
	}
	return l.Stalled.Reason
}

// shortAge is a time in seconds with its two largest units. Below ten seconds it has
// tenths, and nothing but nothing is 0.
func shortAge(seconds float64) string {
	const day, most = 24 * time.Hour, 9e9 // seconds that a Duration has
	d := time.Duration(min(seconds, most) * float64(time.Second))
	switch {
	case d >= day:
		return fmt.Sprintf("%dd%02dh", d/day, d%day/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d >= 10*time.Second:
		return fmt.Sprintf("%.0fs", seconds)
	case d == 0:
		return "0s"
	}
	return fmt.Sprintf("%.1fs", max(seconds, 0.1))
}
