package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"runnel/conf"
	"runnel/server"
)

// checkConfig is runnel -t: it reads the configuration as a start would, under
// the same flags, and opens nothing. What the server cannot do yet is an error
// here because it is one at the start, and so is a certificate that cannot be
// read. Warnings are shown; only those about forms that are going away count as
// errors, as they do for the incumbent.
func checkConfig(c *commandLine, stdout, stderr io.Writer) int {
	if c.configFile == "" {
		return fail(stderr, errors.New("-t checks a config file, name it with -c FILE"))
	}
	o, err := c.options()
	if err != nil {
		return reportConfig(stderr, err)
	}
	problems := append(conf.Errors(nil), conf.Unsupported(o)...)
	for _, w := range o.Warnings {
		if w.Deprecated {
			problems = append(problems, w)
		} else {
			fmt.Fprintf(stderr, "%s (warning)\n", w.Error())
		}
	}
	if len(problems) > 0 {
		return reportConfig(stderr, problems)
	}
	if err := server.Check(o); err != nil {
		return fail(stderr, fmt.Errorf("%s: %w", c.configFile, err))
	}
	if err := checkStoreDir(o); err != nil {
		return fail(stderr, fmt.Errorf("%s: %w", c.configFile, err))
	}
	fmt.Fprintf(stdout, "runnel: configuration file %s is valid (%s)\n", c.configFile, o.Digest)
	return 0
}

// checkStoreDir looks whether the folder of the streams can be one. It makes
// nothing: that the folder is missing is fine, the start will make it.
func checkStoreDir(o *conf.Options) error {
	if o.JetStream == nil || !o.JetStream.Enabled {
		return nil
	}
	dir := o.JetStream.StoreDir
	st, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("jetstream.store_dir: %w", err)
	case !st.IsDir():
		return fmt.Errorf("jetstream.store_dir: %s is not a folder", dir)
	}
	return nil
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
