package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/bench"
	"runnel/client"
)

// asking holds the flags of commands that ask a server something as its client: of the
// account whose streams it is about. Credentials may come from the environment, and
// the flags are those that the nats command line has for the same things, so that
// whoever has set that up has set up this.
type asking struct {
	benchConnection
	timeout time.Duration
	asJSON  bool
}

// register defines the flags. The address is also known by the name that the nats command line has for it.
func (a *asking) register(flags *flag.FlagSet) {
	a.benchConnection.register(flags)
	secret(flags, "server", "the same as --url", &a.url)
	flags.DurationVar(&a.timeout, "timeout", 5*time.Second, "`time` to wait for an answer")
	flags.BoolVar(&a.asJSON, "json", false, "write JSON")
}

// arguments reads the command line of a command that asks, and returns what there is beside flags. What is wrong
// with them it has said; see usageCode.
func arguments(
	name, help string, register func(*flag.FlagSet), args []string, stderr io.Writer,
) (flags *flag.FlagSet, rest []string, err error) {
	flags = newFlags(name, help, stderr)
	register(flags)
	rest, err = parseMixed(flags, args)
	return flags, rest, err
}

// connect connects as a client. With again, it goes on trying when the connection is lost;
// otherwise a command ends at once when the server is gone, which a script wants to know.
func (a *asking) connect(name string, again bool) (*nats.Conn, error) {
	options, err := a.Options()
	if err != nil {
		return nil, err
	}
	options = append(options, nats.Name("runnel "+name), nats.Timeout(a.timeout),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})) // what is denied is said once, by who has asked
	if again {
		options = append(options, nats.MaxReconnects(-1))
	} else {
		options = append(options, nats.NoReconnect())
	}
	nc, err := nats.Connect(a.url, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", cmp.Or(a.url, bench.DefaultURL), err)
	}
	return nc, nil
}

// bounded is a context for one question: a server that dies never answers it, and a
// script must not wait for ever.
func (a *asking) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, a.timeout)
}

// newFlags returns the flags of a command that has this help. The help is a text of its
// own with examples, and the list of the flags stands at its end.
func newFlags(name, help string, stderr io.Writer) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, help)
		flags.PrintDefaults()
	}
	return flags
}

// hint says what to do about what a server answers.
func hint(err error) string {
	var refused *client.Error
	if !errors.As(err, &refused) {
		return ""
	}
	switch refused.Code {
	case 10014:
		return ": runnel lag lists the consumers that there are"
	case 10059:
		return ": nats stream ls lists the streams that there are, in the account of this user"
	}
	return ""
}
