package api

// Led returns the stream whose leader alone takes what is sent to a subject of JetStream's: an acknowledgement, or a request for
// messages of a consumer. It is empty for other subjects.
func Led(subject string) string {
	if ack, ok := ParseAck(subject); ok {
		return ack.Stream
	}
	if call, ok := ParseSubject(subject); ok && call.Endpoint == CallConsumerNext {
		return call.Stream
	}
	return ""
}
