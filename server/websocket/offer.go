package websocket

import (
	"net/http"
	"strings"
)

// deflateAnswer is what the server says when it accepts compression: neither
// side carries a window over from one message to the next.
const deflateAnswer = "permessage-deflate; server_no_context_takeover; client_no_context_takeover"

// acceptDeflate reports whether one of the client's offers can be accepted
// with deflateAnswer.
func acceptDeflate(h http.Header) bool {
	for _, line := range h.Values("Sec-WebSocket-Extensions") {
		for offer := range strings.SplitSeq(line, ",") {
			if acceptable(offer) {
				return true
			}
		}
	}
	return false
}

// acceptable reads one offer (RFC 7692, section 7.1). A limit on the server's
// window cannot be kept, so that an offer with one is left for the next.
func acceptable(offer string) bool {
	name, params, _ := strings.Cut(offer, ";")
	if !strings.EqualFold(strings.TrimSpace(name), "permessage-deflate") {
		return false
	}
	if params == "" {
		return true
	}
	seen := make(map[string]bool)
	for param := range strings.SplitSeq(params, ";") {
		key, value, hasValue := strings.Cut(param, "=")
		key = strings.ToLower(strings.TrimSpace(key))
		if seen[key] {
			return false
		}
		seen[key] = true
		switch key {
		case "server_no_context_takeover", "client_no_context_takeover":
			if hasValue {
				return false
			}
		case "client_max_window_bits": // the inflater takes any window
			if hasValue && !windowBits(value) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// windowBits reports whether a value is a number from 8 to 15.
func windowBits(value string) bool {
	switch strings.Trim(strings.TrimSpace(value), `"`) {
	case "8", "9", "10", "11", "12", "13", "14", "15":
		return true
	}
	return false
}
