package hciexport

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/lab"
	"plimsoll/internal/measure"
	"plimsoll/internal/measure/hcibench"
	"plimsoll/internal/parameter"
	"plimsoll/internal/study"
	"plimsoll/internal/workload"
)

// arm is an arm of a study with its loads on disks.
type arm struct {
	label  string
	levels map[string]string
	groups []group
	others []string // groups with a load of another kind
}

// group is machines with the same load.
type group struct {
	name       string // of the group; empty in a study without groups
	beside     bool   // background load
	machines   int
	use        study.Use
	file       *workload.JobFile
	images     bool
	make       func(settings parameter.Settings, images bool) (*workload.JobFile, error)
	load       *hcibench.Load // nil: the names of HCIBench cannot express it
	parameters string         // name of the parameter file
	datastore  string
}

// armsOf are the arms of a storage study. Their parameter files have different names.
func armsOf(l *lab.Lab, r *lab.Recorded) ([]arm, error) {
	s := r.Source.Study
	if jobFiles(l, s.Workload.Kind) == nil {
		return nil, fmt.Errorf("HCIBench's results are of block I/O, and the study %s runs %s", s.Name, s.Workload.Kind)
	}
	if s.Load.Growth != nil {
		return nil, errors.New("a search for the number of servers has no result of a single load")
	}
	var arms []arm
	for _, planned := range r.Plan.Arms {
		a := arm{label: planned.Label, levels: planned.Levels}
		if err := a.take(l, s); err != nil {
			return nil, fmt.Errorf("arm %s: %w", planned.Label, err)
		}
		arms = append(arms, a)
	}
	nameApart(s, arms)
	return arms, nil
}

// jobFiles writes the loads of a workload as job files; nil if it is not block I/O of fio.
func jobFiles(l *lab.Lab, kind string) func(parameter.Settings, bool) (*workload.JobFile, error) {
	if k := l.Catalog.Workload(kind); k != nil {
		return k.JobFile
	}
	return nil
}

// imagesIn reports whether the service of a study has images, on which a workload runs by default.
func imagesIn(l *lab.Lab, s *study.Study, kind string) bool {
	if s.Service == nil {
		return false
	}
	k := l.Catalog.Service(s.Service.Kind)
	return k != nil && slices.ContainsFunc(l.Catalog.Workload(kind).Speaks, func(p string) bool { return slices.Contains(k.Speaks, p) })
}

// take describes the loads of an arm.
func (a *arm) take(l *lab.Lab, s *study.Study) error {
	all := s.ArmGroups(a.levels)
	if len(all) == 0 {
		all = []study.Group{{Machines: 1, Subject: true}}
	}
	for _, of := range all {
		g := group{name: of.Name, machines: of.Machines, beside: !of.Subject}
		switch {
		case of.Subject:
			g.use = study.Use{Kind: s.Workload.Kind, Settings: s.Settings(a.levels)}
		case of.Workload == nil:
			continue
		case jobFiles(l, of.Workload.Kind) == nil:
			a.others = append(a.others, of.Name)
			continue
		default:
			g.use = *of.Workload
		}
		if err := g.describe(l, s); err != nil {
			return err
		}
		a.groups = append(a.groups, g)
	}
	return nil
}

// describe fills in the parameter file.
func (g *group) describe(l *lab.Lab, s *study.Study) (err error) {
	g.images, g.make = imagesIn(l, s, g.use.Kind) && g.use.Settings["backing"] != "file", jobFiles(l, g.use.Kind)
	if g.file, err = g.make(share(g.use.Settings, g.machines), g.images); err != nil {
		return err
	}
	if g.datastore = s.Platform.Kind; g.images {
		g.datastore = s.Service.Kind
	}
	g.load = loadOf(g.file)
	if p := s.Load.Peak; p != nil && !g.beside && g.load != nil {
		g.load.Target = targetOf(p)
	}
	g.nameFile(s, "")
	return nil
}

// share is the load of one of several machines: each has its part of a rate.
func share(settings parameter.Settings, machines int) parameter.Settings {
	var rate parameter.Rate
	if rate.UnmarshalText([]byte(settings[study.RateSetting])) != nil || machines < 2 {
		return settings
	}
	own := maps.Clone(settings)
	own[study.RateSetting] = (rate / parameter.Rate(machines)).String()
	return own
}

// at is the job file of a load that a search offered at a rate; 0 for none.
func (g *group) at(rate float64) (*workload.JobFile, error) {
	if rate == 0 || g.beside {
		return g.file, nil
	}
	settings := maps.Clone(g.use.Settings)
	settings[study.RateSetting] = parameter.Rate(rate).String()
	return g.make(share(settings, g.machines), g.images)
}

// targetOf is the latency target of a search for a peak, which HCIBench sets for the 95th percentile.
func targetOf(p *study.Peak) time.Duration {
	for _, limit := range p.Within {
		if limit.Metric == "p95" && limit.Max != nil {
			return time.Duration(math.Round(*limit.Max*1e6)) * time.Microsecond
		}
	}
	return 0
}

