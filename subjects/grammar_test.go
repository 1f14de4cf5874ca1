package subjects_test

import (
	"slices"
	"strings"
	"testing"

	"runnel/subjects"
)

func TestGrammar(t *testing.T) {
	tests := []struct {
		subject        string
		valid, literal bool // ValidPattern, IsLiteral
	}{
		{"a", true, true},
		{"a.b.c", true, true},
		{"*", true, false},
		{">", true, false},
		{"a.*", true, false},
		{"a.*.b", true, false},
		{"a.>", true, false},
		{"*.*.>", true, false},
		{"foo*", true, true},
		{"foo.*x", true, true},
		{"foo.>x.y", true, true},
		{"**", true, true},
		{">>", true, true},
		{"*>", true, true},
		{"übung.été", true, true},
		{"$JS.API.INFO", true, true},
		{"a\x01b", true, true},
		{"", false, true},
		{".", false, true},
		{"a.", false, true},
		{".a", false, true},
		{"a..b", false, true},
		{"a.>.", false, false},
		{"foo.>.bar", false, false},
		{">.a", false, false},
		{"a b", false, true},
		{"a\tb", false, true},
		{"a.b\r\n", false, true},
		{"a\x00b", false, true},
	}
	for _, tt := range tests {
		if got := subjects.ValidPattern(tt.subject); got != tt.valid {
			t.Errorf("ValidPattern(%q) = %v, want %v", tt.subject, got, tt.valid)
		}
		if got := subjects.IsLiteral(tt.subject); got != tt.literal {
			t.Errorf("IsLiteral(%q) = %v, want %v", tt.subject, got, tt.literal)
		}
		if got, want := subjects.ValidLiteral(tt.subject), tt.valid && tt.literal; got != want {
			t.Errorf("ValidLiteral(%q) = %v, want %v", tt.subject, got, want)
		}
	}
}

func TestTokens(t *testing.T) {
	tests := []struct {
		subject string
		want    []string
	}{
		{"", nil},
		{"a", []string{"a"}},
		{"a.bc.d", []string{"a", "bc", "d"}},
		{"a.", []string{"a", ""}},
		{".", []string{"", ""}},
		{"a..*.>", []string{"a", "", "*", ">"}},
	}
	for _, tt := range tests {
		if got := slices.Collect(subjects.Tokens(tt.subject)); !slices.Equal(got, tt.want) {
			t.Errorf("Tokens(%q) = %q, want %q", tt.subject, got, tt.want)
		}
		if got := subjects.TokenCount(tt.subject); got != len(tt.want) {
			t.Errorf("TokenCount(%q) = %d, want %d", tt.subject, got, len(tt.want))
		}
	}
}

func TestTokensStopsEarlyAndStartsAgain(t *testing.T) {
	tokens := subjects.Tokens("a.b.c")
	for range 2 {
		for token := range tokens {
			if token != "a" {
				t.Fatalf("first token %q, want a", token)
			}
			break
		}
	}
}

func FuzzGrammar(f *testing.F) {
	for _, s := range []string{"", "a", "a.*", "a.>", ">.a", "a..b", "foo*", "a b", "é.>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tokens := strings.Split(s, ".")
		valid := !slices.Contains(tokens, "") && !strings.ContainsAny(s, " \t\n\v\f\r\x00")
		literal := true
		for i, token := range tokens {
			if token == ">" && i < len(tokens)-1 {
				valid = false
			}
			if token == "*" || token == ">" {
				literal = false
			}
		}
		if got := subjects.ValidPattern(s); got != valid {
			t.Errorf("ValidPattern(%q) = %v, want %v", s, got, valid)
		}
		if got := subjects.IsLiteral(s); got != literal {
			t.Errorf("IsLiteral(%q) = %v, want %v", s, got, literal)
		}
	})
}
