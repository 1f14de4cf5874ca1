package operator

import (
	"fmt"
	"strings"

	"github.com/nats-io/jwt/v2"
)

// Undecorated returns the token in a text: the token itself, or one between the lines that tools put around it.
func Undecorated(text []byte) (string, error) {
	if len(text) > MaxAccountBytes {
		return "", fmt.Errorf("%w: %d bytes", ErrTooLarge, len(text))
	}
	token, err := jwt.ParseDecoratedJWT(text)
	if err != nil {
		return "", fmt.Errorf("%w: %s", ErrMalformed, short(err.Error()))
	}
	return strings.TrimSpace(token), nil
}

// LooksLikeToken tells a token from the name of a file that has one.
func LooksLikeToken(text string) bool {
	return strings.HasPrefix(text, "eyJ") && strings.Count(text, ".") == 2
}
