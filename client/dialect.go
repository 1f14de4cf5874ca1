package client

import (
	"fmt"
	"regexp"
	"strings"
)

// Dialect is how a database writes what others write otherwise.
type Dialect uint8

// The databases that [Inbox] and [Outbox] know.
const (
	SQLite Dialect = iota
	PostgreSQL
)

// validTable is what a table may be called: its name stands in statements as it is.
var validTable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,50}(\.[A-Za-z_][A-Za-z0-9_]{0,50})?$`)

// tableName returns the name of a table, or of the default.
func tableName(name, otherwise string) (string, error) {
	if name == "" {
		return otherwise, nil
	}
	if !validTable.MatchString(name) {
		return "", fmt.Errorf("%q is no name of a table: letters, digits and _, with a schema before it if need be", name)
	}
	return name, nil
}

// statement returns a statement for the database: with the table for `{}`, the type of bytes for `{bytes}`, that of a number
// which counts up by itself for `{serial}`, and its own form of each `?`.
func (d Dialect) statement(text, table string) string {
	bytes, serial := "BLOB", "INTEGER PRIMARY KEY AUTOINCREMENT"
	if d == PostgreSQL {
		bytes, serial = "BYTEA", "BIGSERIAL PRIMARY KEY"
	}
	text = strings.NewReplacer("{}", table, "{bytes}", bytes, "{serial}", serial).Replace(text)
	if d != PostgreSQL {
		return text
	}
	parts := strings.Split(text, "?")
	var b strings.Builder
	for i, part := range parts[:len(parts)-1] {
		fmt.Fprintf(&b, "%s$%d", part, i+1)
	}
	return b.String() + parts[len(parts)-1]
}
