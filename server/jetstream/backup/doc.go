// Package backup reads and writes the portable form of a stream: what the JetStream API sends when
// a stream is backed up, and takes when one is restored. It is the same form that nats-server
// uses, so that a backup of either restores in the other.
//
// A backup is a stream in the S2 format. What is in it begins with the eight bytes `NATSARC1`, and
// goes on with entries:
//
//	uvarint  length of the name
//	varint   time, in nanoseconds since 1970
//	uvarint  sequence
//	uvarint  length of the header block
//	uvarint  length of the payload
//	name, header block, payload
//
// Entries without a sequence describe the stream. The first one is `state.json`, which is followed
// by one `consumers/<name>` for each consumer, in JSON both. Then come the messages in the order of
// their sequences, the subject being the name. What was deleted is missing. The entry after the last is
// all zeros, and nothing follows it. The configuration of the stream is not part of a backup: it travels
// in the request to restore.
//
// Writer writes this form and Reader reads it. Reader also reads what nats-server 2.10 to 2.14
// write, which is a tar archive of the files of their store (see archive.go). A backup
// comes from somewhere else, so nothing in it is believed: lengths are bounded, order is checked, and
// what does not fit is an error that says where.
package backup
