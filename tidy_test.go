// Package runnel_test checks the house: who may import whom, how large things may grow, and the few
// habits that a machine can see. The reasons are in CONTRIBUTING.md and ARCHITECTURE.md; the tables
// are here. A finding names the file and the line, what it found and what the limit is.
package runnel_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// layer is one row of the import table: a package and what its production code may import besides
// the standard library.
type layer struct {
	pkg  string
	ours string // packages of this module; a row above may import rows below, never the reverse
	libs string // libraries, by import path prefix
}

const (
	compress  = "github.com/klauspost/compress"
	crypto    = "golang.org/x/crypto"
	hdr       = "github.com/HdrHistogram/hdrhistogram-go"
	nuid      = "github.com/nats-io/nuid"
	natsgo    = "github.com/nats-io/nats.go"
	natsjwt   = "github.com/nats-io/jwt/v2"
	nkeys     = "github.com/nats-io/nkeys"
	porcupine = "github.com/anishathalye/porcupine"
	hclog     = "github.com/hashicorp/go-hclog"
	raft      = "github.com/hashicorp/raft"
	raftbolt  = "github.com/hashicorp/raft-boltdb"
	bbolt     = "go.etcd.io/bbolt"
	metrics   = "github.com/prometheus/client_golang github.com/prometheus/client_model"
	ws        = "github.com/coder/websocket"
	xsys      = "golang.org/x/sys"
	xterm     = "golang.org/x/term"
)

