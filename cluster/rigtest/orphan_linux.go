package rigtest

import (
	"os/exec"
	"syscall"
)

// adopt has a server end with the tests, even if those are killed.
func adopt(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
