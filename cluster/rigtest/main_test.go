package rigtest_test

import (
	"os"
	"testing"

	"runnel/cluster/rigtest"
)

func TestMain(m *testing.M) { os.Exit(rigtest.Main(m)) }
