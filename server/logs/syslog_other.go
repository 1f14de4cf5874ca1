//go:build !unix

package logs

import "errors"

// openSyslog fails: there is no syslog on this system.
func openSyslog(_, _ string) (sink, error) {
	return nil, errors.New("no syslog on this system, log into a file instead")
}
