package imported

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/measure/foreign"
	"plimsoll/internal/measure/foreign/formats"
)

// foreignResults are what was read in a format of package formats.
type foreignResults struct {
	format   *foreign.Format
	path     string // of the first file
	classes  []string
	metrics  []measure.Metric    // that runs name
	arms     []int               // by record, if arms are named
	levels   []map[string]string // by record, if arms are named
	recorded []recording
}

// recording are the counters of a file.
type recording struct {
	arm    int
	path   string
	format *foreign.Format
	run    foreign.Run
}

// Recognised reports whether a file or folder holds results: it is a folder, or begins as one of the formats or as
// output of fio.
func Recognised(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	if info.IsDir() {
		return true
	}
	head, err := headOf(path)
	return err == nil && (formats.Sniff(formats.All(formats.Options{}), head) != nil || strings.Contains(string(head), `"fio version"`))
}

// open opens a regular file, through links.
func openRegular(path string) (*os.File, os.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("import results: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("import results: %s is not a regular file", path)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func headOf(path string) ([]byte, error) {
	f, _, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, foreign.Head))
}

// file imports a file, by the format that was named or by its first bytes. What no other format recognises is taken for
// output of fio, which may have lines before it.
func (in *Results) file(path string, arm int) error {
	all := formats.All(in.source.Options)
	if name := in.source.Format; name != "" && name != "fio" {
		i := slices.IndexFunc(all, func(f foreign.Format) bool { return f.Name == name })
		if i < 0 {
			return fmt.Errorf("unknown format %q; known: %s", name, strings.Join(FormatNames(), ", "))
		}
		return in.parse(path, arm, &all[i])
	}
	head, err := headOf(path)
	if err != nil {
		return err
	}
	if len(head) == 0 {
		return fmt.Errorf("%s is empty", path)
	}
	if f := formats.Sniff(all, head); f != nil && in.source.Format == "" {
		return in.parse(path, arm, f)
	}
	if in.foreign.format != nil {
		return fmt.Errorf("%s is %s, and %s is not recognised as such: import results of one tool at a time", in.foreign.path, in.foreign.format.Name, path)
	}
	const garbage = 16 << 20 // bytes before a brace that are no warnings of fio
	if info, err := os.Stat(path); err == nil && info.Size() > garbage && !strings.Contains(string(head), "{") {
		return Unrecognised(path)
	}
	return in.fio(path)
}

// FormatNames are the names of the formats of files.
func FormatNames() []string {
	names := []string{"fio"}
	for _, f := range formats.All(formats.Options{}) {
		names = append(names, f.Name)
	}
	return names
}

// parse reads the runs of a file.
func (in *Results) parse(path string, arm int, format *foreign.Format) error {
	f, info, err := openRegular(path)
	if err != nil {
		return err
	}
	defer f.Close()
	runs, err := format.Parse(foreign.NewText(f))
	if err != nil {
		return fmt.Errorf("%s: as %s: %w", path, format.Name, err)
	}
	if len(runs) == 0 {
		return fmt.Errorf("%s: it has no result of %s", path, format.Name)
	}
	for i := range runs {
		if err := runs[i].Check(); err != nil {
			return fmt.Errorf("%s: run %d of %s: %w", path, i+1, format.Name, err)
		}
		dated(&runs[i], info.ModTime())
	}
	if format.Counters {
		if len(runs) != 1 || runs[0].Void != "" {
			return fmt.Errorf("%s: %s", path, strings.TrimSpace(runs[0].Void+" (one recording per file is needed)"))
		}
		in.foreign.recorded = append(in.foreign.recorded, recording{arm, path, format, runs[0]})
		return nil
	}
	return in.results(path, format, runs)
}

// dated takes the time of a file for the end of a run that does not say when it was.
func dated(r *foreign.Run, changed time.Time) {
	if !r.Start.IsZero() {
		return
	}
	r.Start = changed.UTC().Add(-r.Length - r.Cut)
	r.Warn("the file does not say when it was measured: its time of modification is taken as the end")
}

