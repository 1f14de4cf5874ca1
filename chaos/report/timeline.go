package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The picture, in units of which the page makes pixels.
const (
	pictureWidth = 1000
	plotLeft     = 76
	plotRight    = 988
	plotWidth    = plotRight - plotLeft
	laneHeight   = 16
	laneGap      = 4
	panelGap     = 30 // room for the title
	rateHeight   = 84
	timeHeight   = 72
	columnsMax   = plotWidth / 2
	labelWidth   = 6.2 // about that of a letter in a fault's box
)

// timeline is the picture of a run: the faults, a lane for each node, above what each workload did meanwhile.
// It has nothing but numbers and texts, which the page puts in their places.
type timeline struct {
	Width, Height int
	Left, Right   int
	Lanes         []lane
	Bands         []box // when anything was broken, behind the panels
	Panels        []panel
	Ticks         []tick
	Top, Bottom   int // of the panels
}

// lane is a row of boxes with a name.
type lane struct {
	Label   string
	Y, Text int
	Class   string
	Boxes   []box
}

// box is a time, with what it was.
type box struct {
	X, Width string
	Y        int
	Height   int
	Title    string
	Label    string // "" where there is no room
}

// tick is a place on an axis.
type tick struct {
	At    string
	Label string
}

// panel is one curve or more over the time.
type panel struct {
	Title   string
	TitleY  int
	Y, Base int
	Height  int
	Curves  []curve
	Stops   []box // seconds in which clients tried and nothing was done
	Grid    []tick
}

// curve is a line, or the area below it.
type curve struct {
	Class string
	Path  string
}

// draw makes the picture of a run.
func draw(r *Run) timeline {
	t := timeline{Width: pictureWidth, Left: plotLeft, Right: plotRight}
	x := axis(r)
	y := t.addLanes(r, x, 4)
	t.Top = y + 6
	y = t.Top
	for _, s := range r.Series {
		y = t.addPanels(s, x, y)
	}
	t.Bottom = y
	t.Height = y + 24
	t.Bands = bands(r.Faults, x, t.Top, y-t.Top)
	t.Ticks = x.ticks()
	return t
}

// scale puts the time of a run on the picture's width.
type scale struct{ seconds float64 }

// axis is the scale that shows all of a run.
func axis(r *Run) scale {
	end := r.Duration
	for _, f := range r.Faults {
		end = max(end, f.End)
	}
	seconds := max(1, math.Ceil(end.Seconds()))
	for _, s := range r.Series {
		seconds = max(seconds, float64(len(s.Points)))
	}
	return scale{seconds}
}

// at is where a time is.
func (s scale) at(seconds float64) float64 {
	return plotLeft + plotWidth*min(max(seconds/s.seconds, 0), 1)
}

// box is a stretch of time; one that would be too thin to see is made as wide as that needs.
func (s scale) box(start, end time.Duration, y, height int, title, label string) box {
	from, to := s.at(start.Seconds()), s.at(end.Seconds())
	width := max(to-from, 2)
	if labelWidth*float64(len(label)) > width-4 {
		label = ""
	}
	return box{X: coordinate(min(from, plotRight-2)), Width: coordinate(width), Y: y, Height: height, Title: title, Label: label}
}

// ticks are at most eleven round times.
func (s scale) ticks() []tick {
	var all []tick
	step := 1
	for _, step = range []int{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 86400} {
		if s.seconds/float64(step) <= 10 {
			break
		}
	}
	for at := 0; float64(at) <= s.seconds && len(all) < 100; at += step {
		all = append(all, tick{coordinate(s.at(float64(at))), clock(at)})
	}
	return all
}

// clock writes seconds as 0:00 or 0:00:00.
func clock(seconds int) string {
	if seconds >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
	}
	return fmt.Sprintf("%d:%02d", seconds/60, seconds%60)
}

// coordinate writes a number as short as the picture needs it.
func coordinate(v float64) string {
	return strconv.FormatFloat(math.Round(10*v)/10, 'f', -1, 64)
}

// addLanes draws the faults of each node, and when the findings have their first operations. It returns where
// the lanes end.
func (t *timeline) addLanes(r *Run, x scale, y int) int {
	add := func(label, class string, boxes []box) {
		t.Lanes = append(t.Lanes, lane{label, y, y + laneHeight - 4, class, boxes})
		y += laneHeight + laneGap
	}
	byNode := map[string][]box{}
	var nodes []string
	for _, f := range r.Faults {
		if byNode[f.Node] == nil {
			nodes = append(nodes, f.Node)
		}
		title := fmt.Sprintf("%s at %s, %s to %s", clip(f.Name), clip(f.Node), brief(f.Start), brief(f.End))
		if f.What != "" {
			title += ": " + clip(f.What)
		}
		byNode[f.Node] = append(byNode[f.Node], x.box(f.Start, f.End, 0, laneHeight, title, clip(f.Name)))
	}
	slices.Sort(nodes)
	for _, n := range nodes {
		boxes := byNode[n]
		for i := range boxes {
			boxes[i].Y = y
		}
		add(cmp.Or(shorten(n), "cluster"), "fault", boxes)
	}
	var found []box
	for _, f := range r.Findings {
		if len(f.Operations) > 0 {
			o := f.Operations[0]
			found = append(found, x.box(o.Start, o.End, y, laneHeight, clip(f.String()), ""))
		}
	}
	if len(found) > 0 {
		add("findings", "found", found)
	}
	return y
}

// shorten makes a name fit beside the plot.
func shorten(name string) string {
	name = clip(name)
	if r := []rune(name); len(r) > 10 {
		return string(r[:9]) + "…"
	}
	return name
}

