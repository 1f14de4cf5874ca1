package syntax_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"testing"

	"runnel/conf/syntax"
)

// TestDigest compares with what the incumbent prints for the same files.
func TestDigest(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"port: 4222", "797533ebd0dfba7d34a0f9337ecf147e442871f48ddfd07ed751575a5737267e"},
		{`{"port": 4222}`, "797533ebd0dfba7d34a0f9337ecf147e442871f48ddfd07ed751575a5737267e"},
		{"server_name: a", "7e05712478e5fe32453e1b5da67a85bbdf7b84c006fafd86ce0eb101c195188f"},
		{"server_name: a#b", "accdc0f90560b798884a35bbc16d6d88e9a8d7e8cc2f481daff3158a6f807b54"},
		{"max_payload: 8mib", "ab1ded89c9fcbd61a1aee7d76facf11928eb1621fab5738ca73eabe6216968a6"},
		{"max_payload: 8m", "26050e35f9a48e90542ac56d09a777796b444ff30c5156182c981f3928908157"},
		{"debug: on", "eca738dbc8155b8e2da07ff1a72a27aea10ba0fe3256289ad8b18ef5846bec7e"},
		{"a: 1\nport: $a", "a4674c0c66dc793076b14a24edf2ceedf3ad31488e51ee3a2f93e065cc621501"},
		{"server_tags [a,b]", "e09a48bacda8a05513e0da3231f1cef15d6c5fc6831f9a9b17c803c10209238c"},
		{"authorization {\ntoken: (\nabc\ndef\n)\n}", "a05a76f556ead510360f94321bf5541e06a5cceaf503fba65063cb413255ced6"},
		{"authorization { timeout: 2.5, token: a}", "5aa91a02d2d752a85d7a5c34278016657e21891c282cee746c4993db86f177b7"},
		{"authorization { user: a, pass: b:c=d }", "e82c305384c91a623c3b6cf5a4156f6842dd61e0fe72b53bb75f9dc77b9d79ac"},
	} {
		r := &syntax.Report{}
		got := syntax.Parse(r, "c.conf", []byte(test.text)).Digest()
		if want := "sha256:" + test.want; got != want || r.Errors != nil {
			t.Errorf("%q: got %s, %v, want %s", test.text, got, r.Errors, want)
		}
	}
}

// TestDigestIsThatOfJSON compares with the digest of the JSON as a whole.
func TestDigestIsThatOfJSON(t *testing.T) {
	for _, text := range []string{
		"", "a: 1\na: 2\nb: {}\nc: []", "z: 1\na: {y: [1, 2.5, {x: true}], b: []}\nz: {k: v}", `"<&>": "é\u2028\t<"`,
		"n: 99999999999999999999\nf: 1e400\nd: 2026-11-30T00:00:00Z\nk: 8kb",
	} {
		root := syntax.Parse(&syntax.Report{}, "c.conf", []byte(text))
		h := sha256.New()
		if err := json.NewEncoder(h).Encode(root.Plain()); err != nil {
			t.Fatal(err)
		}
		if got, want := root.Digest(), fmt.Sprintf("sha256:%x", h.Sum(nil)); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}
