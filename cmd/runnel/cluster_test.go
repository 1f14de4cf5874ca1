package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"runnel/cluster/survey"
)

// reporting is a server that answers with a report.
func reporting(t *testing.T, r *survey.Report) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path != "/clusterz" {
			http.Error(w, "nothing here", http.StatusNotFound)
			return
		}
		if err := json.NewEncoder(w).Encode(r); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestClusterStatus runs the command against servers that report all that it can show.
func TestClusterStatus(t *testing.T) {
	well := &survey.Report{
		Cluster: "east", By: "a", MetaLeader: "b", Voters: 3, Quorum: 2, Streams: 12,
		Servers: []survey.Server{
			{Name: "a", Online: true, Voter: true, Streams: 12, Led: 5, StoreBytes: 3 << 20, FreeBytes: 7 << 30, SafeToStop: true},
			{Name: "b", Online: true, Voter: true, Leader: true, Streams: 12, Led: 7, Alone: 1, WhyNot: `stream "S" of account "A" would lose its majority`},
		},
	}
	trouble := *well
	trouble.Troubled = []survey.Stream{{Account: "A", Name: "S", Leader: "b", Trouble: "replica on c cannot be reached"}, {Account: "A", Name: "T", Moving: true}}
	trouble.MoreTroubled, trouble.Silent = 3, []string{"a"}
	unformed := &survey.Report{Cluster: "east", By: "a", Waiting: "1 servers see one another, 3 are expected"}
	leaderless := &survey.Report{Cluster: "east", By: "a", Voters: 3, Quorum: 2}
	for _, tt := range []struct {
		name   string
		report *survey.Report
		args   []string
		code   int
		stdout []string // parts, in their order
		stderr string
	}{
		{
			"well", well, nil, 0, []string{
				"cluster east, as a sees it", "b leads the meta group; 2 of 3 voters are needed",
				"a       follower  12       5      0          3 MiB   7 GiB      yes", "b       leader", "no: stream \"S\"", "streams: 12; not as they should be, or moving: 0",
			}, "",
		},
		{
			"trouble", &trouble, nil, 2, []string{"nothing heard from a", "streams: 12; not as they should be, or moving: 5", "A        S       b       replica on c", "T       -       moves", "and 3 more"}, "",
		},
		{"not formed", unformed, nil, 2, []string{"not formed: 1 servers see one another, 3 are expected"}, ""},
		{"no leader", leaderless, nil, 2, []string{"has no leader: 2 of 3"}, ""},
		{"to be stopped", well, []string{"--stoppable", "a"}, 0, nil, ""},
		{"not to be stopped", well, []string{"--stoppable", "b"}, 2, nil, "runnel: b must not be stopped now: stream \"S\""},
		{"nobody", well, []string{"--stoppable", "z"}, 1, nil, "runnel: the cluster has no server \"z\""},
		{"JSON", well, []string{"--json"}, 0, []string{`"cluster": "east"`, `"safe_to_stop": true`}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			url := reporting(t, tt.report)
			code, stdout, stderr := command(t, append([]string{"cluster", "status", "--url", url + "/clusterz"}, tt.args...)...)
			if code != tt.code || !strings.HasPrefix(stderr, tt.stderr) || (tt.stderr == "") != (stderr == "") {
				t.Errorf("got %d, %q, want %d, %q", code, stderr, tt.code, tt.stderr)
			}
			rest := stdout
			for _, part := range tt.stdout {
				_, after, found := strings.Cut(rest, part)
				if !found {
					t.Fatalf("%q is missing in\n%s", part, stdout)
				}
				rest = after
			}
			if tt.stdout == nil && stdout != "" {
				t.Errorf("got %q, want nothing", stdout)
			}
		})
	}
}

// TestClusterStatusUnknown checks what is said when nothing can be found out, and that the command explains itself.
func TestClusterStatusUnknown(t *testing.T) {
	url := reporting(t, &survey.Report{})
	for _, tt := range []struct{ url, stderr string }{
		{url + "/", "runnel: cluster status: 404 Not Found: nothing here"},
		{"http://[", "runnel: cluster status: parse"},
		{"http://127.0.0.1:1/clusterz", "runnel: cluster status: Get"},
	} {
		code, _, stderr := command(t, "cluster", "status", "--url", tt.url)
		if code != 1 || !strings.HasPrefix(stderr, tt.stderr) {
			t.Errorf("%s: got %d, %q, want 1, %q", tt.url, code, stderr, tt.stderr)
		}
	}
	for _, tt := range []struct {
		args []string
		code int
	}{{[]string{"cluster"}, 1}, {[]string{"cluster", "-h"}, 0}, {[]string{"cluster", "status", "-h"}, 0}, {[]string{"cluster", "dance"}, 1}} {
		if code, _, stderr := command(t, tt.args...); code != tt.code || !strings.Contains(stderr, clusterHelp) {
			t.Errorf("%q: got %d, %q, want %d and help", tt.args, code, stderr, tt.code)
		}
	}
}
