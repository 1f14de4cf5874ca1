// Package subjects says what a subject is, what matches what, and how a
// subject is rewritten.
//
// A subject is a sequence of non-empty tokens separated by dots. A pattern is
// a subject whose tokens may be wildcards: `*` stands for exactly one token
// and `>`, only as the last token, for one or more. Both are wildcards only
// when they are the whole token; in `foo*` the star is a letter. The subject of
// a message is always taken literally, so that a message published to `foo.*`
// is matched by the pattern `foo.*` like any other message below `foo`.
//
// The package has the grammar (ValidPattern, Tokens), the relations of two
// patterns (Match, Subset, Overlap), a Tree of patterns that is asked with a
// subject, and Transform, which rewrites subjects.
package subjects
