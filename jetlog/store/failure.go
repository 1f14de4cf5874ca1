package store

import (
	"errors"
	"fmt"

	"runnel/jetlog/findings"
	"runnel/jetlog/layer"
	"runnel/jetlog/manifest"
)

// Errors of a Store. They are wrapped; compare with errors.Is.
var (
	// ErrNewer: something was written by a newer version of the program.
	ErrNewer = manifest.ErrNewer
	// ErrClosed: the store or the stream is closed.
	ErrClosed = layer.ErrClosed
	// ErrFailed: the disk did not keep what it was given. The process should end, and open the store again.
	ErrFailed = errors.New("store has failed")
	// ErrFull: the disk or the memory budget is full. Nothing was logged; the same command may succeed later.
	ErrFull = errors.New("no space: try again later")
	// ErrNotFound: there is no such stream.
	ErrNotFound = errors.New("stream not found")
	// ErrExists: the account has a stream of that name.
	ErrExists = errors.New("stream exists")
	// ErrHalted: the stream could not be read and stands still; it is not known what became of the command.
	ErrHalted = errors.New("stream is halted")
	// ErrNotLeader: another server leads the stream, or none does. Nothing was done.
	ErrNotLeader = errors.New("stream is not led here")
	// ErrHandedOver is an ErrNotLeader: nothing was done, and another server leads the stream that was chosen to.
	ErrHandedOver = fmt.Errorf("%w any more", ErrNotLeader)
	// ErrLeadershipLost: the stream ceased to be led here before the outcome was known; the command may still be carried out.
	ErrLeadershipLost = errors.New("leadership of the stream was lost before the outcome was known")
	// ErrForeign: the directory holds files of several stores.
	ErrForeign = errors.New("directory belongs to another store")
)

// StreamDamage says that a stream cannot start, or cannot go on, because what is on disk is not what was written. Others are not concerned.
type StreamDamage = findings.Stream
