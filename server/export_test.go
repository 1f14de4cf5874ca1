package server

// StoreFailed lets the server act as if its store had told that the disk has failed.
func (s *Server) StoreFailed(err error) { s.storeFailed(err) }
