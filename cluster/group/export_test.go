package group

// DecodeEnvelope shows what is read of an entry.
func DecodeEnvelope(b []byte) (kind uint8, group, instance, number uint64, records []byte, err error) {
	e, records, err := decodeEnvelope(b)
	return uint8(e.kind), e.group, e.instance, e.number, records, err
}

// EncodeEnvelope writes the head of an entry.
func EncodeEnvelope(k uint8, group, instance, number uint64) []byte {
	return envelope{kind(k), group, instance, number}.append(nil)
}

// DecodeConfiguration reads the members of a place.
func DecodeConfiguration(b []byte) error {
	_, _, err := decodeConfiguration(b)
	return err
}

// QuickConfiguration reads what raft has written of a configuration, if it is as raft writes it today.
var QuickConfiguration = quickConfiguration

// NewRaftLogger is what raft logs to.
var NewRaftLogger = newRaftLogger
