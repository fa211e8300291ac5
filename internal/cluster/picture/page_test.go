package picture

import (
	"encoding/xml"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/cluster/doctor"
	"plimsoll/internal/cluster/doctor/pools"
	"plimsoll/internal/cluster/doctor/warning"
	"plimsoll/internal/effort"
)

// sound checks each page: one arrow and one row per move, only valid numbers, no external
// resources, and no bar outside its drawing.
func sound(t *testing.T, name string, in Input, page string) {
	t.Helper()
	shown := min(len(in.Report.Moves), mostMoves)
	for what, pattern := range map[string]string{"arrow": ` data-move="(\d+)"`, "row": `<tr id="m(\d+)"`} {
		seen := map[string]int{}
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(page, -1) {
			seen[m[1]]++
		}
		for id, n := range seen {
			if n != 1 {
				t.Errorf("%s: move %s has %d of %s", name, id, n, what)
			}
		}
		if len(seen) != shown {
			t.Errorf("%s: %d of %s, and %d moves", name, len(seen), what, shown)
		}
	}
	for _, m := range regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !strings.Contains(page, ` id="`+m[1]+`"`) {
			t.Errorf("%s: a link leads to %s, which is nowhere", name, m[1])
		}
	}
	for _, wrong := range []string{"NaN", "Inf", "ZgotmplZ", "<nil>", "%!", "<script", "http://", "https://", "url(", "@import", ` style="`} {
		rest := strings.ReplaceAll(strings.ReplaceAll(page, "http://www.w3.org/1999/xhtml", ""), "http://www.w3.org/2000/svg", "")
		if strings.Contains(rest, wrong) {
			t.Errorf("%s: the page holds %q", name, wrong)
		}
	}
	for _, m := range regexp.MustCompile(`(?:width|x|x1|x2)="(-?[0-9.e+-]+)%"`).FindAllStringSubmatch(page, -1) {
		if v, err := strconv.ParseFloat(m[1], 64); err != nil || v < 0 || v > 100 {
			t.Errorf("%s: a mark at %s %%", name, m[1])
		}
	}
	for _, p := range []string{`<html lang="en">`, `<title>`, `role="img" aria-label=`, `<main id="content">`} {
		if !strings.Contains(page, p) {
			t.Errorf("%s: the page lacks %s", name, p)
		}
	}
}

func TestPages(t *testing.T) {
	for name, make := range fixtures() {
		in := make()
		page := render(t, in)
		sound(t, name, in, page)
		if len(page) > 2_000_000 {
			t.Errorf("%s: %d bytes", name, len(page))
		}
		if page != render(t, in) {
			t.Errorf("%s: two pages of one report differ", name)
		}
	}
	in := small()
	sound(t, "small", in, render(t, in))
}

func TestRandomClusters(t *testing.T) {
	moves := 0
	for seed := range uint64(effort.Of(40)) {
		hosts := []int{1, 2, 4, 9, 16, 30, 90}[seed%7]
		c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: hosts, VMs: hosts * 8, Rules: hosts, Pools: int(seed % 5), Load: .3 + .1*float64(seed%9), Placed: true})
		if hosts > 2 {
			c.Hosts[seed%2].State = []cluster.HostState{cluster.Maintenance, cluster.Failed, cluster.Quarantined, cluster.Connected}[seed%4]
		}
		in := input(c)
		moves += len(in.Report.Moves)
		page := render(t, in)
		sound(t, fmt.Sprintf("seed %d", seed), in, page)
		for _, m := range in.Report.Moves {
			if !strings.Contains(page, m.VM) || !strings.Contains(page, m.To) {
				t.Errorf("seed %d: the page lacks %+v", seed, m)
			}
		}
	}
	if moves < effort.Of(200) {
		t.Errorf("%d moves: the test sees too little", moves)
	}
}

