//go:build linux

package disk_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"runnel/chaos/process"
	"runnel/conf"
)

// TestMain runs the tests, or is a server: the processes of the tests are this program once more.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "-c" {
		fmt.Fprintln(os.Stderr, fake(os.Args[2]))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// fake is a server that writes to the file "a" of its folder, appends and syncs as it is told: one order a line, one answer each.
func fake(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	cfg, err := conf.Parse(file, text)
	if err != nil {
		return err
	}
	dir := cfg.JetStream.StoreDir
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	flags := os.O_CREATE | os.O_APPEND | os.O_WRONLY
	if strings.Contains(string(text), "# synced") {
		flags |= os.O_SYNC
	}
	a, err := os.OpenFile(filepath.Join(dir, "a"), flags, 0o600)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", cfg.Port))
	if err != nil {
		return err
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		fmt.Fprintf(conn, "INFO {\"server_name\":%q}\n", cfg.ServerName)
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			verb, rest, _ := strings.Cut(lines.Text(), " ")
			switch verb {
			case "write":
				_, err = a.WriteString(rest)
			case "sync":
				err = a.Sync()
			case "make":
				err = os.WriteFile(filepath.Join(dir, rest), nil, 0o600)
			}
			fmt.Fprintln(conn, err)
		}
		conn.Close()
	}
}

// start starts a fake server.
func start(t *testing.T, extra string) *process.Server {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s, err := process.New(dir, process.Config{
		Name: "n1", Client: free(t), Monitor: free(t), StoreDir: filepath.Join(dir, "streams"), Extra: extra,
	}, process.Program{Path: path}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Kill() })
	if err := s.Start(soon(t)); err != nil {
		t.Fatal(err)
	}
	return s
}

// free is an address where nobody listens.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// soon ends when a test has waited too long.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// tell gives a fake server orders, and returns its answers.
func tell(t *testing.T, s *process.Server, orders ...string) string {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(soon(t), "tcp", s.Config().Client)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(conn)
	var answers strings.Builder
	for i := range len(orders) + 1 {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			answers.WriteString(line)
		}
		if i < len(orders) {
			fmt.Fprintln(conn, orders[i])
		}
	}
	return answers.String()
}
