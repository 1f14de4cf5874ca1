//go:build !unix

package sqltest

import (
	"errors"
	"os"
)

// postgres returns the address of a PostgreSQL that the environment names.
func postgres() (url string, stop func(), err error) {
	if url = os.Getenv("RUNNEL_TEST_POSTGRES"); url == "" {
		err = errors.New("RUNNEL_TEST_POSTGRES is not set")
	}
	return url, func() {}, err
}
