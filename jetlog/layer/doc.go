// Package layer is what lies below the memory table of a stream: the parts of its messages that no longer change, which
// are files and tables that are being written into one, and what of them has gone since. It answers for all of them
// together what is asked of a stream's messages.
//
// What is known of single subjects on top of what files say are Facts.
//
// Who asks brings an Asker, which says whether a file may be read for the answer; see question.go.
//
// Files and tables may be asked by many at a time. Who changes what has gone, or the list of layers, does so alone.
package layer
