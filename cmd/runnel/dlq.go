package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/client"
)

// dlqFlags are the flags of "runnel dlq". All of its commands have the same ones, so that a filter that was tried with show can be
// given to redrive or discard as it is.
type dlqFlags struct {
	asking
	filter   client.DeadFilter
	sequence uint64
	from     uint64
	limit    int
	rate     int
	to       string
	dry, all bool
	detach   bool
}

func (f *dlqFlags) register(flags *flag.FlagSet) {
	f.asking.register(flags)
	flags.StringVar(&f.filter.Stream, "stream", "", "only what was given up in this `stream`")
	flags.StringVar(&f.filter.Consumer, "consumer", "", "only what this `consumer` has given up")
	flags.StringVar(&f.filter.Reason, "reason", "", "only what was given up for this `reason`")
	flags.StringVar(&f.filter.Subject, "subject", "", "only what has a subject that this `pattern` matches")
	flags.Uint64Var(&f.sequence, "seq", 0, "the dead letter with this `sequence`: show all of it, put it back or discard it")
	flags.Uint64Var(&f.from, "from", 0, "show from this `sequence` on")
	flags.IntVar(&f.limit, "limit", 50, "show this `number` at most")
	flags.BoolVar(&f.all, "all", false, "put back or discard all dead letters of the stream")
	flags.BoolVar(&f.dry, "dry-run", false, "only say how many would be discarded or put back")
	flags.StringVar(&f.to, "to", "consumer", "put back to the `consumer` alone that has given it up, or to the subject, for all consumers")
	flags.BoolVar(&f.detach, "detach", false, "do not wait for the end of a redrive")
	flags.IntVar(&f.rate, "rate", 0, "put this `number` back each second at most; 0 for no limit")
}

// dlqCommand runs "runnel dlq". What is wrong with the command line is found before anybody is asked.
func dlqCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var f dlqFlags
	flags, rest, err := arguments("dlq", dlqHelp, f.register, args, stderr)
	if err != nil {
		return usageCode(err)
	}
	if len(rest) == 0 {
		flags.Usage()
		return 1
	}
	what, about := rest[0], rest[1:]
	run, known := map[string]func(context.Context, *nats.Conn, string, io.Writer) error{
		"ls": f.list, "show": f.show, "redrive": f.redrive, "stop": f.stop, "discard": f.discard,
	}[what]
	switch {
	case !known:
		return fail(stderr, fmt.Errorf("dlq %s: there is ls, show, redrive, stop and discard", what))
	case what == "ls" && len(about) > 0, what != "ls" && len(about) != 1:
		return fail(stderr, fmt.Errorf("dlq %s: runnel dlq -h says how it is written", what))
	case f.limit < 1:
		return fail(stderr, fmt.Errorf("dlq: --limit %d: it must be above 0", f.limit))
	}
	nc, err := f.connect("dlq", false)
	if err != nil {
		return fail(stderr, err)
	}
	defer nc.Close()
	if err := run(ctx, nc, strings.Join(about, ""), stdout); err != nil {
		return fail(stderr, err)
	}
	return 0
}

// list shows which dead-letter streams there are: what they have, since when, and what has not got there yet.
func (f *dlqFlags) list(ctx context.Context, nc *nats.Conn, _ string, stdout io.Writer) error {
	ctx, cancel := f.bounded(ctx)
	defer cancel()
	streams, missing, err := client.DeadStreams(ctx, nc)
	if err != nil {
		return err
	}
	if f.asJSON {
		return writeJSON(stdout, streams)
	}
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "STREAM\tMESSAGES\tOLDEST\tWAITING\tFROM")
	for i := range streams {
		s := &streams[i]
		oldest := "-"
		if s.Oldest != nil {
			oldest = shortAge(time.Since(*s.Oldest).Seconds())
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%s\n", s.Stream, s.Messages, oldest, s.Waiting, strings.Join(s.Consumers, " "))
	}
	_ = w.Flush() // a buffer takes everything
	if len(streams) == 0 {
		b.Reset()
		b.WriteString("No consumer has a dead-letter stream, and no stream has dead letters.\n")
	}
	if len(missing) > 0 {
		fmt.Fprintf(&b, "Nobody has told of these streams, which have no leader: %s\n", strings.Join(missing, " "))
	}
	_, err = stdout.Write(b.Bytes())
	return err
}

