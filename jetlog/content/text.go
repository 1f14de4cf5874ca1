package content

import (
	"bytes"
	"errors"
	"unicode"
	"unicode/utf8"
)

// fold returns what all cases of a letter have in common. Only the blocks of Latin, Greek and Cyrillic letters
// are looked at, which are full: later versions of Unicode add no letters to them, so that every replica folds
// alike, whatever it was built with.
func fold(r rune) rune {
	switch {
	case r < utf8.RuneSelf:
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	case r >= 0x530 && r < 0x1e00, r >= 0x2000 && r != kelvin && r != angstrom && r != ohm:
		return r
	}
	// The cases of a letter follow one another in a circle, of which the least one is taken.
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	if least < utf8.RuneSelf {
		return fold(least)
	}
	return least
}

// Signs that are letters of their own in Unicode, and other cases of usual ones.
const (
	ohm      = '\u2126'
	kelvin   = '\u212a'
	angstrom = '\u212b'
)

// foldText returns a text with all its letters folded.
func foldText(text []byte) []byte { return bytes.Map(fold, text) }

// cutPrefixFold returns what follows a prefix, which is folded, in a text in which case does not matter.
func cutPrefixFold(text, folded []byte) (rest []byte, ok bool) {
	for len(folded) > 0 {
		want, width := utf8.DecodeRune(folded)
		got, size := utf8.DecodeRune(text)
		if size == 0 || got == utf8.RuneError && size == 1 || fold(got) != want {
			return nil, false
		}
		folded, text = folded[width:], text[size:]
	}
	return text, true
}

// hasSuffixFold reports whether a text, in which case does not matter, ends with a suffix, which is folded.
func hasSuffixFold(text, folded []byte) bool {
	for len(folded) > 0 {
		want, width := utf8.DecodeLastRune(folded)
		got, size := utf8.DecodeLastRune(text)
		if size == 0 || got == utf8.RuneError && size == 1 || fold(got) != want {
			return false
		}
		folded, text = folded[:len(folded)-width], text[:len(text)-size]
	}
	return true
}

var (
	errStars  = errors.New("has two stars in a row, one says the same")
	errEscape = errors.New(`has a backslash before something else than * or \: write \\ for a backslash itself (in JSON "\\\\")`)
)

// splitWildcard returns what stands between the stars of a pattern, without backslashes.
func splitWildcard(pattern []byte) ([][]byte, error) {
	pieces := [][]byte{nil}
	last := func() *[]byte { return &pieces[len(pieces)-1] }
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '*' && len(pieces) > 1 && len(*last()) == 0:
			return nil, errStars
		case c == '*':
			pieces = append(pieces, nil)
		case c != '\\':
			*last() = append(*last(), c)
		default:
			if i++; i == len(pattern) || pattern[i] != '*' && pattern[i] != '\\' {
				return nil, errEscape
			}
			*last() = append(*last(), pattern[i])
		}
	}
	return pieces, nil
}

// matchWildcard reports whether a text consists of pieces with anything between them. Each piece is taken where
// it occurs first, which leaves most to the later ones, so nothing is ever tried twice.
func matchWildcard(text []byte, pieces [][]byte) bool {
	first, last := pieces[0], pieces[len(pieces)-1]
	if len(pieces) == 1 {
		return bytes.Equal(text, first)
	}
	if len(text) < len(first)+len(last) || !bytes.HasPrefix(text, first) || !bytes.HasSuffix(text, last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, piece := range pieces[1 : len(pieces)-1] {
		i := bytes.Index(text, piece)
		if i < 0 {
			return false
		}
		text = text[i+len(piece):]
	}
	return true
}
