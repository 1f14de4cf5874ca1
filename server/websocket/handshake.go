package websocket

import (
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// acceptGUID is what RFC 6455, section 1.3, mixes into the key of a client.
const acceptGUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

// maxRequestBytes limits the head of an upgrade request. Cookies with a JWT
// take a few KiB.
const maxRequestBytes = 64 << 10

// handler answers upgrade requests.
type handler struct {
	cfg     Config
	origins originList
	codec   *codec
	accept  func(Request)
}

// NewHandler returns a handler that accepts upgrades on any path but those
// that end in /mqtt or /leafnode, and passes each to accept. Its goroutine is
// the one of the HTTP request: accept should start what it needs and return.
// A request that is no proper upgrade is answered with 405 or 400, one from a
// wrong origin with 403. An entry of AllowedOrigins that is no origin matches
// nothing.
func NewHandler(cfg Config, accept func(Request)) http.Handler {
	return &handler{
		cfg:     cfg,
		origins: parseOrigins(cfg.AllowedOrigins),
		codec:   &codec{readLimitBytes: cfg.ReadLimitBytes},
		accept:  accept,
	}
}

// NewServer returns an HTTP server around NewHandler that is fit for a
// listener open to anybody: it speaks HTTP/1.1 only, keeps to the handshake
// timeout and limits the size of a request. The caller serves on it, with a
// TLS listener of its own if there is TLS, and closes it.
func NewServer(cfg Config, accept func(Request)) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true) // HTTP/2 has no upgrade
	return &http.Server{
		Handler:           NewHandler(cfg, accept),
		ReadHeaderTimeout: cfg.HandshakeTimeout,
		MaxHeaderBytes:    maxRequestBytes,
		Protocols:         &protocols,
	}
}

// refusal is an error with the HTTP status that tells it.
type refusal struct {
	status int
	reason string
}

func (r *refusal) Error() string { return "websocket handshake: " + r.reason }

// ServeHTTP upgrades the connection or refuses to.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	req, err := h.upgrade(w, r)
	if err == nil {
		h.accept(req)
		return
	}
	var no *refusal
	if errors.As(err, &no) {
		w.Header().Set("Sec-WebSocket-Version", "13")
		http.Error(w, http.StatusText(no.status), no.status)
	}
	if h.cfg.Rejected != nil {
		h.cfg.Rejected(displayAddr(r), err)
	}
}

// check returns why the request is no upgrade that may be accepted.
func (h *handler) check(r *http.Request) error {
	switch {
	case strings.HasSuffix(r.URL.Path, "/mqtt"):
		return &refusal{http.StatusNotFound, "no MQTT here"}
	case strings.HasSuffix(r.URL.Path, "/leafnode"):
		return &refusal{http.StatusNotFound, "no leaf nodes here"}
	case r.Method != http.MethodGet:
		return &refusal{http.StatusMethodNotAllowed, "method must be GET"}
	case r.Host == "":
		return &refusal{http.StatusBadRequest, "no host"}
	case !hasToken(r.Header, "Upgrade", "websocket"):
		return &refusal{http.StatusBadRequest, "header Upgrade does not ask for websocket"}
	case !hasToken(r.Header, "Connection", "upgrade"):
		return &refusal{http.StatusBadRequest, "header Connection does not ask for an upgrade"}
	case !validKey(r.Header.Get("Sec-WebSocket-Key")):
		return &refusal{http.StatusBadRequest, "header Sec-WebSocket-Key is not 16 bytes in base64"}
	case !hasToken(r.Header, "Sec-WebSocket-Version", "13"):
		return &refusal{http.StatusBadRequest, "only version 13 is spoken"}
	}
	if err := h.checkOrigin(r); err != nil {
		return &refusal{http.StatusForbidden, err.Error()}
	}
	return nil
}

// upgrade takes the connection over from the HTTP server and switches
// protocols.
func (h *handler) upgrade(w http.ResponseWriter, r *http.Request) (Request, error) {
	if err := h.check(r); err != nil {
		return Request{}, err
	}
	sock, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return Request{}, &refusal{http.StatusInternalServerError, err.Error()}
	}
	compressed := h.cfg.Compression && acceptDeflate(r.Header)
	if err := h.respond(sock, r, compressed); err != nil {
		sock.Close()
		return Request{}, fmt.Errorf("websocket handshake: answer: %w", err)
	}
	early := make([]byte, rw.Reader.Buffered())
	if _, err := io.ReadFull(rw.Reader, early); err != nil {
		sock.Close()
		return Request{}, fmt.Errorf("websocket handshake: early data: %w", err)
	}
	return Request{
		Conn:       newConn(sock, h.codec, early, compressed),
		RemoteAddr: displayAddr(r),
		Cookies:    h.cookies(r),
		Compressed: compressed,
		TLS:        r.TLS,
	}, nil
}

// respond writes the response that switches protocols. It leaves the socket
// without deadlines.
func (h *handler) respond(sock net.Conn, r *http.Request, compressed bool) error {
	header := make(http.Header, len(h.cfg.Headers))
	for k, v := range h.cfg.Headers {
		header.Set(k, v)
	}
	var b strings.Builder
	b.WriteString("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n")
	b.WriteString("Sec-WebSocket-Accept: " + acceptKey(r.Header.Get("Sec-WebSocket-Key")) + "\r\n")
	if compressed {
		b.WriteString("Sec-WebSocket-Extensions: " + deflateAnswer + "\r\n")
	}
	_ = header.Write(&b) // a Builder takes everything
	b.WriteString("\r\n")
	if err := sock.SetDeadline(h.deadline()); err != nil {
		return err
	}
	if _, err := io.WriteString(sock, b.String()); err != nil {
		return err
	}
	return sock.SetDeadline(time.Time{})
}

// deadline is when an answer must be out; the zero time for no limit.
func (h *handler) deadline() time.Time {
	if h.cfg.HandshakeTimeout <= 0 {
		return time.Time{}
	}
	return time.Now().Add(h.cfg.HandshakeTimeout)
}

// cookies picks the credentials that the configuration names.
func (h *handler) cookies(r *http.Request) Cookies {
	value := func(name string) string {
		if name == "" {
			return ""
		}
		c, err := r.Cookie(name)
		if err != nil {
			return ""
		}
		return strings.Clone(c.Value)
	}
	return Cookies{
		JWT:      value(h.cfg.JWTCookie),
		User:     value(h.cfg.UserCookie),
		Password: value(h.cfg.PasswordCookie),
		Token:    value(h.cfg.TokenCookie),
	}
}

// displayAddr is the address of the client as a person wants to see it: the
// first of X-Forwarded-For where that is an IP address, with the port of the
// socket.
func displayAddr(r *http.Request) string {
	first, _, _ := strings.Cut(r.Header.Get("X-Forwarded-For"), ",")
	ip, err := netip.ParseAddr(strings.TrimSpace(first))
	if err != nil {
		return r.RemoteAddr
	}
	_, port, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		port = "0"
	}
	return net.JoinHostPort(ip.String(), port)
}

// hasToken reports whether a header that lists words has this one, in any
// case.
func hasToken(h http.Header, name, token string) bool {
	for _, line := range h.Values(name) {
		for word := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(word), token) {
				return true
			}
		}
	}
	return false
}

func validKey(key string) bool {
	b, err := base64.StdEncoding.DecodeString(key)
	return err == nil && len(b) == 16
}

// acceptKey proves to a client that its request was understood.
func acceptKey(key string) string {
	sum := sha1.Sum([]byte(key + acceptGUID))
	return base64.StdEncoding.EncodeToString(sum[:])
}