// of returns the dead letters of a stream, whoever has given them up.
func (f *dlqFlags) of(nc *nats.Conn, stream string) *client.DLQ {
	return &client.DLQ{Conn: nc, Stream: stream}
}

// show shows dead letters, or one of them with all that it has. Nothing is consumed: whoever looks takes nothing from those who work on them.
func (f *dlqFlags) show(ctx context.Context, nc *nats.Conn, stream string, stdout io.Writer) error {
	ctx, cancel := f.bounded(ctx)
	defer cancel()
	if f.sequence != 0 {
		return f.showOne(ctx, nc, stream, stdout)
	}
	letters, next := []client.DeadLetter{}, max(f.from, 1)
	for next != 0 && len(letters) < f.limit {
		var more []client.DeadLetter
		var err error
		if more, next, err = f.of(nc, stream).Get(ctx, next, f.filter); err != nil {
			return err
		}
		letters = append(letters, more...)
	}
	if len(letters) > f.limit {
		letters, next = letters[:f.limit], letters[f.limit].Sequence
	}
	if f.asJSON {
		return writeJSON(stdout, letters)
	}
	_, err := stdout.Write(deadTable(letters, next != 0))
	return err
}

// showOne shows a dead letter with its headers and body.
func (f *dlqFlags) showOne(ctx context.Context, nc *nats.Conn, stream string, stdout io.Writer) error {
	letters, _, err := f.of(nc, stream).Get(ctx, f.sequence, client.DeadFilter{})
	switch {
	case err != nil:
		return err
	case len(letters) == 0 || letters[0].Sequence != f.sequence:
		return fmt.Errorf("message %d of %s is no dead letter: runnel dlq show %s lists them", f.sequence, stream, stream)
	case f.asJSON:
		return writeJSON(stdout, letters[0])
	}
	_, err = stdout.Write(deadText(stream, &letters[0]))
	return err
}

// deadText is all of a dead letter for people: where it comes from, why it is there, and then the message as it was.
func deadText(stream string, l *client.DeadLetter) []byte {
	var b bytes.Buffer
	o := &l.Origin
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "Dead letter\t%d of %s, since %s\n", l.Sequence, stream, shortAge(time.Since(l.Time).Seconds()))
	fmt.Fprintf(w, "From\tmessage %d of %s, on %s, given up by consumer %s\n", o.Sequence, o.Stream, o.Subject, o.Consumer)
	fmt.Fprintf(w, "Reason\t%s\n", o.Reason)
	if o.Error != "" {
		fmt.Fprintf(w, "Error\t%s\n", o.Error)
	}
	fmt.Fprintf(w, "Attempts\t%d\n", o.Attempts)
	if !o.First.IsZero() {
		fmt.Fprintf(w, "Delivered\tfirst %s, last %s\n", o.First.Format(time.RFC3339), o.Last.Format(time.RFC3339))
	}
	_ = w.Flush() // a buffer takes everything
	b.WriteByte('\n')
	for _, name := range slices.Sorted(maps.Keys(l.Header)) {
		for _, value := range l.Header[name] {
			if !strings.HasPrefix(name, "Runnel-Dead-") {
				fmt.Fprintf(&b, "%s: %s\n", name, value)
			}
		}
	}
	fmt.Fprintf(&b, "\n%s\n", l.Data)
	return b.Bytes()
}

// deadTable is the table of dead letters. What a worker has said comes last, since it may be long; JSON has all of it, and the
// bodies.
func deadTable(letters []client.DeadLetter, more bool) []byte {
	var b bytes.Buffer
	if len(letters) == 0 {
		return []byte("No dead letters.\n")
	}
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "SEQ\tSUBJECT\tFROM\tREASON\tATTEMPTS\tAGE\tERROR")
	for i := range letters {
		l := &letters[i]
		o := &l.Origin
		fmt.Fprintf(w, "%d\t%s\t%s.%s\t%s\t%d\t%s\t%.80s\n", l.Sequence, l.Subject, o.Stream, o.Consumer, o.Reason, o.Attempts,
			shortAge(time.Since(l.Time).Seconds()), o.Error)
	}
	_ = w.Flush() // a buffer takes everything
	if more {
		fmt.Fprintf(&b, "\nThere may be more: --from %d goes on.\n", letters[len(letters)-1].Sequence+1)
	}
	return b.Bytes()
}

