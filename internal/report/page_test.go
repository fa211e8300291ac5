package report_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/judge"
	"plimsoll/internal/finding/rule"
	"plimsoll/internal/finding/table"
	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/quantity"
	"plimsoll/internal/report"
	"plimsoll/internal/report/figure"
	"plimsoll/internal/report/forest"
	"plimsoll/internal/report/page"
	"plimsoll/internal/sentence"
)

// pages are the pages of the fixtures, each made once.
var pages = func() map[string]func() string {
	all := map[string]func() string{}
	for name := range fixtures() {
		all[name] = sync.OnceValue(func() string {
			var b bytes.Buffer
			if err := page.Write(&b, judged[name]()); err != nil {
				panic(err)
			}
			return b.String()
		})
	}
	return all
}()

func page1(t testing.TB, in report.Input) string {
	t.Helper()
	var b bytes.Buffer
	if err := page.Write(&b, in); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The same input gives the same bytes, in whatever order its records come.
func TestSameInputSameBytes(t *testing.T) {
	for name := range fixtures() {
		in := rendered(t, name)
		first := pages[name]()
		in.Records = slices.Clone(in.Records)
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(in.Records), func(i, j int) { in.Records[i], in.Records[j] = in.Records[j], in.Records[i] })
		if page1(t, in) != first {
			t.Errorf("%s: a second report, of shuffled records, differs from the first", name)
		}
	}
}

var addresses = regexp.MustCompile(`(?:href|src|action|srcset|poster)\s*=\s*["']([^"']*)["']|url\(([^)]*)\)|@import`)

// The page refers to nothing but itself and what it holds, and has no script.
func TestPageOpensNothing(t *testing.T) {
	for name, page := range pages {
		text := page()
		for _, m := range addresses.FindAllStringSubmatch(text, -1) {
			to := strings.Trim(m[1]+m[2], `"'`)
			if !strings.HasPrefix(to, "#") && !strings.HasPrefix(to, "data:") {
				t.Errorf("%s refers to %q", name, to)
			}
		}
		rest := strings.ReplaceAll(text, "http://www.w3.org/2000/svg", "")
		for _, bad := range []string{"http://", "https://", `"//`, "<script", "javascript:", " style=", " onclick=", " onload=", "<iframe", "<object", "<base"} {
			if at := strings.Index(rest, bad); at >= 0 {
				t.Errorf("%s holds %q: %.120s", name, bad, rest[at:])
			}
		}
		if !strings.Contains(text, "default-src &#39;none&#39;; style-src &#39;sha256-") {
			t.Errorf("%s has no strict policy", name)
		}
	}
}

