package websocket_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"runnel/server/websocket"
)

// Pages of one's own site and of one other may connect.
func ExampleNewHandler_allowedOrigins() {
	s := httptest.NewServer(websocket.NewHandler(websocket.Config{
		AllowedOrigins: []string{"https://shop.example", "https://admin.shop.example:8443"},
	}, func(r websocket.Request) { r.Conn.Close() }))
	defer s.Close()

	fmt.Println("shop: ", status(s.URL, "https://shop.example"))
	fmt.Println("admin:", status(s.URL, "https://admin.shop.example:8443"))
	fmt.Println("other:", status(s.URL, "https://other.example"))
	// Output:
	// shop:  101 Switching Protocols
	// admin: 101 Switching Protocols
	// other: 403 Forbidden
}

// Only pages that came from the server's own host and port may connect;
// programs, which send no Origin, always may.
func ExampleNewHandler_sameOrigin() {
	s := httptest.NewServer(websocket.NewHandler(websocket.Config{SameOrigin: true},
		func(r websocket.Request) { r.Conn.Close() }))
	defer s.Close()

	fmt.Println("own page:  ", status(s.URL, s.URL))
	fmt.Println("other page:", status(s.URL, "https://other.example"))
	fmt.Println("a program: ", status(s.URL, ""))
	// Output:
	// own page:   101 Switching Protocols
	// other page: 403 Forbidden
	// a program:  101 Switching Protocols
}

// status asks for an upgrade as a page of an origin does.
func status(url, origin string) string {
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err.Error()
	}
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "websocket")
	r.Header.Set("Sec-WebSocket-Key", key)
	r.Header.Set("Sec-WebSocket-Version", "13")
	if origin != "" {
		r.Header.Set("Origin", origin)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err.Error()
	}
	resp.Body.Close()
	return resp.Status
}
