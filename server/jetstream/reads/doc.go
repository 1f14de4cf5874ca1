// Package reads answers what is asked about the messages of a stream: one that a request names, several that follow each other,
// the last of each subject, which have gone, how many subjects there are. It changes nothing, and takes from anybody only the
// time of its own goroutine: what goes through many messages lets the stream's commands go on in between.
package reads
