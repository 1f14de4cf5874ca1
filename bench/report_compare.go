package bench

import (
	"encoding/csv"
	"fmt"
	"io"
)

// WriteCompared writes a comparison: the summary for people, the summary as CSV,
// or everything including all single results as JSON.
func WriteCompared(w io.Writer, format Format, c *Compared) error {
	switch format {
	case CSV:
		return writeComparedCSV(w, c)
	case JSON:
		return writeJSON(w, c)
	default:
		return writeComparedHuman(w, c)
	}
}

// writeComparedCSV writes one line for each case and metric.
func writeComparedCSV(w io.Writer, c *Compared) error {
	out := csv.NewWriter(w)
	if err := out.Write([]string{"case", "metric", "a_median", "b_median", "ratio_median", "ratio_min", "ratio_max", "rounds", "failed"}); err != nil {
		return err
	}
	for _, s := range c.Summary {
		for _, m := range s.Metrics {
			line := []string{s.Case, m.Metric, decimal(m.A), decimal(m.B), decimal(m.Median), decimal(m.Min), decimal(m.Max), integer(m.Rounds), integer(s.Failed)}
			if err := out.Write(line); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

// writeComparedHuman writes the table for people.
func writeComparedHuman(w io.Writer, c *Compared) error {
	if err := writeComparedTitle(w, c); err != nil {
		return err
	}
	var t table
	t.add("scenario", "measure", "a", "b", "b/a", "lowest-highest")
	for _, s := range c.Summary {
		name := s.Case
		for _, row := range s.rows() {
			t.add(append([]string{name}, row...)...)
			name = ""
		}
	}
	if err := t.write(w); err != nil {
		return err
	}
	if _, err := fmt.Fprint(w, "\na and b are medians. b/a is the median of the rounds' own ratios, with the lowest and the highest:\n"+
		"below 1 means that b is cheaper or quicker, for msg/s above 1 that b does more.\n"); err != nil {
		return err
	}
	for i := range c.Singles {
		s := &c.Singles[i]
		if err := writeTrouble(w, fmt.Sprintf("round %d, %s, %s", s.Round, s.Side, s.Result.Case), &s.Result); err != nil {
			return err
		}
	}
	return nil
}

// writeComparedTitle says what was compared.
func writeComparedTitle(w io.Writer, c *Compared) error {
	if _, err := fmt.Fprintf(w, "a: %s\nb: %s\n", c.A, c.B); err != nil {
		return err
	}
	if c.Control {
		if _, err := fmt.Fprintln(w, "Control: both are the same server, so every ratio that is not 1 is noise."); err != nil {
			return err
		}
	}
	if c.Partial {
		if _, err := fmt.Fprintln(w, "PARTIAL: interrupted before all rounds were done."); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}

// rows are the table's lines of one case, without its name.
func (s *CaseSummary) rows() [][]string {
	if len(s.Metrics) == 0 {
		return [][]string{{absent, absent, absent, absent, absent}}
	}
	printers := make(map[string]metric)
	for _, m := range metrics() {
		printers[m.name] = m
	}
	rows := make([][]string, 0, len(s.Metrics))
	for _, m := range s.Metrics {
		p := printers[m.Metric]
		rows = append(rows, []string{
			p.title, p.print(m.A), p.print(m.B), fmt.Sprintf("%.2f", m.Median), fmt.Sprintf("%.2f-%.2f", m.Min, m.Max),
		})
	}
	return rows
}