// layers is the architecture as a table, from the ground up. A package that is not in it does not
// exist: put it in its row first. The rows of the later parts (streams, clusters) stand here already.
var layers = []layer{
	// 0: know nothing of ours.
	{"subjects", "", ""},
	{"conf/syntax", "", ""},
	{"conf/spelling", "", ""},
	{"conf/nkey", "", ""},
	{"conf", "subjects conf/nkey conf/spelling conf/syntax", ""},
	{"headers", "", ""},
	{"jetlog/vfs", "", xsys},
	// 1: streams on disk.
	{"jetlog/wal", "jetlog/vfs", ""},
	{"jetlog/codec", "", ""},
	{"jetlog/setting", "", ""},
	{"jetlog/retry", "jetlog/setting", ""},
	{"jetlog/breaker", "jetlog/setting", ""},
	{"jetlog/document", "", ""},
	{"jetlog/content", "headers jetlog/document", ""},
	{"jetlog/keyed", "headers jetlog/document", ""},
	{"jetlog/passed", "jetlog/codec", ""},
	{"jetlog/config", "subjects jetlog/breaker jetlog/retry jetlog/content jetlog/keyed", ""},
	{"jetlog/causes", "jetlog/codec", ""},
	{"jetlog/producers", "jetlog/codec", ""},
	{"jetlog/command", "jetlog/causes jetlog/codec jetlog/config jetlog/producers", ""},
	{"jetlog/schedule", "headers", ""},
	{"jetlog/origin", "jetlog/codec", ""},
	{"jetlog/deadlines", "", ""},
	{"jetlog/notes", "", ""},
	{"jetlog/letters", "jetlog/codec", ""},
	{"jetlog/counter", "", ""},
	{"jetlog/sum", "", ""},
	{"jetlog/interest", "subjects", ""},
	{"jetlog/lasts", "", ""},
	{"jetlog/deliveries", "jetlog/codec jetlog/deadlines jetlog/notes", ""},
	{"jetlog/body", "subjects jetlog/codec jetlog/config", ""},
	{"jetlog/due", "jetlog/body jetlog/codec jetlog/command jetlog/schedule", ""},
	{"jetlog/terms", "headers jetlog/config jetlog/body jetlog/producers", ""},
	{"jetlog", "subjects headers jetlog/causes jetlog/codec jetlog/config jetlog/command jetlog/body jetlog/schedule jetlog/origin jetlog/producers jetlog/deadlines jetlog/deliveries jetlog/counter jetlog/due jetlog/interest jetlog/lasts jetlog/letters jetlog/passed jetlog/retry jetlog/sum jetlog/terms", ""},
	{"jetlog/segment", "subjects jetlog/vfs", compress + "/s2 " + crypto},
	{"jetlog/seal", "jetlog/segment", crypto},
	{"jetlog/findings", "jetlog/segment jetlog/wal", ""},
	{"jetlog/shadow", "jetlog/vfs", ""},
	{"jetlog/manifest", "jetlog/vfs jetlog/codec jetlog/segment jetlog/seal", ""},
	{"jetlog/gone", "jetlog/manifest", ""},
	{"jetlog/layer", "subjects jetlog/vfs jetlog/manifest jetlog/segment jetlog/gone jetlog", ""},
	{"jetlog/order", "", ""},
	{"jetlog/compaction", "jetlog/segment jetlog/manifest jetlog/gone jetlog/layer jetlog/order", ""},
	{"jetlog/reserve", "jetlog/vfs", ""},
	{"jetlog/siphash", "", ""},
	{"jetlog/messages", "jetlog/manifest jetlog/gone jetlog/layer jetlog/order jetlog/segment jetlog/siphash jetlog", ""},
	{"jetlog/entries", "jetlog/codec jetlog/wal", ""},
	{"jetlog/checkpoint", "jetlog/vfs jetlog/codec jetlog/segment jetlog/manifest jetlog/layer", ""},
	{"jetlog/progress", "", ""},
	{"jetlog/layout", "jetlog/vfs jetlog/manifest", ""},
	{
		"jetlog/store",
		"subjects headers jetlog/vfs jetlog/wal jetlog/seal jetlog/shadow jetlog/manifest jetlog/gone jetlog/layer jetlog/order jetlog/compaction jetlog/reserve jetlog/siphash jetlog/messages jetlog/entries jetlog/checkpoint jetlog/progress jetlog/layout jetlog/findings " +
			"jetlog/codec jetlog/config jetlog/command jetlog/body jetlog jetlog/segment", crypto,
	},
	{"jetlog/rescue", "jetlog jetlog/siphash jetlog/segment jetlog/manifest jetlog/gone jetlog/layer jetlog/messages jetlog/config jetlog/store", ""},
	{"jetlog/dump", "jetlog jetlog/vfs jetlog/config jetlog/command jetlog/store", ""},
	// 2: the parts of a server, each alone.
	{"server/wire", "subjects headers", ""},
	{"server/accounts", "subjects", nkeys + " " + crypto},
	{"server/operator", "subjects server/accounts", natsjwt + " " + nkeys},
	{"server/callout", "headers server/wire", natsjwt + " " + nkeys},
	{"server/preamble", "", ""},
	{"server/deadlines", "", ""},
	{"server/operator/resolver", "", ""},
	{"server/operator/requests", "server/operator server/operator/resolver", ""},
	{"server/jetstream/api", "subjects headers jetlog/config", ""},
	{"server/jetstream/claims", "", ""},
	{"server/jetstream/quota", "jetlog/config server/jetstream/api", ""},
	{"server/jetstream/clustered", "subjects jetlog/config server/jetstream/api server/jetstream/quota", ""},
	{"server/jetstream/reads", "subjects jetlog jetlog/body server/jetstream/api", ""},
	{"server/jetstream/lanes", "", ""},
	{"server/jetstream/overload", "", ""},
	{"server/jetstream/clock", "", ""},
	{"server/jetstream/pace", "", ""},
	{"server/jetstream/lazily", "", ""},
	{"server/jetstream/chore", "", ""},
	{"server/jetstream/alarm", "", ""},
	{"cluster/survey", "", ""},
	{"server/memory", "", ""},
	{"server/monitor", "subjects server/memory jetlog/config cluster/survey server/jetstream/api", metrics},
	{"server/websocket", "", compress + " " + ws},
	{"server/logs", "", ""},
	{"cluster/mesh", "", compress + "/s2"},
	{"cluster/transport", "cluster/mesh", raft},
	{"cluster/applying", "", ""},
	{"cluster/group", "cluster/applying jetlog/entries", raft + " " + hclog},
	{"cluster/transport/transporttest", "cluster/mesh cluster/transport", ""},
	{"cluster/meta/state", "subjects jetlog/config", ""},
	{"cluster/meta/metatest", "", raft},
	{"cluster/meta/ledger", "jetlog/vfs", raft + " " + raftbolt + " " + bbolt},
	{"cluster/meta", "cluster/applying jetlog/vfs jetlog/config cluster/meta/state cluster/meta/ledger", raft},
	{"cluster/replicas", "cluster/group cluster/meta cluster/meta/state cluster/transport jetlog jetlog/checkpoint jetlog/command jetlog/config jetlog/entries jetlog/store", ""},
	{
		"cluster",
		"subjects headers jetlog/vfs jetlog/wal jetlog/codec jetlog/config jetlog/command jetlog jetlog/segment jetlog/store",
		raft + " " + raftbolt,
	},
	// 3: connections, match cache, routing, outbound, two transports.
	{"server/msgtrace", "headers", ""},
	{"server/engine/chunks", "", ""},
	{"server/engine/outbound", "server/engine/chunks", ""},
	{"server/engine/sockets", "", xsys},
	{"server/engine/lines", "server/engine/chunks server/engine/sockets server/engine/outbound", ""},
	{"server/engine/intern", "", ""},
	{"server/engine/pulse", "", ""},
	{"server/engine/replies", "", ""},
	{"server/engine/reserved", "headers server/engine/replies", ""},
	{"server/engine/latency", "headers", nuid},
	{"server/engine/interest", "subjects server/accounts", ""},
	{"server/engine/frames", "", ""},
	{"server/engine/demand", "server/accounts", ""},
	{"server/engine/peers", "subjects server/accounts", ""},
	{"server/engine", "subjects headers cluster/mesh server/wire server/accounts server/monitor server/websocket server/logs server/msgtrace server/engine/chunks server/engine/replies server/engine/reserved server/engine/latency server/engine/interest server/engine/intern server/engine/sockets server/engine/outbound server/engine/lines server/engine/frames server/engine/demand server/engine/peers server/engine/pulse", ""},
	// 4: services on the bus.
	{"server/system", "subjects headers cluster/survey server/wire server/accounts server/monitor server/logs server/msgtrace server/engine", compress + "/s2"},
	{"server/jetstream/backup", "subjects headers jetlog/config jetlog/command jetlog jetlog/body jetlog/producers", compress + "/s2"},
	{"server/jetstream/rebuild", "jetlog/config jetlog/command jetlog jetlog/due jetlog/producers server/jetstream/api server/jetstream/backup", ""},
	{"server/jetstream/directory", "subjects jetlog/config server/jetstream/api server/jetstream/clustered server/jetstream/quota server/jetstream/rebuild", ""},
	{
		"server/jetstream/ingest",
		"subjects headers jetlog/causes jetlog/config jetlog/content jetlog/command jetlog jetlog/body jetlog/due jetlog/schedule jetlog/store server/accounts server/msgtrace server/jetstream/api", "",
	},
	{"server/jetstream/receipts", "jetlog jetlog/causes jetlog/command jetlog/config server/jetstream/api server/jetstream/chore server/jetstream/clustered server/jetstream/ingest", ""},
	{"server/jetstream/handover", "jetlog/config jetlog/command server/accounts server/jetstream/api server/jetstream/clustered server/jetstream/ingest", ""},
	{"server/jetstream/delivery/ahead", "headers server/jetstream/api jetlog/config jetlog/command jetlog/content jetlog/keyed jetlog", ""},
	{"server/jetstream/delivery", "subjects headers jetlog/breaker jetlog/config jetlog/command jetlog/body jetlog jetlog/letters jetlog/entries jetlog/store server/accounts server/jetstream/api server/jetstream/clock server/jetstream/delivery/ahead server/jetstream/pace", ""},
	{"server/jetstream/deadletters", "headers jetlog/config jetlog/command jetlog/letters jetlog server/jetstream/api server/jetstream/chore server/jetstream/handover", ""},
	{"server/jetstream/shown", "jetlog jetlog/command jetlog/config server/jetstream/api server/jetstream/delivery", ""},
	{"server/jetstream/due", "jetlog jetlog/due jetlog/command jetlog/config server/jetstream/alarm server/jetstream/clock", ""},
	{"server/jetstream/redrive", "subjects headers jetlog jetlog/letters jetlog/command jetlog/config server/jetstream/api server/jetstream/chore server/jetstream/handover", ""},
	{"server/jetstream/own", "jetlog jetlog/command jetlog/config jetlog/store server/accounts server/jetstream/api server/jetstream/clustered server/jetstream/delivery server/jetstream/redrive", ""},
	{"server/jetstream/delays", "subjects headers jetlog jetlog/command jetlog/config server/accounts server/jetstream/api server/jetstream/delivery server/jetstream/handover server/jetstream/own", nuid},
	{"server/jetstream/lag", "jetlog jetlog/config server/jetstream/api server/jetstream/delivery server/jetstream/own server/jetstream/reads", ""},
	{"server/jetstream/dlq", "headers jetlog jetlog/config server/jetstream/api server/jetstream/own server/jetstream/redrive", ""},
	{"server/jetstream/explain", "subjects jetlog jetlog/config server/jetstream/api server/jetstream/clustered server/jetstream/delivery server/jetstream/lag server/jetstream/own", ""},
	{"server/jetstream/producers", "jetlog jetlog/command jetlog/producers server/jetstream/api server/jetstream/own", ""},
	{"server/jetstream/keys", "jetlog jetlog/config server/jetstream/api server/jetstream/delivery server/jetstream/own", ""},
	{"server/jetstream/events", "jetlog server/accounts server/engine server/jetstream/api server/jetstream/clustered server/jetstream/delivery", nuid},
	{"server/jetstream/sourcing", "subjects headers jetlog/config jetlog/content jetlog/command jetlog jetlog/body jetlog/origin server/accounts server/engine server/jetstream/api", nuid},
	{"server/jetstream/relay", "headers server/accounts server/engine server/jetstream/api server/jetstream/clustered", ""},
	{"server/jetstream/transfer", "headers server/accounts server/engine server/jetstream/api", ""},
	{
		"server/jetstream",
		"subjects headers jetlog/causes jetlog/config jetlog/command jetlog/body jetlog/entries jetlog jetlog/store server/wire server/accounts server/engine " +
			"server/jetstream/api server/jetstream/backup server/jetstream/claims server/jetstream/clock server/jetstream/clustered server/jetstream/delays server/jetstream/directory server/jetstream/due server/jetstream/ingest server/jetstream/deadletters server/jetstream/delivery server/jetstream/dlq server/jetstream/events server/jetstream/explain server/jetstream/lag server/jetstream/keys server/jetstream/handover server/jetstream/own server/jetstream/lanes server/jetstream/lazily server/jetstream/overload server/jetstream/producers server/jetstream/quota server/jetstream/reads server/jetstream/rebuild server/jetstream/receipts server/jetstream/redrive server/jetstream/relay server/jetstream/shown server/jetstream/sourcing server/jetstream/transfer",
		nuid,
	},
	// 5: composes what lies below.
	{"server/sharing", "conf server/accounts", ""},
	{"server/handshake", "conf server/wire", ""},
	{"server/watchdog", "", ""},
	{"server/descriptors", "", ""},
	{"server/errands", "", ""},
	{"server/allowance", "conf server/operator server/jetstream/quota", ""},
	{"server/capacity", "conf jetlog/store jetlog/vfs server/memory", ""},
	{"server/storage", "conf jetlog/seal jetlog/segment jetlog/store jetlog/wal server/capacity server/jetstream server/jetstream/ingest server/memory", ""},
	{"server/replication/leaders", "", ""},
	{
		"server/replication",
		"jetlog/config jetlog/store jetlog/vfs cluster/group cluster/mesh cluster/meta cluster/meta/state cluster/replicas cluster/survey cluster/transport " +
			"server/jetstream/api server/jetstream/clustered server/replication/leaders",
		raft,
	},
	{"server/replication/shown", "cluster/group cluster/meta/state server/jetstream/clustered server/monitor server/replication", ""},
	{"server/membership", "cluster/mesh", ""},
	{"server/clustering", "conf cluster/mesh server/membership", crypto},
	{
		"server",
		"subjects headers conf jetlog/vfs jetlog jetlog/command jetlog/seal jetlog/segment jetlog/wal jetlog/store cluster server/wire server/accounts server/monitor server/websocket " +
			"server/logs server/msgtrace server/engine server/system server/jetstream server/jetstream/api server/jetstream/ingest server/callout server/deadlines server/preamble server/operator server/operator/requests server/operator/resolver server/sharing cluster/mesh cluster/meta cluster/meta/state cluster/replicas cluster/survey cluster/transport server/handshake server/membership server/clustering server/jetstream/clustered server/replication server/replication/shown server/watchdog server/descriptors server/capacity server/memory server/storage server/errands server/allowance server/jetstream/quota",
		nkeys,
	},
	{"server/servertest", "conf server", natsgo},
	{"chaos/network", "", ""},
	{"chaos/process", "chaos/network", natsgo},
	{"chaos/process/processtest", "chaos/process", ""},
	{"cluster/rigtest", "chaos/network chaos/process chaos/process/processtest", natsgo},
	// 6: thin mains, and what knows a server only over the wire.
	{"bench/verify", "", ""},
	{"bench", "bench/verify", natsgo + " " + hdr},
	{"chaos/powercut", "conf jetlog/store jetlog/vfs cluster/meta cluster/meta/metatest server chaos/network", raft},
	{"chaos/history", "", ""},
	{"chaos/disk", "chaos/process", ""},
	{"chaos/fault", "chaos/disk chaos/history chaos/process", natsgo},
	{"chaos/check", "chaos/history", porcupine},
	{"chaos/workload", "chaos/history", natsgo},
	{"chaos/report", "chaos/history chaos/check", ""},
	{"chaos/soak", "chaos/disk chaos/process", natsgo},
	{"chaos/judge", "chaos/check chaos/history chaos/workload", ""},
	{"chaos", "chaos/check chaos/disk chaos/fault chaos/history chaos/judge chaos/process chaos/report chaos/workload", natsgo},
	{"client", "", natsgo},
	{"client/documenttest", "server/servertest", ""},
	{"client/sqltest", "client client/documenttest", natsgo + " github.com/jackc/pgx/v5 modernc.org/sqlite"}, // a module of its own
	{"cmd/runnel", "chaos chaos/fault chaos/process chaos/report chaos/soak chaos/workload conf cluster/survey jetlog/dump jetlog/rescue jetlog/store server/logs server server/memory bench client", natsgo + " " + xsys + " " + xterm},
	{".ci/ratchet", "", ""},
	{".", "", ""},
}

