//go:build unix

package process_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestMain runs the tests, or is a server: the processes of the tests are this program once more.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 {
		os.Exit(server.Main(m))
	}
	switch os.Args[1] {
	case "--version":
		fmt.Println(versions[filepath.Base(os.Args[0])])
	case "-c":
		os.Exit(fake(os.Args[2]))
	case "--parent":
		parent(os.Args[2])
	default:
		os.Exit(server.Main(m))
	}
}