// A drawing of a large cluster has the hosts of the first moves and both ends, and the number
// of omitted hosts: each host is drawn or counted once.
func TestEveryHostIsDrawnOrCounted(t *testing.T) {
	for _, in := range []Input{many(81, 0), many(81, 30), many(500, 12), many(2000, 500), many(80, 40), many(13, 3)} {
		s := newScene(in.Report)
		drawn, left := map[string]bool{}, 0
		for _, r := range s.Rows {
			if r.Gap == "" {
				if drawn[r.Name] {
					t.Errorf("%s is drawn twice", r.Name)
				}
				drawn[r.Name] = true
				continue
			}
			n, err := strconv.Atoi(strings.ReplaceAll(strings.Fields(r.Gap)[0], ",", ""))
			if err != nil {
				t.Fatal(err)
			}
			left += n
		}
		all := len(in.Report.Hosts)
		if len(drawn)+left != all {
			t.Errorf("%d hosts: %d are drawn and %d counted", all, len(drawn), left)
		}
		if all > mostHosts && (len(drawn) > mostMoved+2*ends || len(drawn) < 2*ends) || all <= mostHosts && left > 0 {
			t.Errorf("%d hosts: %d are drawn", all, len(drawn))
		}
		if all > mostHosts && !strings.Contains(s.Note, count(left)+" are not") {
			t.Errorf("%d hosts: the note does not say that %d are left out: %q", all, left, s.Note)
		}
		if len(in.Report.Moves) > 0 && len(s.Arrows) == 0 {
			t.Errorf("%d hosts: no arrow", all)
		}
		for i := range s.drawn {
			if m := in.Report.Moves[i]; !drawn[m.From] || !drawn[m.To] {
				t.Errorf("an arrow from %s to %s, and not both are drawn", m.From, m.To)
			}
		}
	}
}

// Of many moves, mandatory ones and those from the most loaded hosts are drawn.
func TestUrgentMovesAreDrawn(t *testing.T) {
	in := many(2000, 500)
	r := in.Report
	r.Moves[498].Reason = "hostMaint"
	at, fullest := places(r), 0
	for i, m := range r.Moves {
		if i != 498 && fuller(&r.Hosts[at[m.From]]) > fuller(&r.Hosts[at[r.Moves[fullest].From]]) {
			fullest = i
		}
	}
	s := newScene(r)
	if !s.drawn[498] || !s.drawn[fullest] || len(s.drawn) < mostMoved/2 || !slices.IsSortedFunc(s.Arrows, func(a, b arrow) int { return a.Move - b.Move }) {
		t.Errorf("%d moves are drawn, that which must be: %v, that from the fullest: %v", len(s.drawn), s.drawn[498], s.drawn[fullest])
	}
}

// Lanes at the same height do not touch, and beads do not overlap.
func TestArrowsKeepApart(t *testing.T) {
	for name, make := range fixtures() {
		in := make()
		c := choose(in.Report)
		s := newScene(in.Report)
		beads := map[string]bool{}
		for _, w := range s.Arrows {
			at := w.BX + " " + w.BY
			if beads[at] {
				t.Errorf("%s: two beads at %s", name, at)
			}
			beads[at] = true
		}
		g := newGutter(in.Report, &c)
		rowOf := map[int]int{}
		for i, h := range c.hosts {
			if h >= 0 {
				rowOf[h] = i
			}
		}
		lanes, columns := g.lanes(s.Rows, rowOf)
		for a, x := range lanes {
			for b, y := range lanes {
				if a < b && x.column == y.column && x.top < y.bottom && y.top < x.bottom {
					t.Errorf("%s: the lanes of hosts %d and %d lie upon each other", name, a, b)
				}
			}
			if x.column >= columns {
				t.Errorf("%s: a lane outside", name)
			}
		}
	}
}

const hostile = `</style><script>alert(1)</script><img src=x onerror=alert(1)>" onload="x' {{.}} ` + "\xff\x00"

// Names are escaped.
func TestNamesAreEscaped(t *testing.T) {
	in := small()
	r := in.Report
	r.Cluster, r.Quiet, in.Title = hostile, hostile, hostile
	for i := range r.Hosts {
		r.Hosts[i].Name += hostile
		r.Hosts[i].State = hostile
	}
	for i := range r.Moves {
		m := &r.Moves[i]
		m.VM, m.From, m.To, m.Why, m.Evidence, m.Effect, m.Value = hostile, m.From+hostile, m.To+hostile, hostile, hostile, hostile, hostile
		m.Alternatives = []doctor.Alternative{{Host: hostile, Why: hostile}}
	}
	r.Stranded, r.Broken = []doctor.Stranded{{VM: hostile, Text: hostile}}, []string{hostile}
	r.Remaining = []doctor.Remaining{{Text: hostile, VMs: r.Stranded}}
	r.Refused = []doctor.Refused{{VM: hostile, From: hostile, To: hostile, Why: hostile}}
	r.Warnings = []warning.Warning{{Kind: hostile, Text: hostile, Do: hostile}}
	r.Pools[0].Name, r.At = hostile, hostile
	r.Short[0] = doctor.Shortfall{VM: hostile, Host: hostile, Pool: hostile}
	r.Last.Moves[1] = doctor.MoveOutcome{RoundMove: doctor.RoundMove{VM: hostile, From: hostile, To: hostile}, What: hostile}
	r.Last.Others[0] = doctor.OtherMove{VM: hostile, From: hostile, To: hostile}
	page := render(t, in)
	for _, wrong := range []string{"<script", "<img", `" onload`, "\xff"} {
		if strings.Contains(page, wrong) {
			t.Errorf("the page holds %q", wrong)
		}
	}
	if n := strings.Count(page, "<style>"); n != 1 || strings.Count(page, "</style>") != 1 {
		t.Errorf("%d styles", n)
	}
	if n := strings.Count(page, "&lt;script&gt;"); n < 25 {
		t.Errorf("the names are shown %d times", n)
	}
	// The rest is a tree of elements.
	d := xml.NewDecoder(strings.NewReader(page[strings.Index(page, `<svg class="moves"`):]))
	d.Strict = true
	for depth := 0; ; {
		tok, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		switch tok.(type) {
		case xml.StartElement:
			depth++
		case xml.EndElement:
			depth--
		}
		if depth == 0 {
			break
		}
	}
}

