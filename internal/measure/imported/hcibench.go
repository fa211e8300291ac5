package imported

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/measure/hcibench"
)

// folder imports a case of HCIBench, or a test with a folder per case.
func (in *Results) folder(path string) error {
	names, printed, err := casesIn(path)
	if err != nil {
		return err
	}
	taken, first := len(in.Records), ""
	if len(names) > 0 {
		first = names[0]
	}
	for len(names) > 0 {
		run := names[:1]
		if first := hcibench.ParseName(names[0]); first.Group != hcibench.NoGroup {
			run = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
				other := hcibench.ParseName(name)
				return other.Group == hcibench.NoGroup || !other.Start.Equal(first.Start)
			})
		}
		names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(run, name) })
		paths := make([]string, len(run))
		for i, name := range run {
			paths[i] = filepath.Join(path, name)
		}
		if err := in.hcibenchRun(paths); err != nil {
			return err
		}
	}
	if len(in.Records) > taken {
		return nil
	}
	if err := in.hcibenchRun([]string{filepath.Clean(path)}); err != nil || len(in.Records) > taken {
		return err
	}
	if below, _, _ := casesIn(filepath.Join(path, first)); first != "" && len(below) > 0 {
		return fmt.Errorf("%s holds tests of HCIBench: name one of them, such as %s", path, filepath.Join(path, first))
	}
	if printed {
		// Its files may be machines of one run, whose rates add up, or separate runs.
		return fmt.Errorf("%s is not a folder of HCIBench: if each JSON file in it is a run of fio, name the files", path)
	}
	return fmt.Errorf("%s holds no results of HCIBench: there is neither a folder PARAMETERS-SECONDS with results of fio or vdbench in it nor a file PARAMETERS-SECONDS%s", path, hcibench.SummarySuffix)
}

// debugging is the name of the folder in which HCIBench keeps what it collected beside VM groups.
const debugging = "mixed"

// casesIn lists the names of the cases in the folder of a test. printed tells that there are JSON files.
func casesIn(path string) (names []string, printed bool, err error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, false, fmt.Errorf("import results: %w", err)
	}
	for _, e := range entries {
		name, summary := strings.CutSuffix(e.Name(), hcibench.SummarySuffix)
		printed = printed || strings.HasSuffix(e.Name(), ".json")
		n := hcibench.ParseName(name)
		if summary && !e.IsDir() || e.IsDir() && !n.Start.IsZero() && n.File != debugging {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), printed, nil
}

// hcibenchRun imports one run: a case, or the cases of VM groups that ran at the same time.
func (in *Results) hcibenchRun(paths []string) error {
	var cases []*hciCase
	for _, path := range paths {
		c, err := readCase(path)
		if err != nil {
			return err
		}
		if c != nil {
			cases = append(cases, c)
		}
	}
	if len(cases) == 0 {
		return nil
	}
	in.tool("HCIBench")
	if len(cases) > 1 && !slices.ContainsFunc(cases, func(c *hciCase) bool { return len(c.phases) != 1 }) {
		in.groups(cases)
		return nil
	}
	for _, c := range cases {
		if len(cases) > 1 {
			c.warnings = append(c.warnings, "a VM group ran several jobs in sequence, or has no result: the groups of the run are not combined")
		}
		in.one(c)
	}
	return nil
}

// one imports a case by itself: its jobs in sequence are runs of their own.
func (in *Results) one(c *hciCase) {
	if len(c.phases) == 0 {
		r, h := newPool().record()
		r.Void = c.void
		in.addCase(c, r, h)
	}
	for i := range c.phases {
		r, h := c.phases[i].record()
		if len(c.phases) > 1 {
			r.Levels["hcibench.job"] = strconv.Itoa(i + 1)
		}
		r.Parts = c.phases[i].partsOf(c.group())
		r.Warnings = append(r.Warnings, c.differs(i, r.Values["iops"])...)
		if c.name.Group != hcibench.NoGroup && c.origin == nil {
			r.Warnings = append(r.Warnings, fmt.Sprintf("this is VM group %d of a run: the other groups ran at the same time", c.name.Group))
		}
		in.addCase(c, r, h)
	}
}

