//go:build unix

package process

import (
	"os"
	"syscall"
)

// What servers are told by signals.
var (
	signalLameDuck os.Signal = syscall.SIGUSR2
	signalPause    os.Signal = syscall.SIGSTOP
	signalResume   os.Signal = syscall.SIGCONT
	signalEnd      os.Signal = syscall.SIGTERM
)
