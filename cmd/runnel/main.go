// Command runnel is the message server, and the small tools around it: check
// and explain a configuration, measure a server, ask for its health.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"runnel/server"
)

func main() {
	if !isTool(os.Args[1:]) {
		coarsenTimers()
	}
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// isTool reports whether the command line is not for the server. Timers that are coarse save a server that waits for ten thousand things a
// good deal; a tool that measures, or that waits for one answer, wants to know at once.
func isTool(args []string) bool {
	return len(args) > 0 && slices.Contains([]string{"bench", "chaos", "cluster", "config", "delay", "dlq", "explain", "healthcheck", "key", "lag", "soak", "store", "version", "help"}, args[0])
}

// run does what the command line says and returns the exit code. Everything
// is passed in, so that tests run it as they would run the program: results
// go to stdout; complaints, and the log of the server, to stderr.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		return serverCommand(ctx, args, stdout, stderr)
	}
	switch args[0] {
	case "bench":
		return benchCommand(ctx, args[1:], stdout, stderr)
	case "chaos":
		return chaosCommand(ctx, args[1:], stdout, stderr)
	case "cluster":
		return clusterCommand(ctx, args[1:], stdout, stderr)
	case "config":
		return configCommand(args[1:], stdout, stderr)
	case "delay":
		return delayCommand(ctx, args[1:], stdout, stderr)
	case "dlq":
		return dlqCommand(ctx, args[1:], stdout, stderr)
	case "explain":
		return explainCommand(ctx, args[1:], stdout, stderr)
	case "healthcheck":
		return healthCommand(ctx, args[1:], stderr)
	case "key":
		return keyCommand(ctx, args[1:], stdout, stderr)
	case "lag":
		return lagCommand(ctx, args[1:], stdout, stderr)
	case "soak":
		return soakCommand(ctx, args[1:], stdout, stderr)
	case "store":
		return storeCommand(args[1:], stdout, stderr)
	case "version":
		printVersion(stdout)
		return 0
	case "help":
		fmt.Fprint(stdout, helpText)
		return 0
	default:
		return serverCommand(ctx, args, stdout, stderr)
	}
}

// printVersion says what this is, and which version of the other server's protocol it speaks: clients decide by that what they may ask
// for.
func printVersion(w io.Writer) {
	fmt.Fprintf(w, "runnel: v%s (NATS %s compatible)\n", server.Version, server.NATSVersion)
}

// fail reports an error, one line for each that it joins, and returns the
// exit code for it.
func fail(stderr io.Writer, err error) int {
	fmt.Fprintf(stderr, "runnel: %v%s\n", err, hint(err))
	return 1
}
