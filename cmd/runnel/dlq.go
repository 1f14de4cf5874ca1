package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
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
	limit    int
	rate     int
	dry, all bool
}

func (f *dlqFlags) register(flags *flag.FlagSet) {
	f.asking.register(flags)
	flags.StringVar(&f.filter.Stream, "stream", "", "only what was given up in this `stream`")
	flags.StringVar(&f.filter.Consumer, "consumer", "", "only what this `consumer` has given up")
	flags.StringVar(&f.filter.Reason, "reason", "", "only what was given up for this `reason`")
	flags.StringVar(&f.filter.Subject, "subject", "", "only what has a subject that this `pattern` matches")
	flags.Uint64Var(&f.sequence, "seq", 0, "show from this `sequence` on, or discard this one")
	flags.IntVar(&f.limit, "limit", 50, "show this `number` at most")
	flags.BoolVar(&f.all, "all", false, "discard all that the filter means, or the whole stream")
	flags.BoolVar(&f.dry, "dry-run", false, "only say how many would be discarded or put back")
	flags.IntVar(&f.rate, "rate", 0, "put this `number` back each second at most; 0 for no limit")
}

// dlqCommand runs "runnel dlq". What is wrong with the command line is found before anybody is asked.
func dlqCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var f dlqFlags
	flags := newFlags("dlq", dlqHelp, stderr)
	f.register(flags)
	rest, err := parseMixed(flags, args)
	if err != nil {
		return usageCode(err)
	}
	if len(rest) == 0 {
		flags.Usage()
		return 1
	}
	what, about := rest[0], rest[1:]
	run, known := map[string]func(context.Context, *nats.Conn, string, io.Writer) error{
		"ls": f.list, "show": f.show, "redrive": f.redrive, "discard": f.discard,
	}[what]
	switch {
	case !known:
		return fail(stderr, fmt.Errorf("dlq %s: there is ls, show, redrive and discard", what))
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

// show shows dead letters, from a sequence on. Nothing is consumed: whoever looks takes nothing from those who work on them.
func (f *dlqFlags) show(ctx context.Context, nc *nats.Conn, stream string, stdout io.Writer) error {
	ctx, cancel := f.bounded(ctx)
	defer cancel()
	letters, next := []client.DeadLetter{}, max(f.sequence, 1)
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
		fmt.Fprintf(&b, "\nThere may be more: --seq %d goes on.\n", letters[len(letters)-1].Sequence+1)
	}
	return b.Bytes()
}

// redrive puts dead letters back. It may be interrupted: the consumer that it works with stays, and the next one goes on there. So
// the number is that of this time.
func (f *dlqFlags) redrive(ctx context.Context, nc *nats.Conn, stream string, stdout io.Writer) error {
	if f.sequence != 0 {
		return errors.New("dlq redrive: --seq is for show and discard; --subject and the other filters say which are put back")
	}
	what := "put back"
	// How many it would be is the same question as for discard: what the filter means now.
	n, err := 0, error(nil)
	if f.dry {
		what = "would be put back"
		n, err = f.of(nc, stream).Discard(ctx, 0, f.filter, true)
	} else { // without the bound of one question: it takes as long as it takes
		n, err = f.of(nc, stream).Redrive(ctx, client.Redrive{Filter: f.filter, Rate: f.rate})
	}
	if err != nil {
		return fmt.Errorf("%s %s, then: %w", plural(n, "dead letter"), what, err)
	}
	if f.asJSON {
		return writeJSON(stdout, map[string]int{"redriven": n})
	}
	fmt.Fprintf(stdout, "%s %s\n", plural(n, "dead letter"), what)
	return nil
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
