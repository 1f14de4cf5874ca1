// Package redrive puts dead letters back into the streams that they come from, each once.
//
// A redrive is a job of whoever leads the dead-letter stream. It reads the letters in the order of their sequences, puts some at a
// time into their streams by name (package handover), and deletes them then. A crash in between puts them again, under the same
// numbers, which their streams know.
//
// # What survives
//
// What was asked for, and how far it is, stands in the metadata of a consumer of the dead-letter stream,
// config.RedriveConsumer, which gets no message: it is in the stream's state, so whoever leads next goes on. As long as it is there, a
// redrive runs. Its invariants, with at <= intent:
//
//   - up to at nothing is put again: what is still there of it cannot be put back, or was not meant;
//   - above intent nothing was put yet;
//   - what is between may be in its stream already, and is put again before anything else is.
//
// The place of a letter that is left behind is written down before anything behind it is put. That is what the numbers need: a stream takes
// a letter whose number is below that of the last one for one that it has.
//
// # Numbers
//
// All redrives of a dead-letter stream put under one name, so that other streams have to remember one number of it, however many
// there are. The numbers of a redrive begin with the time of the stream, in nanoseconds, and it does not end before that time is
// behind its last number. So they are larger than those of all before.
package redrive