// Invalid numbers, unknown hosts and moves without hosts are drawn as far as possible.
func TestOddReports(t *testing.T) {
	odd := []Input{
		{Report: &doctor.Report{}},
		{Report: &doctor.Report{Moves: []doctor.Move{{Step: 1, VM: "a", From: "b", To: "c", Reason: "other"}}}},
		{Report: &doctor.Report{Lost: [2]float64{math.NaN(), math.Inf(1)}, Hosts: []doctor.Host{
			{Name: "a", State: "connected", CPU: [2]float64{math.NaN(), math.Inf(1)}, Memory: [2]float64{-1, 5}, Reserved: [2]float64{math.Inf(-1), 3}}, {Name: "b", State: "failed"},
		}, Moves: []doctor.Move{{Step: 100, VM: "x", To: "a"}, {Step: 2, VM: "y", From: "a", To: "a"}, {VM: "z", From: "a", To: "b"}}, Pools: []pools.View{{Depth: 30}}}},
	}
	for i, in := range odd {
		sound(t, fmt.Sprint("odd ", i), in, render(t, in))
	}
}

func TestSentences(t *testing.T) {
	moves := func(n int, reason string, from ...string) (out []doctor.Move) {
		for i := range n {
			out = append(out, doctor.Move{Step: i + 1, VM: "v", From: from[i%len(from)], To: "z", Reason: reason})
		}
		return out
	}
	together := moves(3, "hostMaint", "a")
	together[2].Step = 2
	for _, c := range []struct {
		r           doctor.Report
		lead, badge string
	}{
		{doctor.Report{Quiet: "level 1 moves VMs mandatory moves only"}, "Nothing moves: level 1 moves VMs mandatory moves only.", "Nothing moves"},
		{doctor.Report{Stranded: []doctor.Stranded{{Text: "x"}}, Waiting: 2}, "Nothing moves: 1 VM should, but no host can run it. 2 VMs wait to be placed.", "1 VM stranded"},
		{doctor.Report{Moves: moves(1, "fairnessCpuAvg", "a")}, "A round would make 1 move because the CPU load of a is high.", "1 move"},
		{doctor.Report{Moves: append(moves(2, "fairnessMemAvg", "a", "b"), moves(1, "vmHostHardAffinity", "c")...)}, "A round would make 3 moves in 2 steps: 1 because a rule must hold and 2 because the memory load of hosts is high.", "3 moves"},
		{doctor.Report{Moves: together, Stranded: []doctor.Stranded{{Text: "x"}, {Text: "y"}}}, "A round would make 3 moves in 2 steps to empty a. 2 VMs find no host.", "3 moves, 2 VMs stranded"},
		{doctor.Report{Moves: moves(1200, "new", "a")}, "A round would make 1,200 moves for other reasons.", "1,200 moves"},
	} {
		if got := lead(&c.r); got != c.lead {
			t.Errorf("%q, want %q", got, c.lead)
		}
		if got := newBadge(&c.r).Word; got != c.badge {
			t.Errorf("%q, want %q", got, c.badge)
		}
	}
	if h := newHero(&doctor.Report{Lost: [2]float64{.0346, .001}, Moves: together}); h.Number != "3.46 → 0.10 %" || h.Class != "better" {
		t.Errorf("%+v", h)
	}
	if h := newHero(&doctor.Report{}); h != nil {
		t.Errorf("%+v", h)
	}
}