// What comes from a study, a machine or a program is text, whatever it holds.
func TestWordsAreNotMarkup(t *testing.T) {
	f := fixtures()["void"]
	f.question = `<script>alert(1)</script> "quoted" & 'so'`
	f.name = `a/../b<i>`
	f.levels = []string{"1", `<img src=x onerror="1">`}
	in := f.input(t)
	in.StudyText = []byte("study: </pre><script>bad</script>\xff")
	in.Testbed = append(in.Testbed, report.TestbedLine{Name: "x.<b>y</b>", Value: "</dl><svg onload=1>"})
	in.Command = "run </code><script>"
	in.Findings.Explanations = append(in.Findings.Explanations, finding.Explanation{Rule: "<u>", Sentence: sentence.Sentence{Text: "x <b>1</b>", Numbers: []sentence.Number{{ID: `"><i>`, Text: "1", At: 5}}}})
	text := page1(t, in)
	for _, bad := range []string{"<script", "<img", "<i>", "<svg onload", "<b>", "<u>"} {
		if strings.Contains(text, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if !strings.Contains(text, `download="a-..-b-i--findings.json.gz"`) {
		t.Error("the name of the download is not safe")
	}
}

var tags = regexp.MustCompile(`<(/?)([a-z][a-z0-9]*)([^>]*)>`)

// Headings are in order, ids are unique and there for every reference, figures
// have names, and all that scrolls can be reached by key.
func TestPageCanBeWalked(t *testing.T) {
	embedded := regexp.MustCompile(`"data:[^"]*"`)
	for name, page := range pages {
		text := embedded.ReplaceAllString(page(), `""`)
		ids := map[string]int{}
		var refs []string
		level := 0
		attribute := func(attrs, key string) (string, bool) {
			_, after, found := strings.Cut(" "+attrs, " "+key+`="`)
			value, _, _ := strings.Cut(after, `"`)
			return value, found
		}
		ones := 0
		for _, m := range tags.FindAllStringSubmatch(text, -1) {
			closing, tag, attrs := m[1] == "/", m[2], m[3]
			if closing {
				continue
			}
			if id, ok := attribute(attrs, "id"); ok {
				ids[id]++
			}
			if to, ok := attribute(attrs, "href"); ok && strings.HasPrefix(to, "#") {
				refs = append(refs, to[1:])
			}
			if to, ok := attribute(attrs, "aria-labelledby"); ok {
				refs = append(refs, strings.Fields(to)...)
			}
			if len(tag) == 2 && tag[0] == 'h' && tag[1] >= '1' && tag[1] <= '6' {
				n := int(tag[1] - '0')
				if n > level+1 {
					t.Errorf("%s: h%d follows h%d", name, n, level)
				}
				level = n
				if n == 1 {
					ones++
				}
			}
			_, hidden := attribute(attrs, "aria-hidden")
			if role, _ := attribute(attrs, "role"); tag == "svg" && role != "img" && !hidden {
				t.Errorf("%s: an svg without a role", name)
			}
			if tag == "th" && !strings.Contains(attrs, "scope=") {
				t.Errorf("%s: a header cell without a scope", name)
			}
			if v, ok := attribute(attrs, "tabindex"); ok && v != "0" {
				t.Errorf("%s: tabindex %s", name, v)
			}
		}
		for id, n := range ids {
			if n != 1 {
				t.Errorf("%s: id %q stands %d times", name, id, n)
			}
		}
		for _, r := range refs {
			if ids[r] == 0 {
				t.Errorf("%s: nothing has the id %q", name, r)
			}
		}
		if ones != 1 || !strings.Contains(text, `<html lang="en">`) {
			t.Errorf("%s: %d h1, or no language", name, ones)
		}
	}
}

var numbers = regexp.MustCompile(`<data value="([^"]*)" data-id="([^"]*)">([^<]*)</data>`)

// oracle looks a number up in the findings anew, and writes it.
func oracle(f *finding.Findings, in report.Input, id string) (value float64, text string, ok bool) {
	if strings.HasPrefix(id, "round:1:") { // what must not suffer, of the fixture that has a story
		g := in.Findings.Tuning.Rounds[0].Guards
		return oracle(&finding.Findings{Headlines: g}, in, strings.TrimPrefix(id, "round:1:"))
	}
	cut := strings.LastIndexByte(id, '/')
	what, field := id[:cut], id[cut+1:]
	if what == "study" {
		switch field {
		case "margin":
			return f.Margin, quantity.Share(f.Margin), true
		case "level":
			return f.Level, quantity.Share(f.Level), true
		case "settle":
			return in.Study.Measure.Settle.Seconds(), quantity.Of(in.Study.Measure.Settle.Seconds(), "s"), true
		case "window":
			return in.Study.Measure.Window.Seconds(), quantity.Of(in.Study.Measure.Window.Seconds(), "s"), true
		case "longest":
			return in.Study.Measure.Longest.Seconds(), quantity.Of(in.Study.Measure.Longest.Seconds(), "s"), true
		case "summary level":
			return .95, "95 %", true
		case "false alarms":
			return .05, "5 %", true
		case "seed":
			return float64(f.Seed), fmt.Sprint(f.Seed), true
		}
		n, known := map[string]int{"arms": len(f.Arms), "trials": f.Trials, "void": len(f.Void), "blocks": f.Blocks, "planned": f.Planned, "least": f.Least}[field]
		if strings.HasPrefix(field, "look ") {
			i, _ := strconv.Atoi(field[5:])
			n, known = in.Plan.Looks[i-1], true
		}
		return float64(n), fmt.Sprint(n), known
	}
	if arm, found := strings.CutPrefix(what, "peak:"); found {
		i, _ := strconv.Atoi(arm)
		p := f.Peaks[i]
		v := map[string]float64{"estimate": p.Estimate, "low": p.Low, "high": p.High, "sustained": p.Sustained}[field]
		return v, report.Amount(v, (p.High-p.Low)/2, "1/s"), true
	}
	if size, found := strings.CutPrefix(what, "scale:"); found {
		return scaleOracle(f.ScaleOut, size, field)
	}
	var c *finding.Comparison
	if n, found := strings.CutPrefix(what, "round:"); found {
		i, _ := strconv.Atoi(n)
		r := f.Tuning.Rounds[i-1]
		if field == "bound" {
			return r.BoundRatio() - 1, report.Within(r.BoundRatio(), r.Verification.Low, r.Verification.High), true
		}
		c = r.Verification
	}
	name, arm, _ := strings.Cut(what, "@")
	for i := range f.Summaries {
		s := &f.Summaries[i]
		if s.Metric.Name != name || fmt.Sprint(s.Arm) != arm {
			continue
		}
		switch field {
		case "mean":
			mean, _ := report.Interval(s.Mean, s.Low, s.High, s.Metric.Unit)
			return s.Mean, mean, true
		case "from":
			return s.Low, report.Amount(s.Low, (s.High-s.Low)/2, s.Metric.Unit), true
		case "to":
			_, between := report.Interval(s.Mean, s.Low, s.High, s.Metric.Unit)
			_, to, _ := strings.Cut(between, " to ")
			return s.High, to, true
		case "trials":
			return float64(s.Trials), fmt.Sprint(s.Trials), true
		}
	}
	comparisons := slices.Concat(f.Headlines, f.Exploratory)
	for i := range comparisons {
		if h := &comparisons[i]; c == nil && h.Metric.Name == name && fmt.Sprint(h.Arm) == arm {
			c = h
		}
	}
	if c == nil {
		return 0, "", false
	}
	switch field {
	case "change":
		return c.Ratio - 1, report.Within(c.Ratio, c.Low, c.High), true
	case "low":
		return c.Low - 1, report.Within(c.Low, c.Low, c.High), true
	case "high":
		return c.High - 1, report.Within(c.High, c.Low, c.High), true
	case "blocks":
		return float64(c.Blocks), fmt.Sprint(c.Blocks), true
	case "more":
		return float64(c.More), fmt.Sprint(c.More), true
	case "level":
		return c.Level, quantity.Share(c.Level), true
	case "least":
		return float64(c.Least), fmt.Sprint(c.Least), true
	case "reach":
		return c.Reach.Margin, fmt.Sprintf("%.2g %%", 100*c.Reach.Margin), true
	case "reach blocks":
		return float64(c.Reach.Blocks), fmt.Sprint(c.Reach.Blocks), true
	}
	return 0, "", false
}

// scaleOracle is the oracle of the scale-out.
func scaleOracle(o *finding.ScaleOut, size, field string) (value float64, text string, ok bool) {
	at := func(e finding.Estimate, unit string) (float64, string, bool) {
		half := (e.High - e.Low) / 2
		if e.Open {
			half = e.Value - e.Low
		}
		v := e.Value
		switch {
		case strings.HasSuffix(field, " low"):
			v = e.Low
		case strings.HasSuffix(field, " high"):
			v = e.High
		}
		return v, report.Amount(v, half, unit), true
	}
	name := strings.TrimSuffix(strings.TrimSuffix(field, " low"), " high")
	if size == "law" {
		switch name {
		case "peak":
			return at(*o.Law.Peak, "1")
		case "rate":
			return at(*o.Law.PeakRate, o.Metric.Unit)
		case "reach":
			n := 2 * o.Sizes[len(o.Sizes)-1].Units
			return float64(n), fmt.Sprint(n), true
		}
		return 0, "", false
	}
	for _, z := range o.Sizes {
		switch {
		case fmt.Sprint(z.Units) != size:
		case name == "units":
			return float64(z.Units), size, true
		case name == "mean":
			return at(finding.Estimate{Value: z.Mean, Low: z.Low, High: z.High}, o.Metric.Unit)
		case name == "efficiency":
			return at(finding.Estimate{Value: z.Efficiency, Low: z.EfficiencyLow, High: z.EfficiencyHigh}, "share")
		}
	}
	return 0, "", false
}

// Every number in a sentence of the page follows from the findings by its name.
func TestNumbersInSentencesFollowFromFindings(t *testing.T) {
	held := 0
	for name := range fixtures() {
		in := rendered(t, name)
		for _, m := range numbers.FindAllStringSubmatch(pages[name](), -1) {
			id := html.UnescapeString(m[2])
			if strings.HasSuffix(id, "/from") && m[1] == m[3] || strings.HasSuffix(id, "/to") && m[1] == m[3] || strings.HasPrefix(id, "gain:") {
				continue // the levels of a change, which are names, or what an earlier run predicted
			}
			value, text, ok := oracle(in.Findings, in, id)
			if !ok {
				t.Errorf("%s: the test knows no number %q", name, id)
				continue
			}
			if html.UnescapeString(m[3]) != report.Typeset(text) {
				t.Errorf("%s: %s stands as %q and is %q", name, id, m[3], report.Typeset(text))
			}
			if got, err := strconv.ParseFloat(m[1], 64); err != nil || got != value {
				t.Errorf("%s: %s has the value %s and is %v", name, id, m[1], value)
			}
			held++
		}
	}
	if held < 100 {
		t.Errorf("only %d numbers were held against the findings", held)
	}
}

// A sentence of an earlier run has names that mean other numbers in the last one: it
// keeps its own.
func TestSentencesOfEarlierRunsKeepTheirNumbers(t *testing.T) {
	text := pages["decided"]()
	for _, want := range []string{
		`<data value="0.11099999999999999" data-id="round:1:write.p99@1/change">+11.1 %</data>`,
		`data-id="round:1:write.p99@1/high">+12.2 %</data>`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

// The CSV beneath a figure is its table.
func TestCSVIsEmbedded(t *testing.T) {
	in := rendered(t, "decided")
	text := page1(t, in)
	table, _ := forest.Headlines().Table(report.New(in))
	m := regexp.MustCompile(`download="queue-depth-forest.csv" href="data:text/csv;charset=utf-8;base64,([^"]*)"`).FindStringSubmatch(text)
	if m == nil {
		t.Fatal("the CSV of the forest plot is not there")
	}
	data, err := base64.StdEncoding.DecodeString(html.UnescapeString(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(data, table.CSV()) {
		t.Errorf("the CSV is\n%s\nand the table\n%s", data, table.CSV())
	}
}

// Nothing that findings may hold makes a report fail.
func TestOddInputs(t *testing.T) {
	odd := finding.Comparison{Metric: measure.Metric{Name: "iops", Unit: "1/s"}, Arm: 7, Verdict: finding.Different, NoInterval: true}
	for name, in := range map[string]report.Input{
		"nothing":      {},
		"no study":     {Findings: &finding.Findings{Headlines: []finding.Comparison{odd}}},
		"zero":         {Findings: &finding.Findings{Arms: make([]plan.Arm, 2), Headlines: []finding.Comparison{{Arm: 1, Verdict: finding.Better}}}},
		"wide":         {Findings: &finding.Findings{Arms: make([]plan.Arm, 2), Headlines: []finding.Comparison{{Arm: 1, Ratio: 1e9, Low: 1e-9, High: math.MaxFloat64}}}},
		"empty tuning": {Findings: &finding.Findings{Tuning: &finding.Tuning{Rounds: []finding.Round{{}, {Verification: &odd}, {Recommendation: &finding.Recommendation{}, Verification: &odd}}}}},
		"broken files": brokenFiles(t),
		"only voids":   onlyVoids(t),
	} {
		for ending, write := range writers() {
			var b bytes.Buffer
			if err := write(&b, in); err != nil {
				t.Errorf("%s%s: %v", name, ending, err)
			}
			if strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "%!") {
				t.Errorf("%s%s holds a number that is none", name, ending)
			}
		}
	}
}

func brokenFiles(t *testing.T) report.Input {
	in := rendered(t, "decided")
	in.Series = func(int) ([]measure.Interval, error) { return nil, errors.New("damaged") }
	in.Histogram = func(int, string) (*measure.Histogram, error) { return nil, errors.New("damaged") }
	return in
}

func onlyVoids(t *testing.T) report.Input {
	in := rendered(t, "decided")
	in.Records = slices.Clone(in.Records)
	for i := range in.Records {
		in.Records[i].Void, in.Records[i].Values = "fio died", nil
	}
	in.Findings = judge.Study(table.Case{Plan: in.Plan, Study: in.Study, Metrics: in.Metrics, Rate: "iops", Disks: true, Sources: in.Counters, Records: in.Records}, rule.All())
	return in
}

// A void trial is named with its cause and what the program printed.
func TestVoidTrialsAreInTheLedger(t *testing.T) {
	text := page1(t, rendered(t, "void"))
	for _, want := range []string{"<strong>Trial 5</strong>", "fio died: exit status 1", "No space left on device", "&lt;b&gt;not markup&lt;/b&gt;"} {
		if !strings.Contains(text, want) {
			t.Errorf("the ledger lacks %q", want)
		}
	}
}

// A report of 30 trials is small and quick, and one of 10,000 reads a few of them.
func TestCost(t *testing.T) {
	start := time.Now()
	text := page1(t, rendered(t, "sweep"))
	if size := len(text); size > 2_000_000 {
		t.Errorf("a report of 30 trials has %d bytes", size)
	}
	if d := time.Since(start); d > 3*time.Second { // the promise is 1 s; tests share the machine
		t.Errorf("a report of 30 trials took %v", d)
	}
	f := fixtures()["sweep"]
	f.blocks = 2000
	in := f.input(t)
	if len(in.Records) != 10_000 {
		t.Fatalf("%d trials", len(in.Records))
	}
	read := 0
	series, histogram := in.Series, in.Histogram
	in.Series = func(n int) ([]measure.Interval, error) { read++; return series(n) }
	in.Histogram = func(n int, class string) (*measure.Histogram, error) { read++; return histogram(n, class) }
	start = time.Now()
	text = page1(t, in)
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("a report of 10,000 trials took %v", d)
	} else {
		t.Logf("10,000 trials: %v, %d bytes, %d files read", d, len(text), read)
	}
	if len(text) > 2_000_000 {
		t.Errorf("a report of 10,000 trials has %d bytes", len(text))
	}
	if read > figure.MostCurves+figure.MostSeries+figure.MostVoidSeries {
		t.Errorf("%d files of trials were read", read)
	}
}
