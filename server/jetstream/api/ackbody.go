package api

import (
	"bytes"
	"strings"
	"time"
)

// AckKind is what a client says to a delivery.
type AckKind uint8

// The kinds of answers to a delivery.
const (
	AckDone       AckKind = iota + 1 // it is done with
	AckNak                           // deliver it again
	AckInProgress                    // it takes longer
	AckNext                          // it is done with, and here is a pull request
	AckTerminate                     // never deliver it again
)

// AckBody is the payload of an acknowledgement.
type AckBody struct {
	Kind AckKind
	// Delay is of AckNak: how long to wait before the message is delivered again, 0 for not at all.
	Delay time.Duration
	// Reason is of AckTerminate.
	Reason string
	// Request is of AckNext: the body of the pull request. It is part of the payload.
	Request []byte
}

// ParseAckPayload reads the payload of an acknowledgement. It is not one when it begins with none of the known words.
// A delay that makes no sense counts as none. Only naks with a delay and terminations with a reason allocate.
func ParseAckPayload(payload []byte) (AckBody, bool) {
	switch string(payload) { // does not allocate
	case "", "+ACK", "+OK":
		return AckBody{Kind: AckDone}, true
	case "+WPI":
		return AckBody{Kind: AckInProgress}, true
	}
	if len(payload) < 4 {
		return AckBody{}, false
	}
	rest := bytes.TrimSpace(payload[4:])
	switch string(payload[:4]) {
	case "-NAK":
		return AckBody{Kind: AckNak, Delay: nakDelay(rest)}, true
	case "+NXT":
		return AckBody{Kind: AckNext, Request: rest}, true
	}
	if rest, ok := bytes.CutPrefix(payload, []byte("+TERM")); ok {
		return AckBody{Kind: AckTerminate, Reason: strings.ToValidUTF8(string(bytes.TrimSpace(rest)), "\ufffd")}, true
	}
	return AckBody{}, false
}

// nakDelay reads the delay after a nak: a text as `1m30s`, or an object with nanoseconds.
func nakDelay(text []byte) time.Duration {
	var delay time.Duration
	if len(text) > 0 && text[0] == '{' {
		var body struct {
			Delay time.Duration `json:"delay"`
		}
		if decode(text, &body, false) == nil {
			delay = body.Delay
		}
	} else if len(text) > 0 && len(text) <= maxTextBytes {
		delay, _ = time.ParseDuration(string(text)) // what is none is 0
	}
	return max(delay, 0)
}
