package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"runnel/client"
)

// exitHeldUp is the exit code of "runnel explain" when something stands in a consumer's way.
const exitHeldUp = 2

// explainCommand runs "runnel explain". The first word says what is to be explained;
// so far there are consumers. The server says why, and this only breaks the lines.
func explainCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var a asking
	flags, rest, err := arguments("explain", explainHelp, a.register, args, stderr)
	if err != nil {
		return usageCode(err)
	}
	if len(rest) != 3 || rest[0] != "consumer" {
		if len(rest) == 0 {
			flags.Usage()
			return 1
		}
		return fail(stderr, errors.New("explain: say which consumer: runnel explain consumer STREAM CONSUMER"))
	}
	nc, err := a.connect("explain", false)
	if err != nil {
		return fail(stderr, err)
	}
	defer nc.Close()
	ctx, cancel := a.bounded(ctx)
	defer cancel()
	e, err := client.Explain(ctx, nc, rest[1], rest[2])
	if err != nil {
		return fail(stderr, err)
	}
	if a.asJSON {
		err = writeJSON(stdout, e)
	} else {
		err = tellExplanation(stdout, e)
	}
	switch {
	case err != nil:
		return fail(stderr, err)
	case !e.Delivers:
		return exitHeldUp
	}
	return 0
}

// tellExplanation writes sentences, each followed by what to do. The numbers come last, in brackets: whoever asks why wants the reason
// first, and the rest only to see how urgent it is.
func tellExplanation(w io.Writer, e *client.Explanation) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", e.Stream, e.Consumer)
	for _, r := range e.Reasons {
		b.WriteString(wrapped(r.Text))
		if r.Next != "" {
			b.WriteString(wrapped("Next: " + r.Next))
		}
	}
	if l := e.Lag; l != nil {
		fmt.Fprintf(&b, "  (lag %s, %d waiting, %s unacknowledged, %s served a second)\n",
			shortAge(l.Seconds), l.Undelivered.Messages, unacked(&l.Unacked), rate(l.Served))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