// loadOf is a load in the terms of HCIBench's names of parameter files; nil for one that they cannot express.
func loadOf(f *workload.JobFile) *hcibench.Load {
	l := &hcibench.Load{Tool: hcibench.Fio, Disks: f.Disks, Threads: f.Outstanding, Block: blockOf(f.Block)}
	for _, p := range []struct {
		share parameter.Share
		into  *int
	}{{f.WorkingSet, &l.WorkingSet}, {f.Read, &l.Read}, {f.Random, &l.Random}, {f.Compress, &l.Compress}, {f.Dedup, &l.Dedupe}} {
		whole := math.Round(100 * float64(p.share))
		if math.Abs(whole-100*float64(p.share)) > 1e-9 {
			return nil
		}
		*p.into = int(whole)
	}
	if f.Block == 0 || f.WorkingSet == 0 {
		return nil
	}
	return l
}

func blockOf(b parameter.Bytes) string {
	if b%1024 == 0 {
		return fmt.Sprintf("%dk", b/1024)
	}
	return fmt.Sprint(int64(b))
}

// nameFile names the parameter file, with a prefix that tells arms apart.
func (g *group) nameFile(s *study.Study, prefix string) {
	if g.load != nil {
		g.load.Prefix = prefix
		g.parameters = g.load.File()
	} else if g.parameters = slug(s.Name); prefix != "" {
		g.parameters = prefix + "-" + g.parameters
	}
}

// nameApart gives arms with the same parameter files a prefix: the levels that tell them apart.
func nameApart(s *study.Study, arms []arm) {
	same := map[string][]int{}
	for i := range arms {
		key := arms[i].key()
		same[key] = append(same[key], i)
	}
	for _, alike := range same {
		if len(alike) == 1 {
			continue
		}
		used := map[string]bool{}
		for _, i := range alike {
			var levels []string
			for _, f := range s.Factors {
				level := arms[i].levels[f.FullName()]
				if slices.ContainsFunc(alike, func(k int) bool { return arms[k].levels[f.FullName()] != level }) {
					levels = append(levels, levelSlug(f.FullName(), level))
				}
			}
			prefix := strings.Join(levels, "-")
			if used[prefix] || hcibench.ParseName(prefix+"-").Group != hcibench.NoGroup {
				prefix = fmt.Sprintf("arm%d-%s", i, prefix)
			}
			used[prefix] = true
			for k := range arms[i].groups {
				arms[i].groups[k].nameFile(s, prefix)
			}
		}
	}
}

// levelSlug is a level as part of a file name, with what it is the level of if it does not say so.
func levelSlug(factor, level string) string {
	if _, err := strconv.ParseFloat(level[:min(1, len(level))], 64); err != nil && level != "true" && level != "false" {
		return slug(level)
	}
	return slug(factor[strings.LastIndex(factor, ".")+1:]) + "-" + slug(level)
}

// key is the parameter files of an arm.
func (a *arm) key() string {
	var names []string
	for _, g := range a.groups {
		names = append(names, g.parameters)
	}
	return strings.Join(names, "\n")
}

// slug is a text as part of a file name: lower-case letters and digits, with '-' for what is between them.
func slug(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') })
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, "-")
}

// timed are fio's options for the times of a window: its warm-up as fio's ramp.
func timed(w measure.Window) []string {
	return []string{"time_based=1", fmt.Sprintf("ramp_time=%dms", ms(w.Cut)), fmt.Sprintf("runtime=%dms", ms(w.End-w.Cut)), "group_reporting=1", "lat_percentiles=1"}
}

func ms(seconds float64) int64 { return int64(math.Round(1000 * seconds)) }

// newCase is the case of a group in a trial; nil if the trial has no result of it.
func (g *group) newCase(r *lab.Recorded, record *measure.Record, whole *result) (*hcibench.Case, error) {
	machines, err := whole.machines(r, record, g)
	if err != nil || len(machines) == 0 {
		return nil, err
	}
	file, err := g.at(whole.rate)
	if err != nil {
		return nil, err
	}
	c := &hcibench.Case{
		Name: hcibench.Name{File: g.parameters, Group: hcibench.NoGroup}, Datastore: g.datastore, Machines: machines, Merged: whole.values,
		Version: "fio", Global: append(timed(whole.window), file.Global...), Ended: record.End, Seconds: whole.window.End,
		Origin: hcibench.Origin{Study: r.Source.Study.Name, Trial: record.Trial, Block: record.Block, Group: g.name, Beside: g.beside},
	}
	if version, known := r.Testbed.Get("software.fio"); known {
		c.Version = "fio-" + version
	}
	for _, j := range file.Jobs {
		c.Jobs = append(c.Jobs, hcibench.Disk{Name: j.Name, Disk: j.Disk, Options: j.Options})
	}
	if g.beside {
		c.Merged = map[string]float64{}
		for name, v := range whole.values {
			if own, is := strings.CutPrefix(name, g.name+"."); is {
				c.Merged[own] = v
			}
		}
	}
	return c, nil
}
