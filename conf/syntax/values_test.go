package syntax_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"runnel/conf/syntax"
)

// values parses text and returns its values as JSON.
func values(name, text string) (string, syntax.Errors) {
	r := &syntax.Report{}
	root := syntax.Parse(r, name, []byte(text))
	b, err := json.Marshal(root.Plain())
	if err != nil {
		r.Fail(syntax.Position{File: name}, "%v", err)
	}
	return string(b), r.Errors.Sorted()
}

// write makes a file in dir with that text and returns its path.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
