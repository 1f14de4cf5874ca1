package api

import (
	"strconv"
	"strings"
)

// The subjects of the protocol outside of the API. All but those of acknowledgements, flow control and backups are
// published by the server.
const (
	AckPrefix             = "$JS.ACK."
	FlowControlPrefix     = "$JS.FC."
	SnapshotAckPrefix     = "$JS.SNAPSHOT.ACK."
	SnapshotRestorePrefix = "$JS.SNAPSHOT.RESTORE."
)

// AckHeader is the header of a message whose publication acknowledges another one: its value is the subject of that
// acknowledgement.
const AckHeader = "Runnel-Ack"

// The headers of a message that is to be stored later: how long from now, or when.
const (
	DelayHeader     = "Runnel-Delay"
	DeliverAtHeader = "Runnel-Deliver-At"
	DelayedID       = "Runnel-Delayed-Id" // has its id meanwhile; only the server sets it
)

// NoDomain stands for no domain in subjects that always have a token for it.
const NoDomain = "_"

// AckSubject is what the subject for the acknowledgement of a delivery says. The strings are parts of it.
type AckSubject struct {
	// Domain and Account are set by the second form only: the domain without NoDomain, and a hash of the account.
	Domain, Account  string
	Stream, Consumer string
	// Deliveries is how often the message has been delivered to this consumer, this time included.
	Deliveries       uint64
	StreamSequence   uint64
	ConsumerSequence uint64
	// Time is when the message was stored, in nanoseconds since 1970.
	Time int64
	// Pending is how many messages were left for the consumer.
	Pending uint64
}

// AppendAckSubject appends the subject, in the second form if there is a hash of an account. It allocates only to
// grow out.
func AppendAckSubject(out []byte, a *AckSubject) []byte {
	out = append(out, AckPrefix...)
	if a.Account != "" {
		out = append(append(out, orNone(a.Domain)...), '.')
		out = append(append(out, a.Account...), '.')
	}
	out = append(append(out, a.Stream...), '.')
	out = append(append(out, a.Consumer...), '.')
	out = append(strconv.AppendUint(out, a.Deliveries, 10), '.')
	out = append(strconv.AppendUint(out, a.StreamSequence, 10), '.')
	out = append(strconv.AppendUint(out, a.ConsumerSequence, 10), '.')
	out = append(strconv.AppendInt(out, a.Time, 10), '.')
	return strconv.AppendUint(out, a.Pending, 10)
}

// ParseAck returns what the subject of an acknowledgement says: 9 tokens, or at least 11 in the second form, of which
// those after the 11th mean nothing. It does not allocate.
func ParseAck(subject string) (AckSubject, bool) {
	rest, ok := strings.CutPrefix(subject, AckPrefix)
	if !ok {
		return AckSubject{}, false
	}
	var a AckSubject
	var space [9]string
	tokens, ok := formed(space[:split(rest, &space)], 7, &a.Domain, &a.Account)
	if !ok {
		return AckSubject{}, false
	}
	a.Stream, a.Consumer = tokens[0], tokens[1]
	var numbers [5]uint64
	for i := range numbers {
		if numbers[i], ok = parseUint(tokens[i+2]); !ok {
			return AckSubject{}, false
		}
	}
	a.Deliveries, a.StreamSequence, a.ConsumerSequence = numbers[0], numbers[1], numbers[2]
	a.Time, a.Pending = int64(numbers[3]), numbers[4]
	return a, a.Stream != "" && a.Consumer != "" && a.Time >= 0
}

// split sets the first tokens of s, and returns how many there are of those. The last one ends with its token, even if
// more follow.
func split(s string, tokens *[9]string) int {
	n, start := 0, 0
	for i := range len(s) {
		if s[i] != '.' {
			continue
		}
		tokens[n] = s[start:i]
		n, start = n+1, i+1
		if n == len(tokens) {
			return n
		}
	}
	tokens[n] = s[start:]
	return n + 1
}

