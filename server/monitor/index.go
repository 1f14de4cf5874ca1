package monitor

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"sync"
)

//go:embed index.html
var indexHTML string

var indexTemplate = sync.OnceValues(func() (*template.Template, error) {
	return template.New("index").Parse(indexHTML)
})

// indexEntry is one link of the index.
type indexEntry struct{ Title, Path string }

// index shows the list of pages.
func (s *site) index(w http.ResponseWriter, _ *http.Request) {
	t, err := indexTemplate()
	if err != nil {
		refuse(w, fmt.Errorf("parse the index: %w", err))
		return
	}
	id := s.pages.source.Identity()
	data := struct {
		Identity
		Base    string
		Entries []indexEntry
	}{Identity: id, Base: s.base}
	for _, r := range routes() {
		data.Entries = append(data.Entries, indexEntry{r.title, r.path})
	}
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		refuse(w, fmt.Errorf("fill the index: %w", err))
		return
	}
	write(w, http.StatusOK, "text/html; charset=utf-8", b.Bytes())
}
