package api

import (
	"errors"

	"runnel/jetlog/config"
)

// OfRestoredName says of a name that is in use what it means where a stream is restored.
func OfRestoredName(err error) error {
	var known *Error
	if errors.As(err, &known) && known.ErrCode == int(StreamNameExists) {
		return NewError(RestoreNameExists)
	}
	return err
}

// OfRestore makes what went wrong while a stream was restored an error of the API.
func OfRestore(err error) *Error {
	var known *Error
	var wrong *config.Error
	if errors.As(err, &known) || errors.As(err, &wrong) {
		return FromConfig(err)
	}
	return NewError(RestoreFailed, err.Error())
}