// results adds the runs of a file.
func (in *Results) results(path string, format *foreign.Format, runs []foreign.Run) error {
	known := &in.foreign
	if known.format != nil && known.format.Name != format.Name {
		return fmt.Errorf("%s is %s, and %s is %s: import results of one tool at a time", known.path, known.format.Name, path, format.Name)
	}
	if known.format == nil && len(in.Records) > 0 {
		return fmt.Errorf("%s is %s, and the files before it are not: import results of one tool at a time", path, format.Name)
	}
	if known.format == nil {
		known.format, known.path = format, path
	}
	for i := range runs {
		in.tool(runs[i].Tool)
		known.classes = distinct(append(known.classes, runs[i].Classes...))
		known.metrics = named(known.metrics, runs[i].Metrics)
		in.add(runs[i].Record(), runs[i].Histograms)
	}
	return nil
}

// complete numbers the records, adds counters, and lists the metrics.
func (in *Results) complete(arms []Arm) error {
	if err := in.attach(arms); err != nil {
		return err
	}
	if in.source.Arms == nil {
		in.number()
	} else if err := in.name(arms); err != nil {
		return err
	}
	if f := in.foreign.format; f != nil {
		in.Format, in.Absent, in.Rate = f.Name, f.Absent, f.Rate
		in.Metrics = f.MetricsOf(in.Records, in.foreign.classes, in.foreign.metrics)
		in.lead()
	}
	return nil
}

// attach adds recordings of counters to the runs of the same arm, in order. Without any results they are the results.
func (in *Results) attach(arms []Arm) error {
	recorded := in.foreign.recorded
	if len(recorded) == 0 {
		return nil
	}
	var records []*measure.Record
	var of []int // arm of each
	if len(in.Records) == 0 {
		for _, r := range recorded {
			r.run.Values, r.run.Counters = r.run.Counters, nil
			if err := in.results(r.path, r.format, []foreign.Run{r.run}); err != nil {
				return err
			}
			in.Files = append(in.Files, r.path)
			in.foreign.arms, in.foreign.levels = append(in.foreign.arms, r.arm), append(in.foreign.levels, map[string]string{})
		}
		return nil
	}
	for i := range in.Records {
		records = append(records, &in.Records[i])
		of = append(of, 0)
		if in.source.Arms != nil {
			of[i] = in.foreign.arms[i]
		}
	}
	for arm := range arms {
		for _, format := range distinct(namesOf(recorded)) {
			mine := slices.DeleteFunc(slices.Clone(recorded), func(r recording) bool { return r.arm != arm || r.format.Name != format })
			if len(mine) == 0 {
				continue
			}
			var theirs []*measure.Record
			for i, r := range records {
				if of[i] == arm {
					theirs = append(theirs, r)
				}
			}
			if len(mine) != len(theirs) {
				return fmt.Errorf("there are %d recordings of %s and %d results%s: each result needs its own recording, in the same order", len(mine), format, len(theirs), ofArm(arms[arm]))
			}
			for i, r := range mine {
				if theirs[i].Counters == nil {
					theirs[i].Counters = map[string]float64{}
				}
				maps.Copy(theirs[i].Counters, r.run.Counters)
				theirs[i].Missing = append(theirs[i].Missing, r.run.Missing...)
				in.Counters = named(in.Counters, r.format.MetricsOf([]measure.Record{{Values: r.run.Counters}}, nil, r.run.Metrics))
			}
		}
	}
	return nil
}

// named adds metrics whose names are new.
func named(all, more []measure.Metric) []measure.Metric {
	for _, m := range more {
		if !slices.ContainsFunc(all, func(k measure.Metric) bool { return k.Name == m.Name }) {
			all = append(all, m)
		}
	}
	return all
}

func namesOf(recorded []recording) (names []string) {
	for _, r := range recorded {
		names = append(names, r.format.Name)
	}
	return names
}

