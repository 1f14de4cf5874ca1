// Package headers reads and changes the header block of a message.
//
// A block is a first line, `NATS/1.0`, after which a status code of three digits
// and a description may follow, then a line `Name: Value` for each field and an
// empty line. All lines end with CR LF. Names are compared exactly, upper and
// lower case are different, and may occur several times. Blocks are kept as
// bytes, since most messages pass through unread.
//
// All functions accept arbitrary bytes: what is not a block has no fields and no
// status. None changes its input.
package headers
