//go:build unix

package process_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"runnel/conf"
)

// versions is what the fake server says of itself, by the name of the file.
var versions = map[string]string{
	"runnel":      "runnel: v1.2.3 (NATS 2.15.2 compatible)",
	"nats-server": "nats-server: v2.15.2",
	"other":       "other: v1.0",
	"empty":       "nats-server: v",
}

// orders are what comments of a config file tell a fake server to do, by their first word:
//
//	# fake exit CODE      it ends at once, and panics before
//	# fake stubborn       it does not end when it is asked to
//	# fake stranger       it is another server for clients
//	# fake ill            it is not healthy
//	# fake linked NAME... it is linked with other servers
//	# fake leader NAME    it knows a leader
//	# fake says TEXT      it logs an error
//	# fake answers A|B    it answers requests of clients, one by one, the last one again; an empty one ends the connection
func orders(text string) map[string]string {
	all := make(map[string]string)
	for line := range strings.Lines(text) {
		if order, ok := strings.CutPrefix(strings.TrimSpace(line), "# fake "); ok {
			name, rest, _ := strings.Cut(order, " ")
			all[name] = rest
		}
	}
	return all
}

// say writes a line as servers log them.
func say(level, format string, args ...any) {
	fmt.Fprintf(os.Stderr, "[%d] 2000/01/01 00:00:00.000000 [%s] %s\n", os.Getpid(), level, fmt.Sprintf(format, args...))
}

// fake is a server that does nothing but start, answer and end.
func fake(file string) int {
	text, err := os.ReadFile(file)
	if err != nil {
		say("FTL", "%v", err)
		return 1
	}
	cfg, err := conf.Parse(file, text)
	if err != nil {
		say("FTL", "%v", err)
		return 1
	}
	order := orders(string(text))
	say("INF", "started with FAKE=%s", os.Getenv("FAKE"))
	if code, ok := order["exit"]; ok {
		fmt.Fprintln(os.Stderr, "panic: as ordered")
		n, _ := strconv.Atoi(code)
		return n
	}
	if text, ok := order["says"]; ok {
		say("ERR", "%s", text)
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGUSR2)
	if err := serve(cfg, order); err != nil {
		say("FTL", "%v", err)
		return 1
	}
	for s := range signals {
		if _, ok := order["stubborn"]; ok {
			say("INF", "%v is ignored", s)
			continue
		}
		say("INF", "ended by %v", s)
		break
	}
	return 0
}

// serve answers who looks at the monitoring, and then clients.
func serve(cfg *conf.Options, order map[string]string) error {
	pages := http.NewServeMux()
	pages.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		if _, ill := order["ill"]; ill {
			http.Error(w, "as ordered", http.StatusServiceUnavailable)
		}
	})
	pages.HandleFunc("/routez", func(w http.ResponseWriter, _ *http.Request) {
		var all []map[string]string
		for name := range strings.FieldsSeq(order["linked"]) {
			all = append(all, map[string]string{"remote_name": name})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"routes": all})
	})
	pages.HandleFunc("/jsz", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"meta_cluster": map[string]string{"leader": order["leader"]}})
	})
	monitor, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", cfg.Monitor.Port))
	if err != nil {
		return err
	}
	go http.Serve(monitor, pages)
	clients, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", cfg.Port))
	if err != nil {
		return err
	}
	name := cfg.ServerName
	if _, other := order["stranger"]; other {
		name = "stranger"
	}
	answers := &answers{list: strings.Split(order["answers"], "|")}
	go func() {
		for {
			conn, err := clients.Accept()
			if err != nil {
				return
			}
			go talk(conn, name, answers)
		}
	}()
	return nil
}

// answers are those to requests.
type answers struct {
	mu   sync.Mutex
	list []string
}

// next is the answer to the next request.
func (a *answers) next() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	answer := a.list[0]
	if len(a.list) > 1 {
		a.list = a.list[1:]
	}
	return answer
}

// talk speaks as much of the protocol as somebody needs who asks one question.
func talk(conn net.Conn, name string, a *answers) {
	defer conn.Close()
	fmt.Fprintf(conn, "INFO {\"server_name\":%q,\"max_payload\":1000,\"proto\":1}\r\n", name)
	sid := ""
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		switch {
		case len(words) == 0:
		case words[0] == "PING":
			fmt.Fprint(conn, "PONG\r\n")
		case words[0] == "SUB":
			sid = words[len(words)-1]
		case words[0] == "PUB" && lines.Scan():
			say("INF", "asked %s %s", words[1], lines.Text())
			answer := a.next()
			if answer == "" {
				return // and the connection is lost
			}
			fmt.Fprintf(conn, "MSG %s %s %d\r\n%s\r\n", words[2], sid, len(answer), answer)
		}
	}
}
