package wire

// Error is a violation of the protocol that ends the connection.
type Error struct {
	// Text goes to the client as -ERR '<Text>' before the close; empty means that the connection is
	// closed without a word, which is what clients of this protocol know.
	Text string
	// Detail is for the log.
	Detail string
}

// Error implements error.
func (e *Error) Error() string {
	if e.Detail == "" {
		return e.Text
	}
	return e.Detail
}

// What [Parser.Next] may fail with. The texts are fixed by the protocol: clients compare them.
var (
	// ErrUnknownOperation: bytes that begin no verb, or a payload that does not end in CR LF.
	ErrUnknownOperation = &Error{Text: "Unknown Protocol Operation"}
	// ErrControlLine: the arguments are longer than the limit.
	ErrControlLine = &Error{Text: "maximum control line exceeded"}
	// ErrPayload: the announced size is above the limit, whether or not it fits a number.
	ErrPayload = &Error{Text: "Maximum Payload Violation"}
	// ErrPubArguments: PUB with a wrong number of arguments or a size that is no number.
	ErrPubArguments = &Error{Detail: "malformed PUB: want PUB <subject> [reply] <size>"}
	// ErrHPubArguments: HPUB likewise, or a header longer than the whole.
	ErrHPubArguments = &Error{Detail: "malformed HPUB: want HPUB <subject> [reply] <header size> <total size>"}
	// ErrSubArguments: SUB with a wrong number of arguments.
	ErrSubArguments = &Error{Detail: "malformed SUB: want SUB <subject> [queue] <sid>"}
	// ErrUnsubArguments: UNSUB with a wrong number of arguments or a maximum that is no number.
	ErrUnsubArguments = &Error{Detail: "malformed UNSUB: want UNSUB <sid> [max]"}
)
