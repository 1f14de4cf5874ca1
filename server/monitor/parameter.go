package monitor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxBodyBytes bounds a JSON object of parameters. It leaves room for a list of thousands of accounts.
const maxBodyBytes = 1 << 20

// RequestError is an answer to a request that cannot be served: bad parameters, something that does not
// exist. Code is an HTTP status.
type RequestError struct {
	Code int
	Text string
}

// Error returns the text for the person who asked.
func (e *RequestError) Error() string { return e.Text }

func badRequest(format string, args ...any) error {
	return &RequestError{Code: http.StatusBadRequest, Text: fmt.Sprintf(format, args...)}
}

// Parameters is an options type that FromQuery and FromJSON can fill; those of this package are the only
// ones.
type Parameters interface {
	parameters() []parameter
}

// FromQuery fills options from a URL query. Parameters that the page does not know are passed over, of a
// repeated one the first counts. The error names the parameter and what it may be.
func FromQuery(query url.Values, options Parameters) error {
	for _, p := range options.parameters() {
		if p.query == "" || !query.Has(p.query) || query.Get(p.query) == "" {
			continue
		}
		if !p.set(given{text: query.Get(p.query), form: inQuery}) {
			return p.refuse(p.query, query.Get(p.query))
		}
	}
	return nil
}

// FromJSON fills options from a JSON object, such as the body of a $SYS request. An empty body and null
// leave the options as they are, and so does a null member; members that the page does not know are passed
// over. The error says what is wrong with the JSON, or names the member and what it may be.
func FromJSON(body []byte, options Parameters) error {
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		return nil
	}
	if len(body) > maxBodyBytes {
		return badRequest("the request has %d bytes, at most %d are allowed", len(body), maxBodyBytes)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return badRequest("the request is not a JSON object: %v", err)
	}
	for _, p := range options.parameters() {
		raw, ok := members[p.member]
		if !ok || p.member == "" || string(raw) == "null" {
			continue
		}
		if !p.set(jsonGiven(raw)) {
			return p.refuse(p.member, string(raw))
		}
	}
	return nil
}

// parameter binds a parameter, under its name in a URL query and as a JSON member, to the option it sets.
type parameter struct {
	query, member string
	allowed       string           // what it may be, in words
	set           func(given) bool // false when the value is not allowed
}

func (p parameter) refuse(name, value string) error {
	const most = 64
	if len(value) > most {
		value = value[:most] + "..."
	}
	return badRequest("bad value %q for %s: it must be %s", value, name, p.allowed)
}

// form is how a value was written.
type form int

const (
	inQuery     form = iota // text of a URL query, which stands for any type
	jsonString              // JSON string, text is what it says
	jsonLiteral             // JSON number or boolean
	jsonNested              // JSON array or object
)

// given is the value of a parameter.
type given struct {
	text string
	form form
}

func jsonGiven(raw json.RawMessage) given {
	switch raw[0] {
	case '"':
		var text string
		if json.Unmarshal(raw, &text) == nil {
			return given{text: text, form: jsonString}
		}
	case '[', '{':
		return given{text: string(raw), form: jsonNested}
	}
	return given{text: string(raw), form: jsonLiteral}
}

// literal reports whether the value may stand for a number or a boolean.
func (g given) literal() bool { return g.form == inQuery || g.form == jsonLiteral }

// words reports whether the value may stand for a text.
func (g given) words() bool { return g.form == inQuery || g.form == jsonString }

func flag(query, member string, to *bool) parameter {
	return parameter{query, member, "true or false (in a URL also 1 or 0)", func(g given) bool {
		v, err := strconv.ParseBool(g.text)
		*to = v
		return err == nil && (g.form == inQuery || g.form == jsonLiteral && len(g.text) > 1)
	}}
}

// count is a whole number of 64 bits. A negative one is let through: it means the default, as it does in
// nats-server.
func count(query, member string, to *int64) parameter {
	return parameter{query, member, "a whole number up to 9223372036854775807", func(g given) bool {
		v, err := strconv.ParseInt(g.text, 10, 64)
		*to = v
		return err == nil && g.literal()
	}}
}

func identifier(query, member string, to *uint64) parameter {
	return parameter{query, member, "a whole number from 0 to 18446744073709551615", func(g given) bool {
		v, err := strconv.ParseUint(g.text, 10, 64)
		*to = v
		return err == nil && g.literal()
	}}
}

func text(query, member string, to *string) parameter {
	return parameter{query, member, "a text", func(g given) bool {
		*to = g.text
		return g.words()
	}}
}

// pattern is a subject, wildcards allowed as valid says.
func pattern(query, member, allowed string, valid func(string) bool, to *string) parameter {
	return parameter{query, member, allowed, func(g given) bool {
		*to = g.text
		return g.words() && (g.text == "" || valid(g.text))
	}}
}

// list is a JSON array of texts; a URL has no such parameter.
func list(member string, to *[]string) parameter {
	return parameter{"", member, "a list of texts", func(g given) bool {
		return g.form == jsonNested && json.Unmarshal([]byte(g.text), to) == nil
	}}
}

const subsAllowed = "0, 1 or detail"

// setSubs reads the parameter of a URL that is a boolean with a third value.
func setSubs(subs, detail *bool) func(given) bool {
	return func(g given) bool {
		if g.text == "detail" {
			*detail = true
			return true
		}
		v, err := strconv.ParseBool(g.text)
		*subs = v
		return err == nil
	}
}

// oneOf is a choice among words.
func oneOf(query, member string, words []string, to *string) parameter {
	return parameter{query, member, "one of " + strings.Join(words, ", "), func(g given) bool {
		if !g.words() {
			return false
		}
		*to = g.text
		if slices.Contains(words, g.text) {
			return true
		}
		return g.text == ""
	}}
}
