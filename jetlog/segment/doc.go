// Package segment reads and writes segment files: messages of streams and facts about them, written
// once, synced, and never changed.
//
// A file holds, per stream, blocks of messages in the order of their sequences, and a dictionary of
// their subjects; and after all of these, tables of facts. docs/format/segment.md draws every byte:
//
//	header | stream 1: blocks, dictionary | stream 2: ... | fact tables | footer | trailer
//
// Everything between header and trailer is a chunk with a checksum of its own, which covers the
// file's id and the place in the file as well; chunks may be compressed, and sealed with a key. What is
// damaged is reported as a Corruption that names the file, the offset, the stream and the sequences.
// It is never skipped and never answered around.
//
// Open reads the footer alone. In memory it keeps 48 bytes for each block of about 64 KiB, and
// of what is asked for subjects and facts, once it was asked: filters of 10 bits a subject, token or fact
// and the first key of each page. All else is read when needed; a Cache, which many segments share,
// keeps what was read.
//
// The package knows neither streams nor the rules of limits: the numbers it stores are its caller's.
package segment