// redrive has the server put dead letters back, and shows how far it is. Whoever interrupts that only stops looking.
func (f *dlqFlags) redrive(ctx context.Context, nc *nats.Conn, stream string, stdout io.Writer) error {
	switch {
	case f.sequence == 0 && f.filter == (client.DeadFilter{}) && !f.all:
		return errors.New("dlq redrive: say which: --seq, a filter such as --consumer, or --all")
	case f.to != "consumer" && f.to != "subject":
		return fmt.Errorf("dlq redrive: --to %s: it is consumer or subject", f.to)
	}
	r := client.Redrive{Sequence: f.sequence, Filter: f.filter, ToSubject: f.to == "subject", Rate: f.rate}
	if f.dry || f.detach {
		return f.plan(ctx, nc, stream, r, stdout)
	}
	told := time.Now()
	r.Progress = func(s client.RedriveState) {
		if !f.asJSON && s.Ended == nil && time.Since(told) >= time.Second {
			told = time.Now()
			fmt.Fprintln(stdout, redriveLine(&s))
		}
	}
	state, err := f.of(nc, stream).Redrive(ctx, r)
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%s; it goes on: runnel dlq stop %s ends it", redriveLine(&state), stream)
	case err != nil:
		return err
	case f.asJSON:
		return writeJSON(stdout, state)
	}
	_, err = fmt.Fprintln(stdout, redriveLine(&state))
	return err
}

// plan says what a redrive puts back, or would.
func (f *dlqFlags) plan(ctx context.Context, nc *nats.Conn, stream string, r client.Redrive, stdout io.Writer) error {
	ctx, cancel := f.bounded(ctx)
	defer cancel()
	ask, what := f.of(nc, stream).RedriveStart, "being put back"
	if f.dry {
		ask, what = f.of(nc, stream).RedrivePlan, "would be put back"
	}
	plan, err := ask(ctx, r)
	switch {
	case err != nil:
		return err
	case f.asJSON:
		return writeJSON(stdout, plan)
	}
	var b bytes.Buffer
	least := ""
	if plan.More {
		least = "at least "
	}
	fmt.Fprintf(&b, "%s%s %s\n", least, plural(plan.Matched, "dead letter"), what)
	for i := range plan.Sets {
		if s := &plan.Sets[i]; s.Error != nil {
			fmt.Fprintf(&b, "but not %s: %s\n", plural(s.Messages, "dead letter"), s.Error.Description)
		}
	}
	_, err = stdout.Write(b.Bytes())
	return err
}

// stop ends a redrive.
func (f *dlqFlags) stop(ctx context.Context, nc *nats.Conn, stream string, stdout io.Writer) error {
	ctx, cancel := f.bounded(ctx)
	defer cancel()
	state, err := f.of(nc, stream).RedriveStop(ctx)
	switch {
	case err != nil:
		return err
	case f.asJSON:
		return writeJSON(stdout, state)
	}
	_, err = fmt.Fprintln(stdout, redriveLine(&state))
	return err
}

// redriveLine says how far a redrive is.
func redriveLine(s *client.RedriveState) string {
	line := plural(int(s.Done), "dead letter") + " put back"
	if s.Ended == nil && s.Left > 0 {
		line += fmt.Sprintf(", %d left", s.Left)
	}
	if s.Failed > 0 {
		line += fmt.Sprintf(", %d stay", s.Failed)
	}
	if s.Error != "" {
		line += ": " + s.Error
	}
	switch {
	case s.Stopping:
		line += " (to be stopped)"
	case s.Stopped:
		line += " (stopped)"
	}
	return line
}

// discard throws dead letters away. There is no way back, so somebody has to say which, and can ask before how many these are.
func (f *dlqFlags) discard(ctx context.Context, nc *nats.Conn, stream string, stdout io.Writer) error {
	if f.sequence == 0 && f.filter == (client.DeadFilter{}) && !f.all && !f.dry {
		return errors.New("dlq discard: say which: --seq, a filter such as --consumer, or --all")
	}
	n, err := f.of(nc, stream).Discard(ctx, f.sequence, f.filter, f.dry)
	if err != nil {
		return err
	}
	if f.asJSON {
		return writeJSON(stdout, map[string]int{"discarded": n})
	}
	what := "discarded"
	if f.dry {
		what = "would be discarded"
	}
	fmt.Fprintf(stdout, "%s %s\n", plural(n, "dead letter"), what)
	return nil
}
