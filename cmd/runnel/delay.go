package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"runnel/client"
)

// delayFlags are the flags of "runnel delay". Both of its commands have the same ones, so that a filter that was tried with ls can be given
// to cancel as it is.
type delayFlags struct {
	asking
	filter        client.DelayFilter
	sequence      uint64
	limit         int
	all, due, dry bool
}

// register defines the flags. A sequence is where to begin for who looks, and the one that is meant for who cancels: it is what the
// publisher was told, and what the table shows.
func (f *delayFlags) register(flags *flag.FlagSet) {
	f.asking.register(flags)
	flags.StringVar(&f.filter.Subject, "subject", "", "only what is for a subject that this `pattern` matches")
	flags.StringVar(&f.filter.ID, "id", "", "only what was published with this Nats-Msg-`Id`")
	flags.Uint64Var(&f.sequence, "seq", 0, "show from this `sequence` on, or cancel this one")
	flags.IntVar(&f.limit, "limit", 50, "show this `number` at most")
	flags.BoolVar(&f.all, "all", false, "cancel all that waits for the stream")
	flags.BoolVar(&f.due, "due", false, "cancel also what is due and was not taken by the stream")
	flags.BoolVar(&f.dry, "dry-run", false, "only say how many would be cancelled")
}

// delayCommand runs "runnel delay", which asks as a client of the account: nobody needs to be on the machine of a server, and who may do
// what is a matter of the permissions of the user.
// What is wrong with the command line is found before anybody is asked.
func delayCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var f delayFlags
	flags, rest, err := arguments("delay", delayHelp, f.register, args, stderr)
	if err != nil {
		return usageCode(err)
	}
	if len(rest) == 0 {
		flags.Usage()
		return 1
	}
	what := rest[0]
	run, known := map[string]func(context.Context, *client.Delayed, io.Writer) error{"ls": f.list, "cancel": f.cancel}[what]
	switch {
	case !known:
		return fail(stderr, fmt.Errorf("delay %s: there is ls and cancel", what))
	case len(rest) != 2:
		return fail(stderr, fmt.Errorf("delay %s: say which stream: runnel delay %s STREAM", what, what))
	case f.limit < 1:
		return fail(stderr, fmt.Errorf("delay: --limit %d: it must be above 0", f.limit))
	}
	nc, err := f.connect("delay", false)
	if err != nil {
		return fail(stderr, err)
	}
	defer nc.Close()
	if err := run(ctx, &client.Delayed{Conn: nc, Stream: rest[1], Due: f.due}, stdout); err != nil {
		return fail(stderr, err)
	}
	return 0
}

// list shows what is delayed, in the order in which it was published, which is that of the stream that keeps it: to sort by the times
// would mean to fetch all that there is, and the next time is said anyhow. It asks for page after page until enough is there.
func (f *delayFlags) list(ctx context.Context, d *client.Delayed, stdout io.Writer) error {
	ctx, cancel := f.bounded(ctx)
	defer cancel()
	all := &client.DelayedPage{Delayed: []client.DelayedMessage{}, Next: max(f.sequence, 1)}
	for all.Next != 0 && len(all.Delayed) < f.limit {
		page, err := d.List(ctx, all.Next, f.filter)
		if err != nil {
			return err
		}
		// What the server says of all that is delayed is newer with each page.
		page.Delayed = append(all.Delayed, page.Delayed...)
		all = page
	}
	if len(all.Delayed) > f.limit {
		all.Next, all.Delayed = all.Delayed[f.limit].Sequence, all.Delayed[:f.limit]
	}
	if f.asJSON {
		return writeJSON(stdout, all)
	}
	_, err := stdout.Write(delayTable(all, time.Now()))
	return err
}

// delayTable is the table, with how many there are in all below it. How long it takes comes before the time itself, since that is what
// people ask; times are those of the machine on which it is read. The id comes last, since it may be long.
func delayTable(p *client.DelayedPage, now time.Time) []byte {
	var b bytes.Buffer
	if len(p.Delayed) > 0 {
		w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
		fmt.Fprintln(w, "SEQ\tSUBJECT\tSTATE\tIN\tAT\tSIZE\tID")
		for i := range p.Delayed {
			m := &p.Delayed[i]
			left := "-" // the time of what is due has gone by
			if m.State == "waiting" {
				left = shortAge(max(m.At.Sub(now).Seconds(), 0))
			}
			id := "-"
			if m.ID != "" {
				id = fmt.Sprintf("%.60s", m.ID)
			}
			fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%d\t%s\n", m.Sequence, m.Subject, m.State, left, m.At.Local().Format("2006-01-02 15:04:05"), m.Size, id)
		}
		_ = w.Flush() // a buffer takes everything
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%s delayed in all", plural(int(p.Messages), "message"))
	if p.First != nil {
		fmt.Fprintf(&b, ", the next is due in %s", shortAge(max(p.First.Sub(now).Seconds(), 0)))
	}
	b.WriteByte('\n')
	if p.Next != 0 {
		fmt.Fprintf(&b, "There may be more: --seq %d goes on.\n", p.Next)
	}
	return b.Bytes()
}

// cancel cancels what is delayed. That nothing was is an error: who cancels wants to rely on it, and a script must not go on as if it had
// been.
func (f *delayFlags) cancel(ctx context.Context, d *client.Delayed, stdout io.Writer) error {
	n, err := 0, error(nil)
	// What contradicts itself is refused here, as it is by the server: one that did half of it would have to be guessed at.
	switch filtered := f.filter != (client.DelayFilter{}); {
	case f.sequence == 0 && !filtered && !f.all:
		return errors.New("delay cancel: say which: --seq, --subject, --id or --all")
	case f.sequence != 0 && (filtered || f.all || f.dry):
		return errors.New("delay cancel: --seq names one message: leave --all, --dry-run and filters out")
	case filtered && f.all:
		return errors.New("delay cancel: --all and a filter exclude each other")
	case f.sequence != 0:
		if err = d.Cancel(ctx, f.sequence); err == nil {
			n = 1
		}
	default:
		n, err = d.CancelAll(ctx, f.filter, f.dry)
	}
	switch {
	case err != nil && n > 0: // of a filter that means many some may be cancelled before the rest fails
		return fmt.Errorf("%s cancelled, then: %w", plural(n, "message"), err)
	case err != nil:
		return err
	case n == 0 && !f.dry: // of a dry run 0 is the answer
		return errors.New("delay cancel: nothing of that waits: runnel delay ls shows what does")
	case f.asJSON:
		return writeJSON(stdout, map[string]int{"cancelled": n})
	}
	what := "cancelled"
	if f.dry {
		what = "would be cancelled"
	}
	fmt.Fprintf(stdout, "%s %s\n", plural(n, "message"), what)
	return nil
}
