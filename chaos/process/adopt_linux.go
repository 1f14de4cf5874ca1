package process

import (
	"os/exec"
	"syscall"
)

// adopt has a server end with this process, however that ends.
func adopt(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
