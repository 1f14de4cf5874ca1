package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/nats-io/nats.go"

	"runnel/client"
)

// keyFlags are the flags of "runnel key". The limit is about what is shown: the counts are of all keys.
type keyFlags struct {
	asking
	limit            int
	settle           uint64
	stream, consumer string
}

// register defines the flags. A sequence of 0 is none, as everywhere.
func (f *keyFlags) register(flags *flag.FlagSet) {
	f.asking.register(flags)
	flags.IntVar(&f.limit, "limit", 50, "`number` of keys, at most 256")
	flags.Uint64Var(&f.settle, "settle", 0, "acknowledge the message with this `sequence`, which a key has out")
}

// keyCommand runs "runnel key". It asks as a client of the account, as "runnel lag" does. With --settle it does something before it
// asks, so that what it shows is how things are afterwards.
func keyCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var f keyFlags
	flags, rest, err := arguments("key", keyHelp, f.register, args, stderr)
	if err != nil {
		return usageCode(err)
	}
	switch {
	case len(rest) == 0:
		flags.Usage()
		return 1
	case len(rest) != 2:
		return fail(stderr, errors.New("key: say which consumer: runnel key STREAM CONSUMER"))
	case f.limit < 1:
		return fail(stderr, fmt.Errorf("key: --limit %d: it must be above 0", f.limit))
	}
	f.stream, f.consumer = rest[0], rest[1]
	nc, err := f.connect("key", false)
	if err != nil {
		return fail(stderr, err)
	}
	defer nc.Close()
	if err := f.run(ctx, nc, stdout); err != nil {
		return fail(stderr, err)
	}
	return 0
}

// run does what is asked for, and shows the keys as they are then.
func (f *keyFlags) run(ctx context.Context, nc *nats.Conn, stdout io.Writer) error {
	ctx, cancel := f.bounded(ctx)
	defer cancel()
	if f.settle != 0 {
		if err := f.settleKey(ctx, nc); err != nil {
			return err
		}
	}
	keys, err := client.AskKeys(ctx, nc, f.stream, f.consumer, f.limit)
	if err != nil {
		return err
	}
	if f.asJSON {
		return writeJSON(stdout, keys)
	}
	_, err = stdout.Write(keyTable(keys))
	return err
}

// settleKey acknowledges a message, if a key has it out: of others an answer means nothing.
func (f *keyFlags) settleKey(ctx context.Context, nc *nats.Conn) error {
	keys, err := client.AskKeys(ctx, nc, f.stream, f.consumer, 0)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(keys.Keys, func(h client.KeyHold) bool { return h.Sequence == f.settle }) {
		return fmt.Errorf("--settle %d: no key has this message out: runnel key %s %s lists those that have one", f.settle, f.stream, f.consumer)
	}
	return client.SettleKey(ctx, nc, f.stream, f.consumer, f.settle)
}

// keyTable is the table, with what there is in all below it. The server has put first what needs somebody: keys that are blocked, and
// then those behind which the most messages wait. What a blocked key needs is said only where there is one.
func keyTable(keys *client.Keys) []byte {
	var b bytes.Buffer
	if len(keys.Keys) > 0 {
		w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
		fmt.Fprintln(w, "KEY\tSTATE\tMESSAGE\tSUBJECT\tDELIVERED\tUNTIL\tBEHIND")
		for i := range keys.Keys {
			h := &keys.Keys[i]
			fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\t%s\n", keyName(h), keyState(h.State), h.Sequence, h.Subject, timesOf(h.Deliveries), keyUntil(keys, h), behind(h))
		}
		_ = w.Flush() // a buffer takes everything
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%s with a message out, %d of them blocked; %d messages wait for their key, %d are undelivered in all\n",
		plural(keys.InFlight+keys.Blocked, "key"), keys.Blocked, keys.Waiting, keys.Undelivered)
	if keys.Blocked > 0 {
		fmt.Fprintf(&b, "A blocked key goes on when its message is deleted, or acknowledged: runnel key %s %s --settle MESSAGE\n", keys.Stream, keys.Consumer)
	}
	return b.Bytes()
}

// plural is a number with a word.
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// keyName is the key as it can be shown: a message without one has none, and an empty text is a key.
func keyName(h *client.KeyHold) string {
	switch {
	case h.Alone:
		return "-"
	case h.Key == "":
		return `""`
	}
	return fmt.Sprintf("%.60s", h.Key)
}

// keyState is the state in words. One that this program does not know, of a later server, is shown as it is.
func keyState(state string) string {
	if state == "in_flight" {
		return "in flight"
	}
	return state
}

// timesOf is how often a message was delivered; of one that was given up nobody counts any more.
func timesOf(n uint64) string {
	if n == 0 {
		return "given up"
	}
	return fmt.Sprint(n)
}

// keyUntil is how long the message stays where it is, by the clock of the server: that of who looks may be another one. What is to
// be delivered again now, and what is blocked, has no such time.
func keyUntil(keys *client.Keys, h *client.KeyHold) string {
	if h.Until == nil {
		return "-"
	}
	return shortAge(max(h.Until.Sub(keys.Time).Seconds(), 0))
}

// behind is how much waits behind a message, as far as the leader of the stream has looked.
func behind(h *client.KeyHold) string {
	if h.More {
		return fmt.Sprintf("%d+", h.Behind)
	}
	return fmt.Sprint(h.Behind)
}