// testMay is what the tests of every package may import besides the package's own row.
const testMay = "client/documenttest cluster/rigtest subjects headers conf jetlog/vfs jetlog/store jetlog/rescue server server/servertest cluster/transport/transporttest cluster/meta/metatest chaos/history chaos/check chaos/judge chaos/network chaos/process/processtest"

// Limits. The aims are lower and stand in CONTRIBUTING.md.
const (
	fileLines         = 800
	testFileLines     = 1200
	funcLines         = 70
	funcLinesExcepted = 120
	nestingLevels     = 5
	structFields      = 30
	bareUnlocks       = 2
	packageLines      = 5000
	documentedPercent = 95
	testsPerCode      = 0.8
	commentPercentMin = 10
	commentPercentMax = 45
	commentsFromLines = 150 // a package smaller than this has no comment share to speak of
)

// exceptions lists what may break a rule: the rule, the place as file:name (or folder), the reason.
// An entry that nothing needs any more fails the test, so the list can only shrink.
var exceptions = []exception{}

type exception struct {
	rule, at, reason string
}

// bans are uses that a machine can see: selectors pkg.Name, by import path.
var bans = []ban{
	{
		path: "fmt", names: "^Print(f|ln)?$", applies: func(f *source) bool { return !f.test && !f.main() },
		why: "only a main prints; everything else returns values, writes to a given io.Writer or logs through slog",
	},
	{
		path: "log", names: ".", applies: func(f *source) bool { return !f.test && !f.main() },
		why: "diagnostics go through log/slog",
	},
	{
		path: "os", names: "^Exit$", applies: func(f *source) bool { return !f.test && !f.main() },
		why: "only a main ends the process",
	},
	{
		path: "os", names: ".", applies: func(f *source) bool {
			return !f.test && f.dir != "jetlog/vfs" && (within(f.dir, "jetlog") || within(f.dir, "cluster"))
		},
		why: "jetlog and cluster reach the disk through jetlog/vfs",
	},
	{
		path: "time", names: "^(Now|Since|Until|After|AfterFunc|NewTimer|NewTicker|Tick|Sleep)$",
		applies: func(f *source) bool { return !f.test && f.dir == "jetlog" },
		why:     "jetlog is pure: time comes in with the command",
	},
	{
		path: "math/rand", names: ".", applies: func(f *source) bool { return !f.test && f.dir == "jetlog" },
		why: "jetlog is pure: chance comes in with the command",
	},
	{
		path: "math/rand/v2", names: ".", applies: func(f *source) bool { return !f.test && f.dir == "jetlog" },
		why: "jetlog is pure: chance comes in with the command",
	},
	{
		path: "crypto/rand", names: ".", applies: func(f *source) bool { return !f.test && f.dir == "jetlog" },
		why: "jetlog is pure: chance comes in with the command",
	},
	{
		path: "testing", names: ".", applies: func(f *source) bool { return !f.test },
		why: "helpers for tests live in a *test package",
	},
}

