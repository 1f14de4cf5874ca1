package resolver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// URL asks a web server: a GET of its base followed by the name of the account answers with the JWT.
type URL struct {
	base   string
	client *http.Client
}

// idleConnections are kept for the next account.
const idleConnections = 10

// NewURL makes a resolver. base ends where the name goes, mostly with a slash. timeout bounds one request. config
// secures https, nil for the usual.
func NewURL(base string, timeout time.Duration, config *tls.Config) (*URL, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("resolver: %q is not a http or https URL", redact(base))
	}
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		TLSClientConfig:     config,
		MaxIdleConns:        idleConnections,
		MaxIdleConnsPerHost: idleConnections,
		IdleConnTimeout:     time.Minute,
		ForceAttemptHTTP2:   true,
	}
	return &URL{base: base, client: &http.Client{Timeout: timeout, Transport: transport}}, nil
}

// Check asks for the base itself, which tells a wrong URL from an account that is not there.
func (u *URL) Check(ctx context.Context) error {
	_, err := u.get(ctx, "")
	return err
}

// Fetch implements Resolver.
func (u *URL) Fetch(ctx context.Context, account string) (string, error) {
	if !validName(account) {
		return "", ErrName
	}
	return u.get(ctx, account)
}

// Close ends the connections that are kept.
func (u *URL) Close() { u.client.CloseIdleConnections() }

// get asks for the base and what follows it.
func (u *URL) get(ctx context.Context, name string) (string, error) {
	where := redact(u.base) + name
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.base+name, nil)
	if err != nil {
		return "", fmt.Errorf("resolver: %s is not a URL", where)
	}
	answer, err := u.client.Do(request)
	if err != nil {
		return "", fmt.Errorf("resolver: fetch %s: %w", where, unwrap(err))
	}
	defer func() { _ = answer.Body.Close() }() // it was read
	body, err := io.ReadAll(io.LimitReader(answer.Body, MaxTokenBytes+1))
	switch {
	case answer.StatusCode == http.StatusNotFound && name != "":
		return "", ErrNotFound
	case answer.StatusCode != http.StatusOK:
		return "", fmt.Errorf("resolver: fetch %s: status %d", where, answer.StatusCode)
	case err != nil:
		return "", fmt.Errorf("resolver: read %s: %w", where, err)
	case len(body) > MaxTokenBytes:
		return "", fmt.Errorf("resolver: %s answers with more than %d bytes", where, MaxTokenBytes)
	}
	return strings.TrimSpace(string(body)), nil
}

// unwrap is the reason alone: around it, the HTTP client repeats the URL with what may be secret in it.
func unwrap(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// redact hides a password and a query in a URL.
func redact(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "[URL]"
	}
	if u.RawQuery != "" {
		u.RawQuery = "[REDACTED]"
	}
	return u.Redacted()
}
