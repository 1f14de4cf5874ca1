package main

import (
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"runnel/jetlog/dump"
	"runnel/jetlog/rescue"
	"runnel/jetlog/store"
)

const storeHelp = `Usage:
  runnel store check   [--json] DIR
  runnel store salvage --account ACCOUNT --stream STREAM [--out FILE] [--json] DIR
  runnel store salvage --account ACCOUNT --stream STREAM --repair [--json] DIR
  runnel store dump    [--stream STREAM] [--messages] DIR

Looks at the streams in a store directory that no server has open. Nothing in it
is changed, except with --repair.

  check     recovers the store in memory, verifies every checksum and every
            invariant by reading all messages, and adds up what was published
            and what was removed. Exits with 1 if something is wrong.
  salvage   reads what can be read of a damaged stream and writes it, one message
            a line as JSON, and says which sequences are lost. Exits with 1 if
            something is. With --repair it gives up what is damaged instead: the
            stream keeps what can be read, counts the rest as lost, and can be
            opened again. The damaged files are moved to DIR/set-aside.
  dump      writes streams, consumers, and messages too if asked.

Flags:
`

// storeFlags are those of all three commands.
type storeFlags struct {
	json, messages       bool
	repair               bool
	account, stream, out string
	keyFile              string
}

// storeCommand runs "runnel store".
func storeCommand(args []string, stdout, stderr io.Writer) int {
	var f storeFlags
	flags := flag.NewFlagSet("store", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, storeHelp)
		flags.PrintDefaults()
	}
	flags.BoolVar(&f.json, "json", false, "write the result as JSON")
	flags.BoolVar(&f.messages, "messages", false, "dump messages too")
	flags.BoolVar(&f.repair, "repair", false, "give up what is damaged of the stream; copy the directory before")
	flags.StringVar(&f.account, "account", "", "`name` of the stream's account")
	flags.StringVar(&f.stream, "stream", "", "`name` of the stream")
	flags.StringVar(&f.out, "out", "", "`file` for the messages; default is standard output")
	flags.StringVar(&f.keyFile, "key-file", "", "`file` with the key of an encrypted store: 64 hex digits")
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		if err := flags.Parse(args); err != nil {
			return usageCode(err)
		}
		flags.Usage()
		return 2
	}
	if err := flags.Parse(args[1:]); err != nil {
		return usageCode(err)
	}
	if flags.NArg() != 1 {
		flags.Usage()
		return 2
	}
	cfg, err := f.config(flags.Arg(0))
	if err != nil {
		return fail(stderr, err)
	}
	ok := true
	switch args[0] {
	case "check":
		ok, err = checkStore(cfg, f.json, stdout)
	case "salvage":
		if f.repair {
			ok, err = repairStore(cfg, &f, stdout)
			break
		}
		ok, err = salvageStore(cfg, &f, stdout, stderr)
	case "dump":
		err = dump.Write(cfg, stdout, f.stream, f.messages)
	default:
		flags.Usage()
		return 2
	}
	if err != nil {
		return fail(stderr, err)
	}
	if !ok {
		return 1
	}
	return 0
}

// config is how the store is opened: with the key that its files are encrypted with, if there is one. It comes from a file and never from the command line,
// which others on the machine can read.
func (f *storeFlags) config(dir string) (store.Config, error) {
	cfg := store.Config{Dir: dir}
	if f.keyFile == "" {
		return cfg, nil
	}
	text, err := os.ReadFile(f.keyFile)
	if err != nil {
		return cfg, err
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		return cfg, fmt.Errorf("%s: a key is 64 hex digits: %w", f.keyFile, err)
	}
	cfg.Encryption.Key = key
	return cfg, nil
}