// forbiddenNames are names of files and folders that say nothing about what is inside;
// forbiddenFolders are layers that the import table makes needless.
var (
	forbiddenNames   = regexp.MustCompile(`^(utils?|helpers?|common|types|misc)$`)
	forbiddenFolders = regexp.MustCompile(`^(internal|pkg)$`)
)

// machinePaths are places on somebody's machine. Written so that this file does not contain one.
var machinePaths = regexp.MustCompile(`(^|[^\w.~-])/(` + `work/(main|shared)|tmp/bin|home/\w|root/\w|Users/\w` + `)`)

func TestImports(t *testing.T)       { check(t, "imports", importsOf) }
func TestFileLength(t *testing.T)    { check(t, "file length", fileLength) }
func TestFuncLength(t *testing.T)    { check(t, "function length", funcLength) }
func TestNesting(t *testing.T)       { check(t, "nesting", nesting) }
func TestStructFields(t *testing.T)  { check(t, "struct fields", structSize) }
func TestUnlocks(t *testing.T)       { check(t, "unlocks", unlocks) }
func TestPackageState(t *testing.T)  { check(t, "package state", packageState) }
func TestPackageLength(t *testing.T) { check(t, "package length", packageLength) }
func TestPackageDocs(t *testing.T)   { check(t, "package comment", packageComment) }
func TestExportedDocs(t *testing.T)  { check(t, "documented names", documented) }
func TestCommentShare(t *testing.T)  { check(t, "comment share", commentShare) }
func TestBans(t *testing.T)          { check(t, "bans", banned) }
func TestSleeps(t *testing.T)        { check(t, "sleeps", sleeps) }
func TestFileNames(t *testing.T)     { check(t, "file names", fileNames) }

