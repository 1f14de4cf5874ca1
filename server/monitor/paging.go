package monitor

const (
	// defaultLimit is the length of a page when the request does not say.
	defaultLimit = 1024
	// maxLimit bounds the length of a page, and so the memory of one answer.
	maxLimit = 65536
)

// paging is a window on a list, both numbers as the answer reports them.
type paging struct {
	Offset int64 `json:"offset"`
	Limit  int64 `json:"limit"`
}

// window makes a paging of what a request asked for: no negative offset, a limit within bounds.
func window(offset, limit int64) paging {
	if limit <= 0 {
		limit = defaultLimit
	}
	return paging{Offset: max(offset, 0), Limit: min(limit, maxLimit)}
}

// cut returns the part of a list that the window shows, empty when it lies beyond the end.
func cut[T any](list []T, w paging) []T {
	n := int64(len(list))
	from := min(w.Offset, n)
	// n-from cannot overflow where from+limit could.
	return list[from : from+min(w.Limit, n-from)]
}
