package bench

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

// absent stands in a table where nothing was measured.
const absent = "n/a"

// table is text in aligned columns: the first one to the left, the others to the
// right.
type table struct {
	rows [][]string
}

// add appends a row.
func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// write prints the table.
func (t *table) write(w io.Writer) error {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var text strings.Builder
	for _, row := range t.rows {
		var line strings.Builder
		for i, cell := range row {
			if i == 0 {
				fmt.Fprintf(&line, "%-*s", widths[i], cell)
			} else {
				fmt.Fprintf(&line, "  %*s", widths[i], cell)
			}
		}
		text.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// significant prints a number with three significant digits, without an
// exponent.
func significant(x float64) string {
	digits := 2
	for limit := 10.0; digits > 0 && math.Abs(x) >= limit; limit *= 10 {
		digits--
	}
	return fmt.Sprintf("%.*f", digits, x)
}

// formatCount shortens a number to k, M or G (powers of 1000).
func formatCount(x float64) string {
	switch {
	case x < 1000:
		if x == math.Trunc(x) {
			return fmt.Sprintf("%.0f", x)
		}
		return significant(x)
	case x < 999.5e3:
		return significant(x/1e3) + "k"
	case x < 999.5e6:
		return significant(x/1e6) + "M"
	default:
		return significant(x/1e9) + "G"
	}
}

// formatBytes shortens a size to KiB, MiB or GiB.
func formatBytes(x float64) string {
	switch {
	case math.Abs(x) < 1<<10:
		return fmt.Sprintf("%.0f B", x)
	case math.Abs(x) < 1<<20:
		return significant(x/(1<<10)) + " KiB"
	case math.Abs(x) < 1<<30:
		return significant(x/(1<<20)) + " MiB"
	default:
		return significant(x/(1<<30)) + " GiB"
	}
}

// formatMicroseconds prints a time given in microseconds in its natural unit.
func formatMicroseconds(x float64) string {
	switch {
	case x < 999.5:
		return significant(x) + " µs"
	case x < 999.5e3:
		return significant(x/1e3) + " ms"
	default:
		return significant(x/1e6) + " s"
	}
}
