package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/finding/compare"
	"plimsoll/internal/finding/judge"
	"plimsoll/internal/measure"
	"plimsoll/internal/measure/imported"
	"plimsoll/internal/report"
	"plimsoll/internal/report/content"
	"plimsoll/internal/study"
)

// ComparePair compares two runs arm by arm. Each is a results folder, or a file that Import
// reads. arms selects the arms: one name for both, or two names, one for each; none takes all
// arms that both have. An arm of fio is also named by its job.
func (l *Lab) ComparePair(a, b string, arms []string) ([]content.Compared, error) {
	var sides [2][]side
	for i, path := range []string{a, b} {
		arm := ""
		if len(arms) > 0 {
			arm = arms[min(i, len(arms)-1)]
		}
		of, err := sidesOf(l.Catalog, path, arm)
		if err != nil {
			return nil, err
		}
		sides[i] = of
	}
	matched, err := match(sides, [2]string{a, b})
	if err != nil {
		return nil, err
	}
	var all []content.Compared
	for _, m := range matched {
		if !shareHeadline(&m[0], &m[1]) {
			return nil, &mistake{fmt.Errorf("%s and %s have no metric in common", a, b)}
		}
		all = append(all, l.compared(m, [2]string{a, b}))
	}
	return all, nil
}

// shareHeadline takes the first common metric for the headline where both sides have values, but not of a headline, as
// with results of two tools. It reports whether there is one.
func shareHeadline(a, b *side) bool {
	both := func(name string) bool { return len(a.run.Values[name]) > 0 && len(b.run.Values[name]) > 0 }
	if len(a.run.Values) == 0 || len(b.run.Values) == 0 || slices.ContainsFunc(a.headline, both) {
		return true
	}
	for _, m := range a.run.Metrics {
		if both(m.Name) {
			a.headline = []string{m.Name}
			return true
		}
	}
	return false
}

// match pairs the arms of two runs by their labels. Single arms are a pair whatever their
// labels.
func match(sides [2][]side, paths [2]string) ([][2]side, error) {
	if len(sides[0]) == 1 && len(sides[1]) == 1 {
		return [][2]side{{sides[0][0], sides[1][0]}}, nil
	}
	var all [][2]side
	for _, x := range sides[0] {
		if i := slices.IndexFunc(sides[1], func(y side) bool { return y.arm == x.arm }); i >= 0 {
			all = append(all, [2]side{x, sides[1][i]})
		}
	}
	if len(all) == 0 {
		return nil, &mistake{fmt.Errorf("%s has %s, and %s has %s: no arm is in both; select the arms to compare with --arm, the first for %s",
			paths[0], armsOf(sides[0]), paths[1], armsOf(sides[1]), paths[0])}
	}
	return all, nil
}

func armsOf(sides []side) string {
	var names []string
	for _, s := range sides {
		names = append(names, fmt.Sprintf("%q", s.arm))
	}
	switch {
	case len(sides) == 1 && sides[0].arm == "":
		return "a single arm"
	case len(names) == 1:
		return "the arm " + names[0]
	}
	return "the arms " + strings.Join(names, ", ")
}

// compared compares two sides.
func (l *Lab) compared(m [2]side, paths [2]string) content.Compared {
	a, b := m[0], m[1]
	names := [2]string{a.run.Label, b.run.Label}
	if names[0] == names[1] {
		names = paths
	}
	a.run.Label, b.run.Label = names[0], names[1]
	same := a.arm == b.arm
	if !same {
		a.run.Label, b.run.Label = labelled(names[0], a.arm), labelled(names[1], b.arm)
	}
	findings := judge.Runs(a.run, b.run, compare.Terms{Headline: a.headline, Margin: a.margin})
	in := report.Input{Findings: findings, Metrics: a.run.Metrics, Version: l.Version, Command: "plimsoll compare " + strings.Join(paths[:], " ")}
	text := strings.Join(slices.DeleteFunc([]string{cautionOf(a, b), different(a, b)}, func(s string) bool { return s == "" }), "; ")
	if text != "" {
		in.Testbed = []report.TestbedLine{{Name: CautionFact, Value: text}}
	}
	c := content.Compared{Input: in, Sides: [2]content.Side{{Name: names[0], Arm: a.arm, Trials: a.trials, Void: a.void}, {Name: names[1], Arm: b.arm, Trials: b.trials, Void: b.void}}}
	if same {
		c.Arm = a.arm
	}
	return c
}

