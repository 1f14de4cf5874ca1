package system

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"runnel/server/monitor"
)

// filter says which servers a request is for. A server that it does not fit stays silent.
type filter struct {
	Name    string   `json:"server_name"` // part of the name, or all of it with Exact
	Cluster string   `json:"cluster"`     // likewise
	Host    string   `json:"host"`        // likewise
	Exact   bool     `json:"exact_match"`
	Tags    []string `json:"tags"` // the server has them all; case does not matter
	Domain  string   `json:"domain"`
}

// readFilter takes the filter out of the body of a request. The error is a RequestError.
func readFilter(body []byte) (filter, error) {
	var f filter
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		return f, nil
	}
	if err := json.Unmarshal(body, &f); err != nil {
		return f, &monitor.RequestError{Code: http.StatusBadRequest, Text: fmt.Sprintf("the request is not valid: %v", err)}
	}
	return f, nil
}

// fits reports whether the server is meant.
func (f *filter) fits(id *monitor.Identity) bool {
	like := func(have, want string) bool {
		if f.Exact {
			return want == "" || have == want
		}
		return strings.Contains(have, want)
	}
	if !like(id.Name, f.Name) || !like(id.Host, f.Host) || !like(id.Cluster, f.Cluster) {
		return false
	}
	if f.Domain != "" && f.Domain != id.Domain {
		return false
	}
	for _, tag := range f.Tags {
		if !slices.ContainsFunc(id.Tags, func(have string) bool { return strings.EqualFold(have, tag) }) {
			return false
		}
	}
	return true
}
