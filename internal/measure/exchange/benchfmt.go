package exchange

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"plimsoll/internal/measure"
)

// writeBenchfmt writes a run in the Go benchmark format
// (golang.org/design/14313-benchmark-format), which benchstat reads: a line per valid trial,
// with its number of operations and metrics. As in a verdict, a block counts if every arm has
// a valid trial in it. The unit is the metric's name, with its base unit appended if the name
// does not imply it: "iops", "write.p99-sec", "throughput-B/s".
//
// Design, testbed and the position of each trial are in comments, because benchstat does not
// compare benchmarks whose configuration differs.
func writeBenchfmt(w io.Writer, run Run) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "study: %s\nworkload: %s\n", oneLine(run.Study), oneLine(run.Workload))
	for _, name := range slices.Sorted(maps.Keys(run.Testbed)) {
		fmt.Fprintf(out, "# %s: %s\n", oneLine(name), oneLine(run.Testbed[name]))
	}
	run.comments(out)
	counted := run.counted()
	for _, m := range run.Metrics {
		if !slices.ContainsFunc(counted, func(r *measure.Record) bool { _, ok := r.Values[m.Name]; return ok }) {
			continue
		}
		// No metric is exact: a trial is a sample.
		if m.Better != measure.Neutral {
			fmt.Fprintf(out, "Unit %s better=%s assume=nothing\n", unit(m), m.Better)
		}
	}
	fmt.Fprintln(out)
	names := run.benchmarks()
	for _, r := range counted {
		fmt.Fprintf(out, "# trial %d, phase %s, block %d, slot %d, arm %d%s\n", r.Trial, oneLine(r.Phase), r.Block, r.Slot, r.Arm, counts(r))
		fmt.Fprintf(out, "%s %d", names[r.Arm], max(1, r.Counts["operations"]))
		for m, v := range run.values(&measure.Record{Values: r.Values}) {
			fmt.Fprintf(out, " %s %s", number(v), unit(m))
		}
		fmt.Fprintln(out)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write Go benchmark format: %w", err)
	}
	return nil
}

// comments writes the design and the testbed. Headlines are named by their units.
func (r Run) comments(out io.Writer) {
	d := &r.Design
	var headlines []string
	for _, name := range d.Headlines {
		if i := slices.IndexFunc(r.Metrics, func(m measure.Metric) bool { return m.Name == name }); i >= 0 {
			headlines = append(headlines, unit(r.Metrics[i]))
		}
	}
	fmt.Fprintf(out, "# design.seed: %d\n# design.headlines: %s\n", d.Seed, strings.Join(headlines, " "))
	fmt.Fprintf(out, "# design.margin: %s\n# design.level: %s\n# design.error: %s\n", number(d.Margin), number(d.Level), number(d.Error))
	fmt.Fprintf(out, "# design.looks: %s\n# design.least: %d\n# design.planned: %d\n# design.pilot: %d\n", d.looks(), d.Least, d.Planned, d.Pilot)
}

// counts lists the counts of a trial except operations, which are the iterations.
func counts(r *measure.Record) string {
	text := ""
	for _, name := range slices.Sorted(maps.Keys(r.Counts)) {
		if name != "operations" {
			text += fmt.Sprintf(", %s %d", word(name), r.Counts[name])
		}
	}
	return text
}

// counted lists the valid trials of the blocks in which every arm has one.
func (r Run) counted() []*measure.Record {
	type block struct {
		phase  string
		number int
	}
	arms := map[block]map[int]bool{}
	for i := range r.Records {
		if one := &r.Records[i]; one.Valid() && len(one.Values) > 0 {
			key := block{one.Phase, one.Block}
			if arms[key] == nil {
				arms[key] = map[int]bool{}
			}
			arms[key][one.Arm] = true
		}
	}
	var counted []*measure.Record
	for i := range r.Records {
		one := &r.Records[i]
		if one.Valid() && len(one.Values) > 0 && len(arms[block{one.Phase, one.Block}]) >= len(r.Labels) {
			counted = append(counted, one)
		}
	}
	return counted
}

// unit is the benchfmt unit of a metric. benchstat scales by its suffix: bytes in powers of
// two, the rest in powers of ten.
func unit(m measure.Metric) string {
	name := word(m.Name)
	switch m.Unit {
	case "s":
		return name + "-sec"
	case "B", "B/s":
		return name + "-" + m.Unit
	}
	return name
}

// benchmarks names the benchmark of each arm after the workload and the levels
// that differ among arms: BenchmarkStorage/threads=2.
func (r Run) benchmarks() map[int]string {
	levels := map[int]map[string]string{}
	for i := range r.Records {
		if _, seen := levels[r.Records[i].Arm]; !seen {
			levels[r.Records[i].Arm] = r.Records[i].Levels
		}
	}
	varied := r.varied(levels)
	names, taken := map[int]string{}, map[string]bool{}
	for _, arm := range slices.Sorted(maps.Keys(levels)) {
		name := "Benchmark" + title(word(r.Workload))
		for _, factor := range varied {
			name += "/" + word(strings.TrimPrefix(factor, r.Workload+".")) + "=" + word(levels[arm][factor])
		}
		// A number after a last hyphen would be read as GOMAXPROCS.
		if i := strings.LastIndexByte(name, '-'); i >= 0 {
			if _, err := strconv.Atoi(name[i+1:]); err == nil {
				name = name[:i] + "_" + name[i+1:]
			}
		}
		if taken[name] {
			name += "/arm=" + strconv.Itoa(arm)
		}
		taken[name] = true
		names[arm] = name
	}
	return names
}

// varied lists the factors whose level differs among arms, in the order in which
// the labels name them.
func (r Run) varied(levels map[int]map[string]string) []string {
	seen := map[string]map[string]bool{}
	for _, of := range levels {
		for factor, level := range of {
			if seen[factor] == nil {
				seen[factor] = map[string]bool{}
			}
			seen[factor][level] = true
		}
	}
	var varied []string
	for _, factor := range slices.Sorted(maps.Keys(seen)) {
		if len(seen[factor]) > 1 {
			varied = append(varied, factor)
		}
	}
	place := func(factor string) int { return strings.Index(r.label(0), factor+"=") }
	slices.SortStableFunc(varied, func(a, b string) int { return place(a) - place(b) })
	return varied
}

// word removes separators from a name.
func word(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsSpace(c) || unicode.IsControl(c) || c == '/' {
			return '_'
		}
		return c
	}, text)
}

func title(text string) string {
	for _, c := range text {
		return string(unicode.ToUpper(c)) + text[len(string(c)):]
	}
	return "Run"
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
