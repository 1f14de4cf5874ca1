package checkpoint

import (
	"slices"
	"sync"

	"runnel/jetlog/layer"
)

// Sent are the files of open checkpoints. The zero value has none. It is safe for concurrent use.
type Sent struct {
	mu    sync.Mutex
	files []*layer.File // one for each use
}

// Add adds files, which the caller keeps open until Remove.
func (s *Sent) Add(files []*layer.File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files = append(s.files, files...)
}

// Remove takes one use of each file back.
func (s *Sent) Remove(files []*layer.File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range files {
		if i := slices.Index(s.files, f); i >= 0 {
			s.files = slices.Delete(s.files, i, i+1)
		}
	}
}

// Open returns a file with an id, nil for none, which the caller has to leave.
func (s *Sent) Open(id string) *layer.File {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		if f.ID.String() == id && f.Enter() == nil {
			return f
		}
	}
	return nil
}