// formed takes the domain and the hash of the account off the tokens of a subject in the second form, which is told by
// there being at least two more than the others need.
func formed(tokens []string, need int, domain, account *string) ([]string, bool) {
	if len(tokens) < need+2 {
		return tokens, len(tokens) == need
	}
	*domain, *account = tokens[0], tokens[1]
	ok := *domain != "" && *account != ""
	if *domain == NoDomain {
		*domain = ""
	}
	return tokens[2:], ok
}

// maxUint is the largest number in decimal.
const maxUint = "18446744073709551615"

// parseUint reads decimal digits. Unlike strconv it makes no error value, since anybody may send anything.
func parseUint(s string) (uint64, bool) {
	if s == "" || len(s) > len(maxUint) || len(s) == len(maxUint) && s > maxUint {
		return 0, false
	}
	var n uint64
	for i := range len(s) {
		digit := uint64(s[i] - '0')
		if digit > 9 {
			return 0, false
		}
		n = n*10 + digit
	}
	return n, true
}

// orNone returns the token for a domain.
func orNone(domain string) string {
	if domain == "" {
		return NoDomain
	}
	return domain
}

// FlowSubject is what the subject for the answer to flow control says.
type FlowSubject struct {
	Domain, Account  string // as in AckSubject
	Stream, Consumer string
	ID               string // without dots; who answers sends it back
}

// AppendFlowSubject appends the subject, in the second form if there is a hash of an account.
func AppendFlowSubject(out []byte, f *FlowSubject) []byte {
	out = append(out, FlowControlPrefix...)
	if f.Account != "" {
		out = append(append(out, orNone(f.Domain)...), '.')
		out = append(append(out, f.Account...), '.')
	}
	out = append(append(out, f.Stream...), '.')
	out = append(append(out, f.Consumer...), '.')
	return append(out, f.ID...)
}

// ParseFlow returns what the subject of an answer to flow control says: 5 tokens, or at least 7 in the second form.
func ParseFlow(subject string) (FlowSubject, bool) {
	rest, ok := strings.CutPrefix(subject, FlowControlPrefix)
	if !ok {
		return FlowSubject{}, false
	}
	var f FlowSubject
	var space [9]string
	tokens, ok := formed(space[:split(rest, &space)], 3, &f.Domain, &f.Account)
	if !ok {
		return FlowSubject{}, false
	}
	f.Stream, f.Consumer, f.ID = tokens[0], tokens[1], tokens[2]
	return f, f.Stream != "" && f.Consumer != "" && f.ID != ""
}

// SnapshotAckSubject returns the subject on which the receiver of a backup acknowledges a chunk of so many bytes.
func SnapshotAckSubject(stream, id string, chunkBytes, number int) string {
	return SnapshotAckPrefix + stream + "." + id + "." + strconv.Itoa(chunkBytes) + "." + strconv.Itoa(number)
}

// ParseSnapshotAck returns what the subject of such an acknowledgement says.
func ParseSnapshotAck(subject string) (stream, id string, chunkBytes, number int, ok bool) {
	rest, found := strings.CutPrefix(subject, SnapshotAckPrefix)
	if !found || strings.Count(rest, ".") != 3 {
		return "", "", 0, 0, false
	}
	stream, rest, _ = strings.Cut(rest, ".")
	id, rest, _ = strings.Cut(rest, ".")
	size, rest, _ := strings.Cut(rest, ".")
	n, ok1 := parseUint(size)
	i, ok2 := parseUint(rest)
	ok = ok1 && ok2 && n <= 1<<31-1 && i <= 1<<31-1 && stream != "" && id != ""
	if !ok {
		return "", "", 0, 0, false
	}
	return stream, id, int(n), int(i), true
}

// RestoreSubject returns the subject to which the chunks of a backup are sent.
func RestoreSubject(stream, id string) string { return SnapshotRestorePrefix + stream + "." + id }

// ParseRestoreSubject returns what the subject of a restore says.
func ParseRestoreSubject(subject string) (stream, id string, ok bool) {
	rest, ok := strings.CutPrefix(subject, SnapshotRestorePrefix)
	stream, id, cut := strings.Cut(rest, ".")
	if !ok || !cut || stream == "" || id == "" || strings.Contains(id, ".") {
		return "", "", false
	}
	return stream, id, true
}
