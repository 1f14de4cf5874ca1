package conf_test

import (
	"fmt"

	"runnel/conf"
)

func ExampleParse() {
	o, err := conf.Parse("server.conf", []byte(`
		listen: localhost:4333
		max_payload: 64KB
		authorization { token: $2a$11$PWIFAL8RsWyGI3jVZtO9Nu8.6jOxzxfZo7c/W0eLk017hjgUKWrhy }
	`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(o.Host, o.Port, o.Limits.MaxPayloadBytes)
	// Output: localhost 4333 65536
}

func ExampleParse_errors() {
	_, err := conf.Parse("server.conf", []byte("prot: 4222\nping_interval: often\nwebsocket {\n  port: 80\n}"))
	fmt.Println(err)
	// Output:
	// server.conf:1:1: unknown key "prot"; did you mean "port"?
	// server.conf:2:16: ping_interval: expected a duration like "30s" or "2m", got string "often"
	// server.conf:3:1: websocket: it needs a tls block, or no_tls: true
}

func ExampleDiff() {
	before, _ := conf.Parse("server.conf", []byte("port: 4222, debug: false"))
	after, _ := conf.Parse("server.conf", []byte("port: 4333, debug: true"))
	for _, c := range conf.Diff(before, after) {
		fmt.Println(c, c.Reloadable)
	}
	// Output:
	// port: old="4222", new="4333" false
	// debug: old="false", new="true" true
}

func ExampleExplain() {
	e, ok := conf.Explain("websocket.no_tls")
	fmt.Println(ok, e.Type, e.Default)
	fmt.Println(e.Meaning)
	fmt.Println("applied by a reload:", e.Reload)
	// Output:
	// true boolean false
	// Serve ws:// without TLS, which is required otherwise.
	// applied by a reload: no
}