func ofArm(a Arm) string {
	if a.Name == "" {
		return ""
	}
	return " of arm " + a.Name
}

// ArmFactor is the factor of arms that have a name.
const ArmFactor = "arm"

// name numbers the records of named arms. Runs with different settings are no repetitions.
func (in *Results) name(arms []Arm) error {
	runs := make([]int, len(arms))
	for i := range in.Records {
		r, arm := &in.Records[i], in.foreign.arms[i]
		first := slices.Index(in.foreign.arms, arm)
		if setting := differing(in.foreign.levels[first], in.foreign.levels[i]); setting != "" {
			return fmt.Errorf("arm %s: %s is %q in %s and %q in %s: runs with different settings are no repetitions. If the files have several loads, import each side into a folder of its own, and compare the folders",
				arms[arm].Name, setting, in.foreign.levels[first][setting], in.Files[first], in.foreign.levels[i][setting], in.Files[i])
		}
		runs[arm]++
		r.Trial, r.Arm, r.Block, r.Slot = i+1, arm, runs[arm], 1
		r.Levels = map[string]string{ArmFactor: arms[arm].Name}
	}
	for _, a := range arms {
		in.Labels = append(in.Labels, ArmFactor+"="+a.Name)
	}
	return nil
}

// differing is the first setting in which two runs differ; "" if there is none.
func differing(a, b map[string]string) string {
	both := maps.Clone(a)
	maps.Copy(both, b)
	for _, name := range slices.Sorted(maps.Keys(both)) {
		if a[name] != b[name] {
			return name
		}
	}
	return ""
}

// Settings are the settings of the first run of an arm.
func (in *Results) Settings(arm int) map[string]string {
	for i := range in.Records {
		switch {
		case in.Records[i].Arm != arm:
		case in.foreign.levels != nil:
			return in.foreign.levels[i]
		default:
			return in.Records[i].Levels
		}
	}
	return nil
}

// lead puts first a metric that every run has: it is the headline.
func (in *Results) lead() {
	for _, m := range in.Metrics {
		has := func(r measure.Record) bool { _, ok := r.Values[m.Name]; return ok || r.Void != "" }
		if !slices.ContainsFunc(in.Records, func(r measure.Record) bool { return !has(r) }) {
			in.Metrics = measure.Foremost(m.Name, in.Metrics)
			return
		}
	}
}

// Named reports whether the arms were named.
func (in *Results) Named() bool { return in.source.Arms != nil }

// Differences lists the settings in which named arms differ; "" if there are none.
func (in *Results) Differences() string {
	if !in.Named() {
		return ""
	}
	var all []string
	for arm := 1; arm < len(in.Labels); arm++ {
		first, other := in.Settings(0), in.Settings(arm)
		both := maps.Clone(first)
		maps.Copy(both, other)
		for _, name := range slices.Sorted(maps.Keys(both)) {
			if first[name] != other[name] {
				all = append(all, fmt.Sprintf("%s (%s, %s)", name, cmp.Or(first[name], "none"), cmp.Or(other[name], "none")))
			}
		}
	}
	return strings.Join(distinct(all), ", ")
}

// Unrecognised is the error of a file that no format recognises: it says what the file looks like.
func Unrecognised(path string) error {
	head, err := headOf(path)
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(foreign.Decoded(head))), "\n")
	looks := "it begins with " + fmt.Sprintf("%.60q", strings.TrimSpace(first))
	switch {
	case first == "":
		return fmt.Errorf("%s is empty", path)
	case strings.HasPrefix(first, "{") || strings.HasPrefix(first, "["):
		looks = "it is JSON of another kind"
	case strings.Count(first, ",")+strings.Count(first, ";") > 1:
		looks = "it looks like CSV, whose columns --map names"
	}
	return fmt.Errorf("%s is of no known format: %s. Name it with --format: %s", path, looks, strings.Join(FormatNames(), ", "))
}
