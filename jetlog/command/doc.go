// Package command has everything that can be asked of a stream's state: one type for each kind, and
// the form in which they stand in logs and travel to replicas.
//
// A command is a byte for the version of the form, a byte for the kind, and the fields in the order
// of the type; docs/format/commands.md is the page for it. Kinds and forms are never changed, only
// added, each with the feature level from which it may be proposed.
//
// Times are nanoseconds since 1970 and come from the leader. Nothing here knows what a command does:
// that is Apply in package jetlog.
package command