// check runs one rule over every package, minus its exceptions.
func check(t *testing.T, rule string, findings func(*pkg) []finding) {
	t.Helper()
	pkgs, err := load(".")
	if err != nil {
		t.Fatal(err)
	}
	needed := map[string]bool{}
	for _, p := range pkgs {
		for _, f := range findings(p) {
			i := slices.IndexFunc(exceptions, func(e exception) bool { return e.rule == rule && e.at == f.at })
			if i >= 0 {
				needed[f.at] = true
				if !f.always {
					continue
				}
			}
			t.Errorf("%s: %s", f.pos, f.text)
		}
	}
	for _, e := range exceptions {
		if e.rule == rule && !needed[e.at] {
			t.Errorf("exception %q for %s is not needed any more: remove it", e.rule, e.at)
		}
		if e.rule == rule && e.reason == "" {
			t.Errorf("exception %q for %s gives no reason", e.rule, e.at)
		}
	}
}

// TestTestShare holds each top folder to its share of test code. A *test package counts as test code.
func TestTestShare(t *testing.T) {
	pkgs, err := load(".")
	if err != nil {
		t.Fatal(err)
	}
	type sum struct{ code, test int }
	sums := map[string]*sum{}
	for _, p := range pkgs {
		top, _, _ := strings.Cut(p.dir, "/")
		s := sums[top]
		if s == nil {
			s = &sum{}
			sums[top] = s
		}
		for _, f := range p.files {
			if f.test || p.testHelper() {
				s.test += f.code
			} else {
				s.code += f.code
			}
		}
	}
	for top, s := range sums {
		if s.code == 0 {
			continue
		}
		share := float64(s.test) / float64(s.code)
		t.Logf("%-10s %6d lines of code, %6d of tests: %.2f", top, s.code, s.test, share)
		if share < testsPerCode && !excepted("test share", top) {
			t.Errorf("%s: %d lines of test code for %d lines of code is %.2f, want at least %.1f", top, s.test, s.code, share, testsPerCode)
		}
	}
}

