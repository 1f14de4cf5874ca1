package report

import (
	_ "embed" // the page is a file of its own
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"runnel/chaos/check"
)

//go:embed page.html
var page string

const (
	textMax     = 300 // characters of a text of a server or client
	findingsMax = 100 // findings on the page; JSON has all
	faultsMax   = 500 // faults on the page's list
)

// WriteJSON writes the run for machines, and for WriteHTML at another time.
func (r *Run) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("write the report as JSON: %w", err)
	}
	return nil
}

// WriteHTML writes the run as one page for people. It is readable on a phone, in print, and in the dark.
func (r *Run) WriteHTML(w io.Writer) error {
	t, err := template.New("page").Funcs(template.FuncMap{
		"clip": clip, "plain": plain, "brief": brief, "percent": percent, "number": number, "bad": bad,
	}).Parse(page)
	if err != nil {
		return fmt.Errorf("parse the page of the report: %w", err)
	}
	if err := t.Execute(w, sheet{Run: r, Timeline: draw(r)}); err != nil {
		return fmt.Errorf("write the report as HTML: %w", err)
	}
	return nil
}

// sheet is what the page shows.
type sheet struct {
	*Run
	Timeline timeline
}

// Shown are the findings on the page, Hidden how many there are besides.
func (s sheet) Shown() []Finding { return s.Findings[:min(len(s.Findings), findingsMax)] }

// Hidden is how many findings the page leaves out.
func (s sheet) Hidden() int { return max(0, len(s.Findings)-findingsMax) }

// FaultsShown are the faults on the page's list, FaultsHidden how many there are besides.
func (s sheet) FaultsShown() []Fault { return s.Faults[:min(len(s.Faults), faultsMax)] }

// FaultsHidden is how many faults the page's list leaves out.
func (s sheet) FaultsHidden() int { return max(0, len(s.Faults)-faultsMax) }

// Headline is the verdict in a sentence.
func (s sheet) Headline() string {
	violations, unchecked := 0, 0
	for _, f := range s.Findings {
		if f.Violation() {
			violations++
		} else {
			unchecked++
		}
	}
	switch {
	case s.Verdict == Violated:
		return count(violations, "finding", "findings") + " against the server"
	case s.Reason != "":
		return "The run was not completed: " + clip(s.Reason)
	case s.Verdict == Incomplete:
		return count(unchecked, "thing", "things") + " could not be checked"
	case len(s.NotRunnable) > 0:
		return "Nothing that was run was violated; " + count(len(s.NotRunnable), "thing", "things") + " could not be run here"
	}
	return "Nothing was violated"
}

// Way is how a set was read, in words.
func way(s check.Set) string {
	switch {
	case s.Node == "":
		return "total"
	case s.Consumer == "":
		return "direct get"
	}
	return "consumer"
}

// Rows are the sets with their way of reading.
func (s sheet) Rows() []setRow {
	var rows []setRow
	for _, set := range s.Sets {
		rows = append(rows, setRow{set, way(set)})
	}
	return rows
}

type setRow struct {
	check.Set
	Way string
}

// plain makes a text of a server or client one that may stand in a page: no bytes that are not UTF-8, and no
// control characters.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && (unicode.IsControl(r) || r == utf8.RuneError) {
			return '\ufffd'
		}
		return r
	}, s)
}

// clip is the same, and shortens a long one.
func clip(s string) string {
	if len(s) > utf8.UTFMax*textMax {
		s = s[:utf8.UTFMax*textMax] // no need to look at all of it
	}
	s = plain(s)
	if utf8.RuneCountInString(s) <= textMax {
		return s
	}
	return string([]rune(s)[:textMax]) + "…"
}

// brief is a time in a few characters.
func brief(d time.Duration) string {
	switch {
	case d >= 100*time.Second:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.String()
}

// percent is a share in percent.
func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) + " %" }

// number writes thousands apart.
func number(n any) string {
	s := fmt.Sprint(n)
	var b strings.Builder
	for i, c := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteRune('\u202f')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// bad is the class of a number that should be 0.
func bad(n int) string {
	if n > 0 {
		return "bad"
	}
	return ""
}

// count says how many there are.
func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + more
}
