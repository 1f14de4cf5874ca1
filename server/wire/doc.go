// Package wire turns the bytes of the NATS client protocol into frames and back. It knows no socket, no
// account and no clock: a [Parser] is handed a buffer and says what the first complete frame in it is.
//
// # Framing
//
// A control line ends in CR LF (a bare LF is accepted); verbs are case-insensitive; arguments are separated
// by runs of blanks and tabs. PUB and HPUB are followed by a payload that ends in exactly CR LF:
//
//	PUB  <subject> [reply] <total>          CRLF payload CRLF
//	HPUB <subject> [reply] <header> <total> CRLF header block, payload CRLF
//	     |subject| |------------------ tail ------------------------|
//
// A delivery is the same tail behind another prefix ("MSG subject sid "), so the parser hands the tail out
// verbatim and a router copies two byte ranges and formats nothing. Input that is legal but not in the
// canonical form above (tabs, several blanks, leading zeros, bare LF) gets a newly built canonical tail.
//
// # Ownership
//
// The slices of a [Frame] point into the buffer given to [Parser.Next] (or, for a rebuilt tail, into memory
// of their own). They are valid as long as the caller keeps the buffer unchanged.
package wire