// Omissions of a page are stated.
func TestWhatIsCutIsSaid(t *testing.T) {
	page := render(t, many(2000, 700))
	for _, want := range []string{"The first 500 of 700 moves.", "The first 1,000 of 2,000 hosts.", "hosts are drawn:", "The table of moves has the arrows of the others"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// The checks above detect invalid pages.
func TestChecksNoticeBreaches(t *testing.T) {
	in := small()
	page := render(t, in)
	arrow := page[strings.Index(page, `<a href="#m1"`):]
	arrow = arrow[:strings.Index(arrow, "</a>")+4]
	for name, bad := range map[string]string{
		"an arrow twice":   strings.Replace(page, arrow, arrow+arrow, 1),
		"an arrow lost":    strings.Replace(page, arrow, "", 1),
		"a row lost":       strings.Replace(page, `<tr id="m2"`, "<tr", 1),
		"a number of none": strings.Replace(page, `width="`, `width="NaN`, 1),
		"a bar outside":    strings.Replace(page, `x="0%"`, `x="101%"`, 1),
		"a script":         strings.Replace(page, "</main>", "<script>1</script></main>", 1),
		"another site":     strings.Replace(page, "</main>", `<img src="https://example.org/x.png"></main>`, 1),
	} {
		fake := &testing.T{}
		sound(fake, name, in, bad)
		if bad == page || !fake.Failed() {
			t.Errorf("%s was not noticed", name)
		}
	}
}

// On a phone every bar begins at the axis and has its number: unchanged hosts have both
// columns of the axis like the others, and nothing covers the text beside a bar.
func TestNarrowBarsKeepTheAxis(t *testing.T) {
	_, narrow, found := strings.Cut(pageStyle, "@media print, screen and (max-width: 920px) {")
	narrow, _, closed := strings.Cut(narrow, "\n}")
	if !found || !closed {
		t.Fatal("the style has no narrow layout")
	}
	columns := 0
	for _, rule := range strings.SplitAfter(narrow, "}") {
		selector, body, _ := strings.Cut(rule, "{")
		if strings.Contains(body, "grid-template-columns") && (strings.Contains(selector, ".row") || strings.Contains(selector, ".still")) {
			columns++
			if !strings.Contains(selector, ".axis") {
				t.Errorf("%s has other columns than the axis", strings.TrimSpace(selector))
			}
		}
		if strings.Contains(selector, ".meter span") && strings.Contains(body, "display: none") {
			t.Errorf("%s hides the numbers", strings.TrimSpace(selector))
		}
	}
	if columns != 1 {
		t.Errorf("%d rules give rows their columns", columns)
	}
}

// No two labels of an axis overlap, at any maximum and width, and none exceeds the end.
func TestLabelsOfTheAxisFit(t *testing.T) {
	const character, gap, numbers = 6.6, 3., 5.9 * 16 // pixels; numbers are beside the bars of a wide page
	hidden := map[string]float64{}
	for _, m := range regexp.MustCompile(`@container \(max-width: (\d+)px\) \{ \.axis \.(\w+) \{ display: none; \} \}`).FindAllStringSubmatch(pageStyle, -1) {
		hidden[m[2]], _ = strconv.ParseFloat(m[1], 64)
	}
	if len(hidden) != 2 {
		t.Fatalf("the style hides labels of the classes %v, want two", hidden)
	}
	for top := 1.; top <= longest; top += .05 {
		a := axis{top * 1.03}
		for column := 150.; column < 600; column++ {
			for _, width := range []float64{column, column - numbers} {
				end, labels := -gap, 0
				for _, tick := range a.ticks() {
					if column <= hidden[tick.Class] {
						continue
					}
					share, err := strconv.ParseFloat(strings.TrimSuffix(tick.X, "%"), 64)
					if err != nil {
						t.Fatal(err)
					}
					size := character * float64(len(tick.Text))
					left := share*width/100 - map[string]float64{"start": 0, "middle": size / 2, "end": size}[tick.Anchor]
					if left < end+gap {
						t.Fatalf("maximum %.2f, %.0f px of %.0f: %s begins at %.1f, the label before it ends at %.1f", top, width, column, tick.Text, left, end)
					}
					end, labels = left+size, labels+1
				}
				if end > width+10 || labels < 2 {
					t.Fatalf("maximum %.2f, %.0f px of %.0f: %d labels, which end at %.1f", top, width, column, labels, end)
				}
			}
		}
	}
}