// bands are the times in which anything was broken, put together.
func bands(faults []Fault, x scale, y, height int) []box {
	faults = slices.Clone(faults)
	slices.SortFunc(faults, func(a, b Fault) int { return cmp.Compare(a.Start, b.Start) })
	var all []box
	for i := 0; i < len(faults); {
		start, end := faults[i].Start, faults[i].End
		for i++; i < len(faults) && faults[i].Start <= end; i++ {
			end = max(end, faults[i].End)
		}
		all = append(all, x.box(start, end, y, height, "", ""))
	}
	return all
}

// addPanels draws what a workload did: its rate above how long requests took. It returns where they end.
func (t *timeline) addPanels(s Series, x scale, y int) int {
	columns := gather(s.Points)
	most := 1.0
	for _, c := range columns {
		most = max(most, c.ok, c.failed, c.unknown)
	}
	rate := panel{Title: s.Workload + ": requests a second", TitleY: y + panelGap - 8, Y: y + panelGap, Height: rateHeight, Base: y + panelGap + rateHeight}
	linear := func(v float64) float64 { return float64(rate.Base) - rateHeight*v/most }
	rate.Curves = []curve{
		{"ok area", steps(columns, x, linear, float64(rate.Base), func(c column) float64 { return c.ok })},
		{"refused", steps(columns, x, linear, 0, func(c column) float64 { return c.failed })},
		{"unknown", steps(columns, x, linear, 0, func(c column) float64 { return c.unknown })},
	}
	for _, v := range []float64{0, most / 2, most} {
		rate.Grid = append(rate.Grid, tick{coordinate(linear(v)), amount(v)})
	}
	for _, c := range columns {
		if c.stopped {
			rate.Stops = append(rate.Stops, x.box(seconds(c.from), seconds(c.to), rate.Base-3, 3, "clients tried and nothing was done", ""))
		}
	}
	y = rate.Base
	took := panel{Title: s.Workload + ": time that half of the requests (p50) and 99 in 100 (p99) took at most", TitleY: y + panelGap - 8, Y: y + panelGap, Height: timeHeight, Base: y + panelGap + timeHeight}
	low, high := decades(columns)
	logarithmic := func(v float64) float64 {
		if v <= 0 {
			return float64(took.Base)
		}
		return float64(took.Base) - timeHeight*min(max((math.Log10(v)-low)/(high-low), 0), 1)
	}
	took.Curves = []curve{
		{"p99", steps(columns, x, logarithmic, 0, func(c column) float64 { return c.p99 })},
		{"p50", steps(columns, x, logarithmic, 0, func(c column) float64 { return c.p50 })},
	}
	for d := low; d <= high; d++ {
		took.Grid = append(took.Grid, tick{coordinate(logarithmic(math.Pow(10, d))), time.Duration(math.Pow(10, d) * float64(time.Second)).String()})
	}
	t.Panels = append(t.Panels, rate, took)
	return took.Base
}

// column is one or more seconds of a series.
type column struct {
	from, to int // seconds; to is not among them

	ok, failed, unknown float64 // a second, on average
	p50, p99            float64 // the worst, in seconds
	stopped             bool    // in one of them something was unknown and nothing was done
}

// gather makes as many columns as the picture has room for.
func gather(points []Point) []column {
	each := (len(points) + columnsMax - 1) / columnsMax
	var all []column
	for from := 0; from < len(points); from += each {
		c := column{from: from, to: min(from+each, len(points))}
		for _, p := range points[c.from:c.to] {
			n := float64(c.to - c.from)
			c.ok += float64(p.OK) / n
			c.failed += float64(p.Failed) / n
			c.unknown += float64(p.Unknown) / n
			c.p50 = max(c.p50, p.P50.Seconds())
			c.p99 = max(c.p99, p.P99.Seconds())
			c.stopped = c.stopped || p.OK == 0 && p.Unknown > 0
		}
		all = append(all, c)
	}
	return all
}

// decades are the powers of ten between which all times of a series are.
func decades(columns []column) (low, high float64) {
	low, high = -3, -2
	for _, c := range columns {
		if c.p50 > 0 {
			low = min(low, math.Floor(math.Log10(c.p50)))
		}
		if c.p99 > 0 {
			high = max(high, math.Ceil(math.Log10(c.p99)))
		}
	}
	return max(low, -6), min(high, 3)
}

// steps draws a value of the columns. With a base it is the area down to that; else it is a line that leaves out
// where the value is 0.
func steps(columns []column, x scale, y func(float64) float64, base float64, value func(column) float64) string {
	var b strings.Builder
	drawing := base > 0
	if drawing {
		fmt.Fprintf(&b, "M%s %s", coordinate(x.at(0)), coordinate(base))
	}
	for _, c := range columns {
		v := value(c)
		if base == 0 && v == 0 {
			drawing = false
			continue
		}
		command := "L"
		if !drawing {
			command = "M"
		}
		drawing = true
		fmt.Fprintf(&b, "%s%s %sH%s", command, coordinate(x.at(float64(c.from))), coordinate(y(v)), coordinate(x.at(float64(c.to))))
	}
	if base > 0 {
		fmt.Fprintf(&b, "V%sZ", coordinate(base))
	}
	return b.String()
}

// amount writes a rate in a few characters.
func amount(v float64) string {
	switch {
	case v >= 10_000:
		return strconv.FormatFloat(v/1000, 'f', 0, 64) + "k"
	case v >= 1000:
		return strconv.FormatFloat(v/1000, 'f', 1, 64) + "k"
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// seconds is a whole number of them.
func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
