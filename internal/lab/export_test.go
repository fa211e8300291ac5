package lab

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"plimsoll/internal/finding"
	"plimsoll/internal/stat"
)

// outside is what a reader knows who has nothing but an export.
type outside struct {
	headlines     []string
	margin, error float64
	least         int
	better        map[string]string
	values        map[string]map[[2]int]float64 // by metric, arm and block
	place         map[[2]int]int                // number of the trial of an arm in a block
}

func (o *outside) trial(arm, block, number int) {
	if o.place == nil {
		o.place, o.values, o.better = map[[2]int]int{}, map[string]map[[2]int]float64{}, map[string]string{}
	}
	o.place[[2]int{arm, block}] = number
}

func (o *outside) value(metric string, arm, block int, v float64) {
	if o.values[metric] == nil {
		o.values[metric] = map[[2]int]float64{}
	}
	o.values[metric][[2]int{arm, block}] = v
}

// verdict computes the comparison of an arm with the baseline anew.
func (o *outside) verdict(metric string, arm int) (e stat.Effect, verdict finding.Verdict) {
	var blocks []stat.Block
	for block := range 1000 {
		x, ok := o.values[metric][[2]int{0, block}]
		y, found := o.values[metric][[2]int{arm, block}]
		if ok && found {
			blocks = append(blocks, stat.Block{Base: math.Log(x), Arm: math.Log(y), BaseAt: float64(o.place[[2]int{0, block}]), ArmAt: float64(o.place[[2]int{arm, block}])})
		}
	}
	e = stat.Contrast(blocks, o.error)
	verdict = finding.NotEnoughRuns
	if e.N < o.least {
		return e, verdict
	}
	switch answer := stat.Judge(e.Low, e.High, o.margin); {
	case answer == stat.Equivalent:
		verdict = finding.Equivalent
	case (answer == stat.Above || answer == stat.Below) && o.better[metric] == "":
		verdict = finding.Changed
	case answer == stat.Above && o.better[metric] == "higher", answer == stat.Below && o.better[metric] == "lower":
		verdict = finding.Better
	case answer == stat.Above, answer == stat.Below:
		verdict = finding.Worse
	case answer != stat.Undecided:
		verdict = finding.Different
	}
	return e, verdict
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func fromJSON(t *testing.T, data []byte) *outside {
	var doc struct {
		Design struct {
			Headlines     []string
			Margin, Error float64
			Least         int
		}
		Metrics []struct{ Name, Better string }
		Records []struct {
			Trial, Block, Arm int
			Void              string
			Values            map[string]float64
		}
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	o := &outside{headlines: doc.Design.Headlines, margin: doc.Design.Margin, error: doc.Design.Error, least: doc.Design.Least}
	for _, r := range doc.Records {
		if r.Void != "" {
			continue
		}
		o.trial(r.Arm, r.Block, r.Trial)
		for name, v := range r.Values {
			o.value(name, r.Arm, r.Block, v)
		}
	}
	for _, m := range doc.Metrics {
		o.better[m.Name] = m.Better
	}
	return o
}

// fromRows reads the rows of CSV or Parquet, each by the names of its columns.
func fromRows(t *testing.T, rows []map[string]string) *outside {
	o := &outside{}
	for _, r := range rows {
		if r["valid"] != "true" {
			continue
		}
		arm, block := int(number(t, r["arm"])), int(number(t, r["block"]))
		o.trial(arm, block, int(number(t, r["trial"])))
		o.value(r["metric"], arm, block, number(t, r["value"]))
		o.better[r["metric"]] = r["better"]
		o.margin, o.error, o.least = number(t, r["margin"]), number(t, r["error"]), int(number(t, r["least"]))
		if r["headline"] == "true" && !slices.Contains(o.headlines, r["metric"]) {
			o.headlines = append(o.headlines, r["metric"])
		}
	}
	return o
}

func fromCSV(t *testing.T, data []byte) *outside {
	lines, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows []map[string]string
	for _, l := range lines[1:] {
		r := map[string]string{}
		for k, name := range lines[0] {
			r[name] = l[k]
		}
		rows = append(rows, r)
	}
	return fromRows(t, rows)
}

func fromParquet(t *testing.T, data []byte) *outside {
	type named struct {
		Trial    int64    `parquet:"trial"`
		Block    int64    `parquet:"block"`
		Arm      int64    `parquet:"arm"`
		Least    int64    `parquet:"least"`
		Valid    bool     `parquet:"valid"`
		Headline bool     `parquet:"headline"`
		Metric   string   `parquet:"metric"`
		Better   string   `parquet:"better"`
		Value    *float64 `parquet:"value,optional"`
		Margin   float64  `parquet:"margin"`
		Error    float64  `parquet:"error"`
	}
	read, err := parquet.Read[named](bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	text := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	var rows []map[string]string
	for _, r := range read {
		one := map[string]string{"trial": fmt.Sprint(r.Trial), "block": fmt.Sprint(r.Block), "arm": fmt.Sprint(r.Arm), "least": fmt.Sprint(r.Least),
			"valid": fmt.Sprint(r.Valid), "headline": fmt.Sprint(r.Headline), "metric": r.Metric, "better": r.Better, "margin": text(r.Margin), "error": text(r.Error)}
		if r.Value != nil {
			one["value"] = text(*r.Value)
		}
		rows = append(rows, one)
	}
	return fromRows(t, rows)
}

func fromBenchfmt(t *testing.T, data []byte) *outside {
	o := &outside{}
	o.trial(-1, -1, 0)
	var arm, block int
	for _, line := range strings.Split(string(data), "\n") {
		fields := strings.Fields(line)
		if design, found := strings.CutPrefix(line, "# design."); found {
			name, value, _ := strings.Cut(design, ": ")
			switch name {
			case "headlines":
				o.headlines = strings.Fields(value)
			case "margin":
				o.margin = number(t, value)
			case "error":
				o.error = number(t, value)
			case "least":
				o.least = int(number(t, value))
			}
			continue
		}
		var trial, slot int
		var phase string
		if n, _ := fmt.Sscanf(strings.ReplaceAll(line, ",", ""), "# trial %d phase %s block %d slot %d arm %d", &trial, &phase, &block, &slot, &arm); n == 5 {
			o.trial(arm, block, trial)
			continue
		}
		switch {
		case strings.HasPrefix(line, "Unit "):
			o.better[fields[1]] = strings.TrimPrefix(fields[2], "better=")
		case strings.HasPrefix(line, "Benchmark"):
			for k := 2; k+1 < len(fields); k += 2 {
				o.value(fields[k+1], arm, block, number(t, fields[k]))
			}
		}
	}
	return o
}

// The verdict of each headline, with its effect and interval, follows from an export
// alone, in every format.
func TestVerdictsFollowFromAnExport(t *testing.T) {
	t.Parallel()
	run := ran(t, "tutorial-ab", 7, "measure.blocks=6")
	l := &Lab{Catalog: few(), Version: "test"}
	for format, read := range map[string]func(*testing.T, []byte) *outside{"json": fromJSON, "csv": fromCSV, "parquet": fromParquet, "benchfmt": fromBenchfmt} {
		var out bytes.Buffer
		if err := l.Export(&out, run.Dir, format); err != nil {
			t.Fatal(err)
		}
		o := read(t, out.Bytes())
		if len(o.headlines) != 2 {
			t.Fatalf("%s: headlines %q", format, o.headlines)
		}
		for i := range run.Findings.Headlines {
			want := &run.Findings.Headlines[i]
			name := o.headlines[slices.IndexFunc(o.headlines, func(h string) bool { return strings.TrimSuffix(h, "-sec") == want.Metric.Name })]
			e, verdict := o.verdict(name, want.Arm)
			near := func(log, ratio float64) bool { return math.Abs(math.Exp(log)/ratio-1) < 1e-9 }
			if e.N != want.Blocks || !near(e.Mean, want.Ratio) || !near(e.Low, want.Low) || !near(e.High, want.High) || verdict != want.Verdict {
				t.Errorf("%s: %s is %g from %g to %g, %s on %d blocks; want %g from %g to %g, %s on %d", format, name,
					math.Exp(e.Mean), math.Exp(e.Low), math.Exp(e.High), verdict, e.N, want.Ratio, want.Low, want.High, want.Verdict, want.Blocks)
			}
		}
	}
}
