package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"runnel/conf"
)

const configHelp = `Usage:
  runnel config explain         list all keys of the config file
  runnel config explain KEY     what a key means

Examples:
  runnel config explain max_payload
  runnel config explain websocket
  runnel config explain authorization.users.password
`

// configCommand runs "runnel config".
func configCommand(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("config", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprint(stderr, configHelp) }
	if err := flags.Parse(args); err != nil {
		return usageCode(err)
	}
	args = flags.Args()
	if len(args) == 0 || args[0] != "explain" || len(args) > 2 {
		flags.Usage()
		return 1
	}
	if len(args) == 1 {
		if err := conf.WriteKeys(stdout); err != nil {
			return fail(stderr, err)
		}
		return 0
	}
	return explain(args[1], stdout, stderr)
}

// explain describes one key, and for a block the keys right below it. If it
// knows none, or several, it says which may have been meant.
func explain(name string, stdout, stderr io.Writer) int {
	e, ok := conf.Explain(name)
	if !ok {
		err := fmt.Errorf("no single key is called %q", name)
		if similar := conf.Similar(name); len(similar) > 0 {
			err = fmt.Errorf("%w; perhaps you mean\n  %s", err, strings.Join(similar, "\n  "))
		}
		return fail(stderr, err)
	}
	writeExplanation(stdout, e)
	if e.Block {
		for _, k := range conf.Keys() {
			if below, ok := strings.CutPrefix(k.Key, e.Key+"."); ok && !strings.Contains(below, ".") {
				fmt.Fprintf(stdout, "  %-28s %s\n", below, firstSentence(k.Meaning))
			}
		}
	}
	return 0
}

// writeExplanation writes what is known about a key, without lines that would
// say nothing.
func writeExplanation(w io.Writer, e conf.Explanation) {
	fmt.Fprintf(w, "%s\n%s\n", e.Key, wrapped(e.Meaning))
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "  %-9s%s\n", name+":", value)
		}
	}
	line("also", strings.Join(e.Aliases, ", "))
	line("type", e.Type)
	line("default", e.Default)
	line("reload", e.Reload.String())
	if e.Unsupported {
		line("note", "this version does not support it yet")
	}
	if e.Block {
		fmt.Fprintln(w)
	}
}

// firstSentence is the part of a meaning that a list has room for.
func firstSentence(meaning string) string {
	if first, _, more := strings.Cut(meaning, ". "); more {
		return first + "."
	}
	return meaning
}

// wrapped breaks a meaning into lines that fit a terminal.
func wrapped(meaning string) string {
	const indent, columns = "  ", 80
	var b strings.Builder
	line := indent
	for word := range strings.FieldsSeq(meaning) {
		if line != indent && len(line)+1+len(word) > columns {
			b.WriteString(line + "\n")
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	b.WriteString(line + "\n")
	return b.String()
}

// usageCode is the exit code for an error of flag.Parse, which has been
// reported already.
func usageCode(err error) int {
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	return 1
}
