package page_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
	"plimsoll/internal/trend"
	"plimsoll/internal/trend/page"
)

const hostile = `<script>alert("x")</script>`

// made is a trend with hostile words, a frozen and a provisional change, and a line of one run.
func made(runs int) *trend.Trend {
	t := &trend.Trend{Format: trend.Format, Study: "nightly" + hostile, LeftOut: []trend.LeftOut{{Folder: hostile, Reason: hostile}}}
	s := trend.Series{ID: "0123456789ab", Differs: []trend.Difference{{Name: "kernel.release", From: "6.1", To: hostile}}}
	l := trend.Line{Metric: measure.Metric{Name: "operations", Unit: "1/s", Better: measure.HigherIsBetter}, Arm: hostile, Least: 13, Level: 19_000, Low: 18_900, High: 19_100, Spread: .01}
	for i := range runs {
		s.Runs = append(s.Runs, trend.Run{Folder: fmt.Sprint("results/", i, hostile), Started: time.Date(2026, 3, 1+i, 4, 30, 0, 0, time.Local), Version: "1.0"})
		v := 20_000 + 100*float64(i%7)
		if i >= runs/2 {
			v *= .95
		}
		l.Points = append(l.Points, trend.Point{Run: i, Blocks: 3, Value: v, Low: v * .99, High: v * 1.01})
	}
	if runs >= 26 {
		change := trend.Change{
			Run: runs / 2, Before: runs/2 - 1, Started: s.Runs[runs/2].Started, State: trend.Frozen, Ratio: .95, Low: .94, High: .96, Verdict: finding.Worse,
			Along: []trend.Difference{{Name: "plimsoll", From: "1.0", To: hostile}},
		}
		late := change
		late.Run, late.Before, late.State, late.More, late.Verdict, late.Ratio, late.Low, late.High = runs-6, runs-7, trend.Provisional, 4, finding.Better, 1.04, 1.03, 1.05
		l.Changes = []trend.Change{change, late}
	}
	ratio := l
	ratio.Against, ratio.Changes, ratio.Points = "pinned", nil, nil
	for _, p := range l.Points {
		ratio.Points = append(ratio.Points, trend.Point{Run: p.Run, Blocks: 3, Value: p.Value / 20_000, Low: p.Low / 20_000, High: p.High / 20_000})
	}
	ratio.Level, ratio.Low, ratio.High = 1.02, 1.01, 1.03
	s.Lines = []trend.Line{l, ratio}
	t.Series = []trend.Series{s}
	if runs >= l.Least {
		t.Judged, t.ByChance = 2, .004
	}
	return t
}

func written(t *testing.T, of *trend.Trend) string {
	t.Helper()
	shown := page.Shown{Trend: of}
	text, err := shown.Page()
	if err != nil || shown.JSON() != any(of) {
		t.Fatal(err)
	}
	return string(text)
}

func TestWordsOfAStudyStayText(t *testing.T) {
	text := written(t, made(40))
	if strings.Contains(text, "<script") || strings.Contains(text, "ZgotmplZ") {
		t.Error("a word of a study became an element")
	}
	if !strings.Contains(text, "default-src &#39;none&#39;") || strings.Contains(strings.ReplaceAll(text, "http://www.w3.org/2000/svg", ""), "http:") {
		t.Error("no strict policy, or something of elsewhere")
	}
	for _, want := range []string{"Provisional change", "−5.0 % (−6.0 % to −4.0 %)", "worse, frozen", "provisional, 4 more runs until it is frozen", "Left out"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q on the page", want)
		}
	}
}

// A provisional change has no colour.
func TestOnlyWhatIsFrozenHasAColour(t *testing.T) {
	text := written(t, made(40))
	for class, want := range map[string]int{`class="change frozen worse"`: 2, `class="change provisional open"`: 2, `class="said worse"`: 1, `class="said open"`: 1, `provisional better`: 0} {
		if got := strings.Count(text, class); got != want {
			t.Errorf("%s is there %d times, want %d", class, got, want)
		}
	}
}

// The level is that since the last change only where there is one: of two lines in 40 runs, and of none in 5.
func TestLevelSinceAChange(t *testing.T) {
	for runs, want := range map[int]int{40: 1, 5: 0} {
		if got := strings.Count(written(t, made(runs)), " since the last change;"); got != want {
			t.Errorf("%d runs: %d levels since a change, want %d", runs, got, want)
		}
	}
}

var svg = regexp.MustCompile(`(?s)<svg xmlns.*?</svg>`)

func TestDrawingsAreWellFormed(t *testing.T) {
	for _, runs := range []int{1, 2, 5, 40, 300} {
		drawings := svg.FindAllString(written(t, made(runs)), -1)
		if len(drawings) != 4 {
			t.Fatalf("%d runs: %d drawings, want 4", runs, len(drawings))
		}
		ids := map[string]bool{}
		for _, d := range drawings {
			marks := 0
			for decoder := xml.NewDecoder(strings.NewReader(d)); ; {
				token, err := decoder.Token()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatalf("%d runs: %v in %s", runs, err, d)
				}
				if e, ok := token.(xml.StartElement); ok {
					for _, a := range e.Attr {
						if a.Name.Local == "id" && ids[a.Value] {
							t.Errorf("the id %s twice", a.Value)
						}
						ids[a.Value] = a.Name.Local == "id" || ids[a.Value]
						if a.Name.Local == "data-row" && e.Name.Local == "path" && strings.Contains(d, "class=\"m ") {
							marks++
						}
						if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
							t.Errorf("%d runs: %s=%s", runs, a.Name.Local, a.Value)
						}
					}
				}
			}
			if marks < runs {
				t.Errorf("%d marks of %d runs", marks, runs)
			}
		}
	}
}

// The drawing is that of the data: positions are linear in the values.
func TestMarksStandWhereTheirValuesAre(t *testing.T) {
	of := made(30)
	drawing := svg.FindString(written(t, of))
	mark := regexp.MustCompile(`class="m a0" data-row="(\d+)" transform="translate\(([\d.]+) ([\d.]+)\)"`)
	found := mark.FindAllStringSubmatch(drawing, -1)
	if len(found) != 30 {
		t.Fatalf("%d marks", len(found))
	}
	number := func(s string) float64 { v, _ := strconv.ParseFloat(s, 64); return v }
	points := of.Series[0].Lines[0].Points
	slope := (number(found[20][3]) - number(found[0][3])) / (points[20].Value - points[0].Value)
	for _, m := range found {
		row, _ := strconv.Atoi(m[1])
		want := number(found[0][3]) + slope*(points[row].Value-points[0].Value)
		if math.Abs(want-number(m[3])) > .3 {
			t.Errorf("row %d is at %s, want %.1f", row, m[3], want)
		}
	}
}

func TestAPageWithoutRuns(t *testing.T) {
	if text := written(t, &trend.Trend{Study: "none"}); !strings.Contains(text, "No finished run") {
		t.Error(text)
	}
}
