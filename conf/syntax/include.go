package syntax

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// include parses the file that an include directive names into m, as if its
// text stood in place of the directive.
func (p *parser) include(m *Value) error {
	lx := p.lx
	if c := lx.peek(); endsValue(c) || c == '(' {
		return lexError(lx.here(), "expected a file name after include, got %s", lx.shown())
	}
	w, err := lx.value()
	if err != nil {
		return err
	}
	path := w.text
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(lx.file), path)
	}
	if ring := slices.Index(p.files, path); ring >= 0 {
		return lexError(w.pos, "include cycle: %s", strings.Join(append(p.files[ring:], path), " includes "))
	}
	if len(p.files) > includeLimit {
		return lexError(w.pos, "include directives are nested deeper than %d files", includeLimit)
	}
	text, err := ReadFile(path)
	if err != nil {
		return lexError(w.pos, "include: %v", err)
	}
	if err := p.file(path, text, m); err != nil {
		p.note(err) // a broken included file does not hide what else is wrong here
	}
	if p.Full() {
		return errTooMany
	}
	return nil
}

// ReadFile reads a file up to the size limit of a config. Reading stops there,
// so that a device file does no harm.
func ReadFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil {
		return nil, err
	} else if st.IsDir() {
		return nil, fmt.Errorf("%s is a folder, not a file", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, sizeLimit+1))
	if err != nil {
		return nil, err
	}
	return text, nil
}