// addCase adds a record of a case.
func (in *Results) addCase(c *hciCase, r measure.Record, h map[string]*measure.Histogram) {
	r.Warnings = append(r.Warnings, c.warnings...)
	job := r.Levels["hcibench.job"]
	if r.Levels = c.levels(); job != "" {
		r.Levels["hcibench.job"] = job
	}
	r.Start = c.name.Start
	r.End = r.Start.Add(time.Duration(r.Window.End * 1e9))
	in.add(r, h)
	if c.origin != nil && job == "" {
		in.named[len(in.named)-1] = c.origin.Arm
	}
}

// combined is what is said of VM groups.
const combined = "HCIBench computes no result of VM groups together; here their rates are added and their histograms merged"

// groups imports VM groups that ran at the same time. The result is that of all of them, and each has its own under its name. Of groups that plimsoll exported,
// the result is that of the subject of the study.
func (in *Results) groups(cases []*hciCase) {
	subject := slices.IndexFunc(cases, func(c *hciCase) bool { return c.origin != nil && !c.origin.Beside })
	whole := newPool()
	for i, c := range cases {
		if subject < 0 || subject == i {
			whole.merge(c.phases[0].pool)
		}
	}
	r, h := whole.record()
	levels := map[string]string{}
	for i, c := range cases {
		own, _ := c.phases[0].record()
		name := c.group()
		r.Parts = append(r.Parts, c.phases[0].partsOf(name)...)
		r.Warnings = append(r.Warnings, c.differs(0, own.Values["iops"])...)
		if i == subject {
			continue
		}
		for metric, v := range own.Values {
			r.Values[name+"."+metric] = v
		}
		for what, n := range own.Counts {
			r.Counts[name+"."+what] = n
		}
		for setting, level := range c.levels() {
			levels[name+"."+setting] = level
		}
		for _, m := range measure.OperationMetrics("iops", "read", "write") {
			m.Name = name + "." + m.Name
			if !slices.ContainsFunc(in.Metrics, func(known measure.Metric) bool { return known.Name == m.Name }) {
				in.Metrics = append(in.Metrics, m)
			}
		}
	}
	if subject >= 0 {
		in.addCase(cases[subject], r, h)
		return
	}
	for _, c := range cases {
		r.Warnings = append(r.Warnings, c.warnings...)
	}
	r.Warnings = append(r.Warnings, combined)
	r.Levels, r.Start = levels, cases[0].name.Start
	r.End = r.Start.Add(time.Duration(r.Window.End * 1e9))
	in.add(r, h)
}

// levels are the levels of a case: those that plimsoll exported, those in its name, or the name.
func (c *hciCase) levels() map[string]string {
	if c.origin != nil {
		levels := map[string]string{}
		maps.Copy(levels, c.origin.Levels)
		return levels
	}
	levels := caseLevels(c.name.Load)
	if len(levels) == 0 {
		levels["hcibench.parameters"] = c.name.File
	}
	return levels
}

// group is the name of the group of a case; empty for none.
func (c *hciCase) group() string {
	switch {
	case c.origin != nil:
		return c.origin.Group
	case c.name.Group == hcibench.NoGroup:
		return ""
	}
	return fmt.Sprintf("group%d", c.name.Group)
}

// differs warns if the summary and the results of the VMs disagree.
func (c *hciCase) differs(job int, iops float64) []string {
	const rounding = 0.01
	if c.summary == nil || job >= len(c.summary.Jobs) {
		return nil
	}
	said := c.summary.Jobs[job].IOPS
	if diff := said - iops; max(diff, -diff) <= rounding*max(said, iops) {
		return nil
	}
	return []string{fmt.Sprintf("HCIBench's summary has %.2f IOPS; the sum of the VMs' own files is %.2f, which is used", said, iops)}
}
