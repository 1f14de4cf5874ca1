// Package messages is the messages of a stream with file storage: the newest in a memory table, the others below it in
// files. A Body is the jetlog.Messages of such a stream; a Frozen is what a flush makes files of.
package messages