func labelled(name, arm string) string {
	if arm == "" {
		return name
	}
	return name + ", " + arm
}

// sidesOf reads one run of a comparison: a side for each of its arms, or for the selected one.
func sidesOf(c *study.Catalog, path, arm string) ([]side, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, &mistake{fmt.Errorf("no file or folder %s", path)}
	}
	var all []side
	var err error
	if _, missing := os.Stat(filepath.Join(path, "study.yaml")); missing != nil {
		all, err = importedSides(path, arm)
	} else {
		all, err = folderSides(c, path)
	}
	if err != nil || arm == "" {
		return all, err
	}
	chosen := slices.DeleteFunc(slices.Clone(all), func(s side) bool { return s.arm != arm })
	if len(chosen) == 0 {
		return nil, &mistake{fmt.Errorf("%s has no arm %q; it has %s", path, arm, armsOf(all))}
	}
	return chosen, nil
}

// importedSides reads results of another tool. A name that is no arm may be that of a job of
// fio.
func importedSides(path, arm string) ([]side, error) {
	in, err := imported.Import(path)
	named := "" // a job
	if err == nil && arm != "" && !slices.Contains(in.Labels, arm) {
		if !slices.Contains(in.Jobs(), arm) {
			names := append(slices.Clone(in.Jobs()), in.Labels...)
			return nil, &mistake{fmt.Errorf("%s has no arm and no job %q; it has %s", path, arm, strings.Join(names, "; "))}
		}
		in, err = imported.Read(imported.Source{Files: []string{path}, Job: arm})
		named = arm
	}
	if err != nil {
		return nil, &mistake{err}
	}
	var all []side
	for i, label := range in.Labels {
		one := sideOf(in.Records, i)
		if one.arm = named; len(in.Labels) > 1 || label == arm {
			one.arm = label
		}
		if in.Absent != "" {
			one.asked = importedSettings(in.Format, nil, in.Settings(i))
		}
		one.run.Label, one.run.Metrics, one.headline, one.margin = in.Name, in.Metrics, []string{in.Metrics[0].Name}, DefaultMargin
		all = append(all, one)
	}
	return all, nil
}

// folderSides reads the arms of a results folder.
func folderSides(c *study.Catalog, path string) ([]side, error) {
	r, err := open(path)
	if err != nil {
		return nil, err
	}
	m, err := r.measured(c)
	if err != nil {
		return nil, err
	}
	caution, _ := m.bed.Get(CautionFact)
	var all []side
	for arm := range r.Plan.Arms {
		one := sideOf(m.records, arm)
		if len(r.Plan.Arms) > 1 {
			one.arm = r.Plan.Arms[arm].Label
		}
		one.caution, one.asked = caution, askedOf(c, r, arm)
		one.run.Label, one.run.Metrics = filepath.Base(filepath.Clean(path)), r.Source.Study.Results(c)
		one.headline, one.margin = r.Source.Study.Headline, r.Source.Study.Margin
		all = append(all, one)
	}
	return all, nil
}

// sideOf collects the trials of an arm.
func sideOf(records []measure.Record, arm int) side {
	one := side{run: compare.Run{Values: valuesOf(records, arm)}}
	for i := range records {
		switch r := &records[i]; {
		case r.Arm != arm:
		case r.Valid():
			one.trials++
		default:
			one.void++
		}
	}
	return one
}
