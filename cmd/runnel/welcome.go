package main

import (
	_ "embed"
	"fmt"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strings"

	"runnel/server"
)

// welcomeText is what a server that was started without a single argument says
// when it is ready. WHERE and DATA stand for where it is and what it keeps.
//
//go:embed welcome.txt
var welcomeText string

// welcome tells a newcomer where to connect, where the data is, and what to try.
func welcome(w io.Writer, ports server.Ports, storeDir string) error {
	data, err := filepath.Abs(storeDir)
	if err != nil {
		data = storeDir // the working directory is gone; the server has the folder open all the same
	}
	text := strings.NewReplacer("WHERE", whereToConnect(ports.NATS), "DATA", data).Replace(welcomeText)
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("welcome: %w", err)
	}
	return nil
}

// whereToConnect names the server as it is called on its own machine, and as
// others may call it. It listens on all addresses, of which urls has those that
// others can use.
func whereToConnect(urls []string) string {
	if len(urls) == 0 {
		return "no port" // clients in this process only
	}
	u, err := url.Parse(urls[0])
	if err != nil {
		return urls[0]
	}
	local := u.Scheme + "://localhost:" + u.Port()
	if ip := net.ParseIP(u.Hostname()); ip != nil && ip.IsLoopback() {
		return local
	}
	return local + ", from elsewhere " + urls[0]
}
