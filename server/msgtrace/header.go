package msgtrace

import (
	"bytes"
	"strings"

	"runnel/headers"
)

// The headers.
const (
	// DestinationHeader names the subject of the report.
	DestinationHeader = "Nats-Trace-Dest"
	// OnlyHeader says that the message is not delivered.
	OnlyHeader = "Nats-Trace-Only"
	// Disabled takes the place of a destination where nobody further on may report to it.
	Disabled = "trace disabled"

	parentHeader = "traceparent"
)

// destinationField is what the header block of a message that asks has in it. It begins with a letter that is rare in
// headers, as searching goes by the first.
var destinationField = []byte(strings.TrimPrefix(DestinationHeader, "Nats-") + ":")

// Mentioned tells whether a header block may ask for a report. It is for every message with headers, and cheap.
func Mentioned(header []byte) bool { return bytes.Contains(header, destinationField) }

// Destination returns the subject for the report that a header block asks for, and whether the message is for that alone.
// It is empty when nobody asks.
func Destination(header []byte) (subject string, only bool) {
	value, ok := headers.Get(header, DestinationHeader)
	value = bytes.TrimSpace(value)
	if !ok || len(value) == 0 || string(value) == Disabled {
		return "", false
	}
	mode, _ := headers.Get(header, OnlyHeader)
	switch strings.ToLower(string(bytes.TrimSpace(mode))) {
	case "1", "true", "on":
		only = true
	}
	return string(value), only
}

// hopHeader numbers the servers that a message comes through, but for the first.
const hopHeader = "Nats-Trace-Hop"

// Onward returns a header block for the server with that number.
func Onward(header []byte, hop string) []byte { return headers.Set(header, hopHeader, hop) }

// hopOf is the number that a header block has for the server that reads it.
func hopOf(header []byte) string {
	value, _ := headers.Get(header, hopHeader)
	return string(bytes.TrimSpace(value))
}

// Sampled tells whether a header block says, as W3C Trace Context has it, that the message is part of a trace that is
// recorded: version, trace, parent and flags in hexadecimal digits, of which the last bit is set.
func Sampled(header []byte) bool {
	for name, value := range headers.All(header) {
		if strings.EqualFold(string(name), parentHeader) {
			return sampled(string(bytes.TrimSpace(value)))
		}
	}
	return false
}

func sampled(parent string) bool {
	lengths := [...]int{2, 32, 16, 2}
	parts := strings.Split(parent, "-")
	if len(parts) != len(lengths) {
		return false
	}
	for i, p := range parts {
		if len(p) != lengths[i] || strings.Trim(p, "0123456789abcdefABCDEF") != "" {
			return false
		}
	}
	flags := parts[3]
	return strings.IndexByte("13579bdfBDF", flags[len(flags)-1]) >= 0
}

// Disable returns a header block that asks nobody further on for a report.
func Disable(header []byte) []byte {
	if !Mentioned(header) {
		return header
	}
	return headers.Set(header, DestinationHeader, Disabled)
}

// shown are the fields of a header block as a report shows them. What is beyond headerShownBytes is left out.
func shown(header []byte) map[string][]string {
	fields := make(map[string][]string)
	room := headerShownBytes
	for name, value := range headers.All(header) {
		if room -= len(name) + len(value); room < 0 {
			break
		}
		fields[string(name)] = append(fields[string(name)], string(value))
	}
	return fields
}

// headerShownBytes bounds what a report keeps of a header, since many may wait to be published.
const headerShownBytes = 64 << 10