func excepted(rule, at string) bool {
	return slices.ContainsFunc(exceptions, func(e exception) bool { return e.rule == rule && e.at == at })
}

// TestMachinePaths looks through every tracked file for paths that exist on one machine only.
func TestMachinePaths(t *testing.T) {
	for _, name := range tracked(t) {
		b, err := os.ReadFile(name)
		if err != nil || bytes.IndexByte(b, 0) >= 0 {
			continue // removed in the working tree, or not text
		}
		for i, line := range strings.Split(string(b), "\n") {
			if m := machinePaths.FindString(line); m != "" && name != "tidy_test.go" {
				t.Errorf("%s:%d: a path of one machine: %q", name, i+1, strings.TrimSpace(m))
			}
		}
	}
}

// TestLinks follows the relative links of the documents.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#\s]+)(#[^)]*)?\)`)
	for _, name := range tracked(t) {
		if path.Ext(name) != ".md" {
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		for i, line := range strings.Split(string(b), "\n") {
			for _, m := range link.FindAllStringSubmatch(line, -1) {
				if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
					continue
				}
				if _, err := os.Stat(filepath.Join(filepath.Dir(name), m[1])); err != nil {
					t.Errorf("%s:%d: the link to %s leads nowhere", name, i+1, m[1])
				}
			}
		}
	}
}

