package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"runnel/bench"
)

// benchLoad holds the flags that say what is run and how it is reported.
type benchLoad struct {
	overrides  bench.Overrides
	verify     bool
	stall      time.Duration
	subject    string
	format     bench.Format
	noProgress bool
}

// register defines the flags, with those that only streams have.
func (l *benchLoad) register(flags *flag.FlagSet, streams bool) {
	o := &l.overrides
	flags.Func("msgs", "`number` of messages (100k, 2M)", func(text string) (err error) {
		o.Messages, err = parseCount(text)
		return err
	})
	flags.Func("size", "payload `size`, or several separated by commas (128, 1k, 32KiB)", func(text string) (err error) {
		o.Sizes, err = parseSizes(text)
		return err
	})
	positive := func(name, usage string, target *int) {
		flags.Func(name, usage, func(text string) error {
			n, err := parseCount(text)
			if err == nil && n > math.MaxInt32 {
				err = fmt.Errorf("%s is too many", text)
			}
			*target = int(n)
			return err
		})
	}
	if streams {
		positive("pubs", "`number` of publishers, for publish", &o.Publishers)
		positive("subs", "`number` of clients that read or watch", &o.Subscribers)
		positive("subjects", "`number` of keys, or of consumers for filters", &o.Subjects)
		positive("inflight", "`number` of publishes, puts or gets that are under way at a time", &o.Inflight)
		positive("batch", "`number` of messages that a reader asks for at a time", &o.Batch)
		positive("replicas", "`number` of servers of a cluster that keep the stream", &o.Replicas)
		flags.BoolVar(&o.Memory, "memory", false, "keep streams in memory instead of on disk")
	} else {
		positive("pubs", "`number` of publishers or requesters", &o.Publishers)
		positive("subs", "`number` of subscribers, group members or responders", &o.Subscribers)
		positive("subjects", "`number` of subjects, for subjects", &o.Subjects)
		positive("inflight", "`number` of requests that each requester has outstanding", &o.Inflight)
		positive("connections", "`number` of connections, for connections", &o.Connections)
	}
	flags.DurationVar(&o.Duration, "duration", 0, "publish for this `time` instead of a number of messages")
	flags.Func("rate", "`number` of messages per second over all publishers; latency is counted from the moment each is due", func(text string) error {
		n, err := parseCount(text)
		o.Rate = float64(n)
		return err
	})
	flags.Float64Var(&o.Scale, "scale", 1, "multiply the default numbers of messages by this `factor`")
	flags.BoolVar(&l.verify, "verify", true, "check every delivery: complete, in order, once, unchanged")
	flags.DurationVar(&l.stall, "stall", bench.DefaultStall, "give a run up after this `time` without progress")
	flags.StringVar(&l.subject, "subject", bench.DefaultSubject, "first `token` of all subjects; pub and sub use it as it is")
	l.format = bench.Human
	flags.Func("format", "`human`, csv or json (default human)", func(text string) (err error) {
		l.format, err = bench.ParseFormat(text)
		return err
	})
	flags.BoolVar(&l.noProgress, "no-progress", false, "no progress bar on the terminal")
}

// target is what the flags say about the runs, without the server.
func (l *benchLoad) target(stderr io.Writer) (bench.Target, error) {
	switch {
	case l.overrides.Scale <= 0:
		return bench.Target{}, fmt.Errorf("--scale %v: it must be above 0", l.overrides.Scale)
	case l.overrides.Duration < 0:
		return bench.Target{}, fmt.Errorf("--duration %v: it must not be negative", l.overrides.Duration)
	case l.stall <= 0:
		return bench.Target{}, fmt.Errorf("--stall %v: it must be above 0", l.stall)
	case strings.ContainsAny(l.subject, " \t*>") || l.subject == "":
		return bench.Target{}, fmt.Errorf("--subject %q: it must be a subject without wildcards", l.subject)
	}
	t := bench.Target{Verify: l.verify, Stall: l.stall, Subject: l.subject}
	if !l.noProgress {
		t.Progress = terminal(stderr)
	}
	return t, nil
}