// checkStore writes what a check has found; it is false if something is wrong.
func checkStore(cfg store.Config, asJSON bool, w io.Writer) (bool, error) {
	found, err := rescue.Check(cfg)
	if err != nil {
		return false, err
	}
	ok := len(found.Problems) == 0
	if asJSON {
		return ok, writeJSON(w, found)
	}
	fmt.Fprintf(w, "store %s: %d files of %d bytes, %d commands in the log only\n", found.Store, found.Files, found.Bytes, found.Replayed)
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "ACCOUNT\tSTREAM\tFIRST\tLAST\tMESSAGES\tBYTES\tPUBLISHED\tREMOVED\tCONSUMERS\tFILES\tSTATE")
	for _, s := range found.Streams {
		state := "ok"
		if s.Problem != "" {
			state = "DAMAGED"
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\t%d\t%d\t%s\n", s.Account, s.Name, s.First, s.Last, s.Messages, s.Bytes,
			s.Published, reasons(s.Removed), s.Consumers, s.Files, state)
	}
	if err := t.Flush(); err != nil {
		return false, err
	}
	for _, note := range found.Notes {
		fmt.Fprintln(w, "note:", note)
	}
	for _, problem := range found.Problems {
		fmt.Fprintln(w, "problem:", problem)
	}
	if ok {
		fmt.Fprintln(w, "all is well")
	}
	return ok, nil
}

// reasons shows counters of removals in one word.
func reasons(removed map[string]uint64) string {
	var words []string
	for reason, n := range removed {
		words = append(words, fmt.Sprintf("%s:%d", reason, n))
	}
	if len(words) == 0 {
		return "-"
	}
	slices.Sort(words)
	return strings.Join(words, ",")
}

// salvageStore writes what is left of a stream; it is false if something is lost. A file that is there already is never written over: it may be
// what an earlier attempt has saved. Where the messages go to standard output, what is said of them does not.
func salvageStore(cfg store.Config, f *storeFlags, stdout, stderr io.Writer) (ok bool, err error) {
	out := stdout
	if f.out != "" {
		file, err := os.OpenFile(f.out, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return false, err
		}
		defer func() {
			if closed := file.Close(); err == nil {
				err = closed
			}
		}()
		out = file
	}
	result, err := rescue.Salvage(cfg, f.account, f.stream, func(m rescue.Message) error { return writeMessage(out, &m) })
	if err != nil {
		return false, err
	}
	summary := stderr
	if f.out != "" {
		summary = stdout
	}
	return tellSalvaged(result, f.json, summary)
}

// repairStore lets a stream go on with what is left of it; it is false if something is lost. That is counted in the stream from then on, so
// that nobody takes it for one that never had more.
func repairStore(cfg store.Config, f *storeFlags, stdout io.Writer) (ok bool, err error) {
	result, err := rescue.Repair(cfg, f.account, f.stream)
	if err != nil {
		return false, err
	}
	ok, err = tellSalvaged(result, f.json, stdout)
	if err == nil && !f.json {
		_, err = fmt.Fprintf(stdout, "%d messages of %d bytes are counted as lost\n", result.LostMessages, result.LostBytes)
	}
	return ok, err
}

// tellSalvaged writes what is left and what is lost; it is false if something is.
func tellSalvaged(result *rescue.Salvaged, asJSON bool, w io.Writer) (ok bool, err error) {
	ok = len(result.Lost) == 0 && len(result.Damage) == 0
	if asJSON {
		return ok, writeJSON(w, result)
	}
	for _, damage := range result.Damage {
		fmt.Fprintln(w, "damage:", damage)
	}
	for _, r := range result.Lost {
		fmt.Fprintf(w, "lost: sequences %d to %d\n", r.First, r.Last)
	}
	fmt.Fprintf(w, "%d messages\n", result.Messages)
	return ok, nil
}

// writeMessage writes a message as one line; bytes are in base 64, since they may be anything. Lines can be counted, cut and filtered by
// what people have at hand.
func writeMessage(w io.Writer, m *rescue.Message) error {
	b, err := json.Marshal(struct {
		Sequence uint64 `json:"seq"`
		Time     int64  `json:"time_ns"`
		Subject  string `json:"subject"`
		Header   []byte `json:"hdrs,omitempty"`
		Payload  []byte `json:"data,omitempty"`
	}{m.Sequence, m.Time, m.Subject, m.Header, m.Payload})
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// writeJSON writes a value to be read by people too: indented, with a line end behind it.
func writeJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(value)
}
