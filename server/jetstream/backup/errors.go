package backup

import "errors"

var (
	// ErrFormat says that this is no backup of a stream at all.
	ErrFormat = errors.New("not a backup of a stream")
	// ErrDamaged says that the backup is torn, changed or contradicts itself. Nothing of it should be
	// kept.
	ErrDamaged = errors.New("damaged backup")
	// ErrTooLarge says that a part of the backup is larger than a stream could have it.
	ErrTooLarge = errors.New("backup has a part that is too large")
	// ErrVersion says that the backup is of a version that is not understood; the text says what to do.
	ErrVersion = errors.New("backup of a version that cannot be read")
	// ErrSeek says that the backup was written by nats-server 2.14 or earlier, and was not given
	// as an io.ReadSeeker.
	ErrSeek = errors.New("this backup has to be read twice: put it into a file first")
	// ErrOrder says that a Writer was used in a wrong order.
	ErrOrder = errors.New("parts of a backup in a wrong order")
)
