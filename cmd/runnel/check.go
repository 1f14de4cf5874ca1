package main

import (
	"errors"
	"fmt"
	"io"

	"runnel/conf"
)

// checkConfig is runnel -t: it reads the configuration as a start would, under
// the same flags, and opens nothing. What the server cannot do yet is an error
// here because it is one at the start. Warnings are no obstacle there, but
// count as errors here, as they do for the incumbent: -t is for checks before
// a roll-out.
func checkConfig(c *commandLine, stdout, stderr io.Writer) int {
	if c.configFile == "" {
		return fail(stderr, errors.New("-t checks a config file, name it with -c FILE"))
	}
	o, err := c.options()
	if err != nil {
		return reportConfig(stderr, err)
	}
	problems := append(conf.Errors(nil), conf.Unsupported(o)...)
	problems = append(problems, o.Warnings...)
	if len(problems) > 0 {
		return reportConfig(stderr, problems)
	}
	fmt.Fprintf(stdout, "runnel: configuration file %s is valid (%s)\n", c.configFile, o.Digest)
	return 0
}

// reportConfig writes what is wrong with a configuration, a line for each, in
// the form that editors and people know: file:line:column: text.
func reportConfig(stderr io.Writer, err error) int {
	var all conf.Errors
	if !errors.As(err, &all) {
		return fail(stderr, err)
	}
	for _, e := range all {
		fmt.Fprintln(stderr, e)
	}
	return 1
}
