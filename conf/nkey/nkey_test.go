package nkey_test

import (
	"strings"
	"testing"

	"runnel/conf/nkey"
)

// TestIsPublic tells keys of users and accounts from one another, and from texts that only look like keys.
func TestIsPublic(t *testing.T) {
	const (
		user    = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"
		account = "AAAQEAYEAUDAOCAJBIFQYDIOB4IBCEQTCQKRMFYYDENBWHA5DYPSAXJQ"
	)
	for _, tt := range []struct {
		name, text string
		kind       nkey.Kind
		want       bool
	}{
		{"a user", user, nkey.User, true},
		{"an account", account, nkey.Account, true},
		{"an account for a user", account, nkey.User, false},
		{"letters swapped", strings.Replace(user, "4R", "R4", 1), nkey.User, false},
		{"too short", user[:len(user)-2], nkey.User, false},
		{"in lower case", strings.ToLower(user), nkey.User, false},
		{"nothing", "", nkey.Account, false},
	} {
		if got := nkey.IsPublic(tt.text, tt.kind); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
