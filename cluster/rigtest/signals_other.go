//go:build !unix

package rigtest

import "os"

// There are no signals but the one that kills.
var (
	signalLameDuck os.Signal = os.Kill
	signalPause    os.Signal = os.Kill
	signalResume   os.Signal = os.Kill
	signalEnd      os.Signal = os.Kill
)
