//go:build !unix

package process

import "os"

// There are no signals but the one that kills.
var signalLameDuck, signalPause, signalResume, signalEnd os.Signal
