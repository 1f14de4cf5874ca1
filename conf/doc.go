// Package conf turns a config file into typed options.
//
// [ParseFile] reads a file in the NATS config language (see the package syntax)
// and decodes it into [Options]; [Defaults] are the options without a file.
// All errors of a file are reported at once, each with its line and column, and
// a mistyped key with the one that was probably meant.
//
// There is one table per block, in the files keys_*.go: what each key is called,
// what it means, whether a reload applies it and where its value goes. Decoding
// walks these tables, and so do [Explain] and [Keys], which tell what a key
// means, and [Diff], which tells what changed between two options. A new key is
// a new row and a new field, and nothing else.
//
// Keys of features that are not built yet decode like all others, and are
// listed by [Unsupported], so that nothing that is asked for is ignored.
package conf

import "runnel/conf/syntax"

// Error is one thing that is wrong, or deserves a warning, in a config file.
// It prints as `file:line:column: text`.
type Error = syntax.Error

// Errors is all that is wrong in a config, sorted by position.
type Errors = syntax.Errors

// Position is a place in a config file.
type Position = syntax.Position