// TestDependenciesAreListed wants a line in docs/dependencies.md for every module of go.mod.
func TestDependenciesAreListed(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	module := regexp.MustCompile(`(?m)^(?:require)?\s+([\w.-]+\.[\w.-]+/\S+) v`)
	for _, m := range module.FindAllSubmatch(mod, -1) {
		if !bytes.Contains(doc, append([]byte("`"), append(m[1], '`')...)) {
			t.Errorf("go.mod: %s is not listed in docs/dependencies.md", m[1])
		}
	}
}

// tracked lists the files that git knows; outside a clone, every file.
func tracked(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("git", "ls-files", "-z").Output()
	if err == nil {
		return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
	}
	var names []string
	err = filepath.WalkDir(".", func(name string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestLayersAreOrdered keeps the table itself honest: a row may only name rows above it in the file,
// so that the arrows go one way.
func TestLayersAreOrdered(t *testing.T) {
	seen := map[string]bool{}
	for _, l := range layers {
		if seen[l.pkg] {
			t.Errorf("layers: %s stands there twice", l.pkg)
		}
		for o := range strings.FieldsSeq(l.ours) {
			if !seen[o] {
				t.Errorf("layers: %s may import %s, which is not in a row before it", l.pkg, o)
			}
		}
		seen[l.pkg] = true
	}
}

// TestRulesFindFaults feeds each rule a small wrong source and looks for the finding, and a right one
// that must pass, so that no rule goes blind unnoticed.
func TestRulesFindFaults(t *testing.T) {
	long := strings.Repeat("\tprintln()\n", funcLines)
	tests := []struct {
		name string
		rule func(*pkg) []finding
		file string
		src  string
		want string // part of the only finding; "" means none
	}{
		{"import up", importsOf, "subjects/a.go", "import _ \"runnel/server\"", "may not import runnel/server"},
		{"import down", importsOf, "server/wire/a.go", "import _ \"runnel/subjects\"", ""},
		{"unknown library", importsOf, "subjects/a.go", "import _ \"example.com/x\"", "may not import example.com/x"},
		{"library by prefix", importsOf, "jetlog/segment/a.go", "import _ \"github.com/klauspost/compress/s2\"", ""},
		{"library by prefix of a word", importsOf, "server/engine/a.go", "import _ \"golang.org/x/sysfake\"", "may not import"},
		{"assertion library in a test", importsOf, "subjects/a_test.go", "import _ \"example.com/assert\"", "may not import"},
		{"package without a row", importsOf, "stuff/a.go", "", "no row in the import table"},
		{"long function", funcLength, "subjects/a.go", "func f() {\n" + long + "}", "f has 72 lines, the limit is 70"},
		{"deep", nesting, "subjects/a.go", "func f() { if a { for { switch { case b: if c { for { if d { } } } } } } }", "nests 6 deep"},
		{"else if is not deeper", nesting, "subjects/a.go", "func f() { if a { } else if b { } else if c { } else if d { } else if e { } else if g { } }", ""},
		{"wide struct", structSize, "subjects/a.go", "type t struct {" + strings.Repeat("a, b, c, d int; ", 8) + "}", "t has 32 fields"},
		{"wide config", structSize, "subjects/a.go", "type EngineConfig struct {" + strings.Repeat("a, b, c, d int; ", 8) + "}", ""},
		{"three unlocks", unlocks, "subjects/a.go", "func f() { m.Unlock(); m.Unlock(); m.RUnlock() }", "unlocks by hand 3 times"},
		{"deferred unlocks", unlocks, "subjects/a.go", "func f() { defer m.Unlock(); defer n.Unlock(); defer func() { o.Unlock() }() }", ""},
		{"assigned", packageState, "subjects/a.go", "var n = 1\nfunc f() { n = 2 }", "package variable n is changed"},
		{"assigned in part", packageState, "subjects/a.go", "var n = []int{1}\nfunc f() { n[0]++ }", "package variable n is changed"},
		{"deleted from", packageState, "subjects/a.go", "var n = map[int]int{1: 1}\nfunc f() { delete(n, 1) }", "package variable n is changed"},
		{"address taken", packageState, "subjects/a.go", "var n = 1\nfunc f() { g(&n) }", "package variable n is changed"},
		{"lock", packageState, "subjects/a.go", "var mu sync.Mutex", "package variable mu holds sync.Mutex"},
		{"made map", packageState, "subjects/a.go", "var m = make(map[int]int)", "package variable m is made empty"},
		{"table", packageState, "subjects/a.go", "var n = map[int]int{1: 1}\nvar errX = errors.New(\"x\")\nfunc f() int { n := n[0]; n = 2; return n }", ""},
		{"another package's variable", packageState, "subjects/a.go", "import \"os\"\nfunc f() { os.Args = nil }", "os.Args of another package is changed"},
		{"init", packageState, "subjects/a.go", "func init() {}", "init function"},
		{"no package comment", packageComment, "subjects/a.go", "", "has no package comment"},
		{"undocumented", documented, "subjects/a.go", "func F() {}\ntype T struct{}\nfunc (t *T) m() {}", "0 of 2 exported names"},
		{"documented", documented, "subjects/a.go", "// F does.\nfunc F() {}\n\n// These are.\nconst (\n\tA = 1\n\tB = 2\n)\ntype u int\nfunc (u) M() {}", ""},
		{"print", banned, "subjects/a.go", "import \"fmt\"\nfunc f() { fmt.Println() }", "fmt.Println: only a main prints"},
		{"print under another name", banned, "subjects/a.go", "import p \"fmt\"\nfunc f() { p.Printf(\"\") }", "fmt.Printf: only a main prints"},
		{"print to a writer", banned, "subjects/a.go", "import \"fmt\"\nfunc f() { fmt.Fprintln(w) }", ""},
		{"clock in jetlog", banned, "jetlog/a.go", "import \"time\"\nfunc f() { time.Now() }", "time.Now: jetlog is pure"},
		{"disk in cluster", banned, "cluster/a.go", "import \"os\"\nfunc f() { os.Open(x) }", "os.Open: jetlog and cluster"},
		{"disk in vfs", banned, "jetlog/vfs/a.go", "import \"os\"\nfunc f() { os.Open(x) }", ""},
		{"sleep", sleeps, "subjects/a_test.go", "import \"time\"\nfunc f() { time.Sleep(1) }", "time.Sleep in a test"},
		{"sleep in a bubble", sleeps, "subjects/a_test.go", "import \"time\"\nfunc f() { synctest.Test(t, func(t *testing.T) { time.Sleep(1) }) }", ""},
		{"name", fileNames, "subjects/util.go", "", "util says nothing"},
		{"name of a test", fileNames, "subjects/helpers_test.go", "", "helpers says nothing"},
		{"name of a folder", fileNames, "server/internal/a.go", "", "no folder named internal"},
		{"name of a file that is fine", fileNames, "server/internal.go", "", ""},
		{"long file", fileLength, "subjects/a.go", strings.Repeat("\n", fileLines-1), "801 lines, the limit is 800"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := parse(tt.file, []byte("package x\n"+tt.src+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			got := tt.rule(&pkg{dir: f.dir, files: []*source{f}})
			switch {
			case tt.want == "" && len(got) > 0:
				t.Errorf("got %q, want no finding", got[0].text)
			case tt.want != "" && (len(got) != 1 || !strings.Contains(got[0].text, tt.want)):
				t.Errorf("got %v, want one finding with %q", got, tt.want)
			}
		})
	}
}

// TestLineCount checks how code and comment lines are told apart.
func TestLineCount(t *testing.T) {
	f, err := parse("a/a.go", []byte("// Package a is.\npackage a\n\n/* two\nlines */\nvar x = `one\ntwo` // tail\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(f.lines, f.code, f.comments)
	if want := "7 3 3"; got != want {
		t.Errorf("lines, code, comments: got %s, want %s", got, want)
	}
}