// benchConnection holds the flags that say how to reach the server.
type benchConnection struct {
	url string
	bench.Connection
}

// register defines the flags.
func (c *benchConnection) register(flags *flag.FlagSet) {
	c.url = cmp.Or(os.Getenv("NATS_URL"), bench.DefaultURL)
	secret(flags, "url", "server `URL`, also in $NATS_URL (default "+bench.DefaultURL+")", &c.url)
	c.registerCredentials(flags)
}

// registerCredentials defines all flags but the URL. Credentials may come from
// the environment, where other users of the machine cannot see them.
func (c *benchConnection) registerCredentials(flags *flag.FlagSet) {
	c.Password = os.Getenv("NATS_PASSWORD")
	flags.StringVar(&c.User, "user", os.Getenv("NATS_USER"), "user `name`, also in $NATS_USER")
	secret(flags, "password", "`password` of the user, better in $NATS_PASSWORD", &c.Password)
	flags.StringVar(&c.CredentialsFile, "creds", os.Getenv("NATS_CREDS"), "`file` with credentials, also in $NATS_CREDS")
	flags.StringVar(&c.NKeyFile, "nkey", os.Getenv("NATS_NKEY"), "`file` with an NKey seed, also in $NATS_NKEY")
	flags.BoolVar(&c.TLS, "tls", false, "require TLS")
	flags.BoolVar(&c.TLSFirst, "tlsfirst", false, "TLS handshake before anything else")
	flags.StringVar(&c.CAFile, "tlsca", "", "`file` with the certificate authority to trust")
	flags.StringVar(&c.CertificateFile, "tlscert", "", "`file` with the client's certificate")
	flags.StringVar(&c.KeyFile, "tlskey", "", "`file` with the key of that certificate")
}

// secret defines a flag whose present value the help must not show.
func secret(flags *flag.FlagSet, name, usage string, target *string) {
	flags.Func(name, usage, func(text string) error {
		*target = text
		return nil
	})
}

// parseCount reads a positive number; k, M and G multiply by powers of 1000.
func parseCount(text string) (int64, error) {
	number, unit := strings.TrimRight(text, "kKmMgG"), int64(1)
	switch strings.ToLower(text[len(number):]) {
	case "":
	case "k":
		unit = 1e3
	case "m":
		unit = 1e6
	case "g":
		unit = 1e9
	default:
		return 0, fmt.Errorf("%q is no number", text)
	}
	x, err := strconv.ParseFloat(number, 64)
	if err != nil || !(x > 0) || x*float64(unit) >= 1<<53 {
		return 0, fmt.Errorf("%q is no positive number", text)
	}
	return max(1, int64(math.Round(x*float64(unit)))), nil
}

// maxSizeBytes is the largest payload that any server takes.
const maxSizeBytes = 64 << 20

// parseSizes reads payload sizes; k, kb and KiB all mean 1024 bytes.
func parseSizes(text string) ([]int, error) {
	var sizes []int
	for word := range strings.SplitSeq(text, ",") {
		number := strings.TrimSpace(word)
		unit := 1
		for _, suffix := range []struct {
			text string
			unit int
		}{{"kib", 1 << 10}, {"kb", 1 << 10}, {"k", 1 << 10}, {"mib", 1 << 20}, {"mb", 1 << 20}, {"m", 1 << 20}, {"b", 1}} {
			if rest, ok := strings.CutSuffix(strings.ToLower(number), suffix.text); ok {
				number, unit = rest, suffix.unit
				break
			}
		}
		n, err := strconv.Atoi(strings.TrimSpace(number))
		if err != nil || n < 1 || n > maxSizeBytes/unit {
			return nil, fmt.Errorf("%q is no payload size between 1 byte and 64 MiB", word)
		}
		sizes = append(sizes, n*unit)
	}
	return sizes, nil
}
