//go:build unix

package logs

import (
	"fmt"
	"log/slog"
	"log/syslog"
	"net/url"
)

// systemLog is a sink that sends to syslog, which adds time, host and process
// id itself.
type systemLog struct{ w *syslog.Writer }

// openSyslog connects to the syslog at a URL, or to the local one for "".
func openSyslog(remote, name string) (sink, error) {
	network, address, err := syslogAddress(remote)
	if err != nil {
		return nil, err
	}
	w, err := syslog.Dial(network, address, syslog.LOG_DAEMON|syslog.LOG_NOTICE, name)
	if err != nil {
		return nil, fmt.Errorf("connect to syslog: %w", err)
	}
	return &systemLog{w}, nil
}

func syslogAddress(remote string) (network, address string, err error) {
	if remote == "" {
		return "", "", nil
	}
	u, err := url.Parse(remote)
	if err != nil {
		return "", "", fmt.Errorf("address of syslog: %w", err)
	}
	if (u.Scheme != "udp" && u.Scheme != "tcp") || u.Port() == "" {
		return "", "", fmt.Errorf("address of syslog %q is not of the form udp://host:port or tcp://host:port", remote)
	}
	return u.Scheme, u.Host, nil
}

func (s *systemLog) bare() bool { return true }

func (s *systemLog) write(level slog.Level, line []byte) error {
	text := string(line)
	switch label(level) {
	case "TRC", "DBG":
		return s.w.Debug(text)
	case "INF":
		return s.w.Info(text)
	case "WRN":
		return s.w.Warning(text)
	case "ERR":
		return s.w.Err(text)
	default:
		return s.w.Crit(text)
	}
}

func (s *systemLog) reopen() error { return nil }

// Close closes the connection to syslog.
func (s *systemLog) Close() error { return s.w.Close() }
