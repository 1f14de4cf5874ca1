package conf

import (
	"fmt"
	"os"
	"runtime"

	"runnel/conf/syntax"
)

// exposed returns a warning when a config file with secrets can be read by
// everybody on the machine, nil otherwise.
func exposed(path string, o *Options) *Error {
	if runtime.GOOS == "windows" {
		return nil // there the mode says nothing about who may read
	}
	const othersRead = 0o004
	st, err := os.Stat(path)
	if err != nil || st.Mode().Perm()&othersRead == 0 || !o.hasSecrets() {
		return nil
	}
	return &Error{File: path, Text: fmt.Sprintf("the file holds secrets and everybody may read it; try chmod 600 %s", path)}
}

// hasSecrets reports whether any secret is set that is not a bcrypt hash.
func (o *Options) hasSecrets() bool {
	found := false
	walkKeys(serverKeys, o, "", ReloadNo, func(l leaf) {
		if s, ok := l.slot.(secretSlot); ok && s.show() != "" && !syntax.IsPasswordHash(s.show()) {
			found = true
		}
	})
	return found
}
