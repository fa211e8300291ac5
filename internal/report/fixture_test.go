package report_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
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
	"plimsoll/internal/report"
	"plimsoll/internal/report/content"
	"plimsoll/internal/sentence"
	"plimsoll/internal/stat/curve"
	"plimsoll/internal/study"
)

// fixture is a study of storage whose truth is known.
type fixture struct {
	name     string
	question string
	levels   []string
	gain     []float64 // iops of each level against the first
	slower   []float64 // p99 of each level against the first
	noise    float64   // of one trial, as a share
	blocks   int
	void     int  // number of a trial that dies; 0 for none
	sighted  bool // the machine says how it sees itself
	limit    float64
	change   *float64 // published
	short    bool     // trials of 4 seconds
	peak     bool     // each trial searches for a peak
	cycles   bool     // cycles and instructions are counted
	hosted   bool     // the states of the hosts were recorded
	cluster  bool     // disks are images of a storage cluster
	tiles    bool     // each trial adds tiles
	guests   int      // that share the load, each getting less than the one before it; 0 for one machine
}

func factor(levels []string) []study.Factor {
	if len(levels) < 2 {
		return nil
	}
	return []study.Factor{{Name: "storage.threads", Levels: levels, Parameter: "threads"}}
}

func (f fixture) study() *study.Study {
	s := &study.Study{
		Name: f.name, Question: f.question, Platform: study.Use{Kind: "local"},
		Workload: study.Use{Kind: "storage", Settings: map[string]string{"disks": "2", "size": "512MiB", "block": "4KiB", "read": "0%", "random": "100%"}},
		Factors:  factor(f.levels),
		Measure: study.Measure{
			Settle: time.Second, Warmup: study.AutoWarmup, Window: 10 * time.Second, Longest: time.Minute, Interval: 250 * time.Millisecond,
			Looks: []int{9, 13, 18, 24}, Retries: 3,
		},
		Headline: []string{"iops", "write.p99"}, Margin: 0.02,
		Goal: &study.Goal{Metric: "iops", Direction: measure.HigherIsBetter},
	}
	if f.limit > 0 {
		s.Limits = []study.Limit{{Metric: "write.p99", Max: &f.limit}}
	}
	if f.peak {
		limit := .02
		s.Load.Peak = &study.Peak{Within: []study.Limit{{Metric: "write.p99", Max: &limit}}, From: 1000}
		s.Headline, s.Goal = []string{"peak"}, nil
	}
	if f.tiles {
		limit := .02
		s.Load.Growth = &study.Growth{Unit: study.TileUnit, From: 1, Step: 1, To: 8}
		s.Groups = []study.Group{{Name: "site", Machines: 1, Subject: true, Reference: 100, Limits: []study.Limit{{Metric: "write.p99", Unit: "s", Max: &limit}}}}
		s.Headline, s.Goal = []string{"tiles", measure.Score}, nil
	}
	if f.change != nil {
		s.Published = []study.Figure{{Metric: "iops", Change: f.change, Note: "hci-diagnostics, 2019: a second outstanding I/O a disk"}}
	}
	return s
}

const fixtureSeed = 4711

func (f fixture) source(trial int) *rand.Rand {
	return rand.New(rand.NewPCG(fixtureSeed, uint64(trial)))
}

// course is the intervals of a trial: a dip at first, then steady.
func (f fixture) course(arm, trial int) []measure.Interval {
	r := f.source(trial)
	level := 20600 * f.gain[arm] * math.Exp(f.noise*r.NormFloat64())
	rec := measure.NewRecorder(nil)
	length := 52
	if f.short {
		length = 17
	}
	for i := range length {
		from := time.Duration(i) * 250 * time.Millisecond
		rate := level * (1 - 0.35*math.Exp(-float64(i)/3.5)) * (1 + 0.025*r.NormFloat64())
		n := int64(rate / 4)
		rec.Interval(measure.Interval{From: from, To: from + 250*time.Millisecond, Samples: []measure.Sample{
			{Class: "write", Operations: n, Bytes: 4096 * n, Total: time.Duration(float64(n) * 2 / rate * 1e9)},
		}})
	}
	return rec.Intervals()
}

func (f fixture) histogram(arm, trial int) *measure.Histogram {
	r := f.source(trial + 1000)
	h := measure.NewHistogram()
	center := 95e3 * f.slower[arm] * math.Exp(f.noise*r.NormFloat64())
	for range 12_000 {
		v := center * math.Exp(0.25*r.NormFloat64())
		if r.IntN(300) == 0 {
			v *= 6 + 3*r.Float64()
		}
		h.Record(time.Duration(v), 1)
	}
	return h
}

var fixtureMetrics = measure.OperationMetrics("iops", "read", "write")

var fixtureCounters = []measure.Metric{
	{Name: "disk.queue", Unit: "1", Doc: "mean length of the device's queue"},
	{Name: "disk.busy", Unit: "share", Doc: "part of the time in which the device works"},
	{Name: "cpu.cycles", Unit: "1/s"}, {Name: "cpu.instructions", Unit: "1/s"},
	{Name: "cpu.interrupts", Unit: "1/s"}, {Name: "cpu.context_switches", Unit: "1/s"}, {Name: "pressure.io", Unit: "share"},
}

func (f fixture) record(t plan.Trial, levels map[string]string) measure.Record {
	start := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC).Add(time.Duration(t.Number) * 15 * time.Second)
	r := measure.Record{
		Trial: t.Number, Phase: t.Phase, Block: t.Block, Slot: t.Slot, Arm: t.Arm, Levels: levels, Observed: levels, Start: start, End: start.Add(14 * time.Second),
		Checks: []measure.Check{
			{Name: "read back", State: measure.Pass, Detail: "every level"}, {Name: "drift", State: measure.Pass, Detail: "0.3 % of 2 % allowed"},
			{Name: "little's law", State: measure.Pass, Detail: "0.4 % off, 2 % allowed"}, {Name: "clock", State: measure.Unknown, Detail: "one machine: nothing to compare with"},
		},
	}
	if t.Number == f.void {
		r.Void = "fio died: exit status 1"
		r.Faults = map[string]int64{"write: EIO": 12, "write: timeout": 1}
		r.Stderr = "fio: pid=4242, err=28/file:filesetup.c:240, func=write, error=No space left on device\nfio: <b>not markup</b>"
		r.Checks = append(r.Checks, measure.Check{Name: "load ended well", State: measure.Fail, Detail: "exit status 1"})
		return r
	}
	r.Window = measure.Window{Cut: 3, End: 13, Steady: measure.Steady, Drift: 0.002}
	if f.short {
		r.Window.Cut, r.Window.End = 1, 4
	}
	g := f.source(t.Number)
	rate := 20600 * f.gain[t.Arm] * math.Exp(f.noise*g.NormFloat64())
	p99 := 171e-6 * f.slower[t.Arm] * math.Exp(2*f.noise*g.NormFloat64())
	depth := 2.
	if n, ok := content.LevelNumber(levels["storage.threads"]); ok {
		depth = 2 * n
	}
	r.Values = map[string]float64{}
	for _, class := range []string{"", "write."} {
		for name, v := range map[string]float64{
			"iops": rate, "throughput": 4096 * rate, "mean": depth / rate, "p50": 0.56 * p99, "p90": 0.74 * p99, "p95": .82 * p99, "p99": p99, "p99.9": 3.9 * p99, "max": 9 * p99, "errors": 0,
		} {
			r.Values[class+name] = v
		}
	}
	if f.peak {
		f.search(&r, g)
		return r
	}
	if f.tiles {
		f.grow(&r, g)
		return r
	}
	r.Counts = map[string]int64{"operations": int64(10 * rate), "write.operations": int64(10 * rate), "errors": 0}
	r.Counters = map[string]float64{
		"disk.queue": 0.93 * depth * math.Exp(f.noise*g.NormFloat64()), "disk.busy": min(1, 0.71*f.gain[t.Arm]) * math.Exp(f.noise*g.NormFloat64()/3),
		"cpu.interrupts": 1.1 * rate * math.Exp(f.noise*g.NormFloat64()), "cpu.context_switches": 2.2 * rate * math.Exp(f.noise*g.NormFloat64()),
		"pressure.io": 0.4 * math.Exp(f.noise*g.NormFloat64()),
	}
	if f.cluster {
		addCluster(&r, f.noise*g.NormFloat64())
	}
	if f.cycles {
		path, cpi := []float64{1, 1.041}[t.Arm], []float64{1, 1.017}[t.Arm]
		instructions := 101e3 * path * rate * math.Exp(.002*g.NormFloat64())
		r.Counters["cpu.instructions"], r.Counters["cpu.cycles"] = instructions, 1.5*cpi*instructions*math.Exp(.002*g.NormFloat64())
	}
	return r
}

// search adds the probes of a queue with one server, of which the p99 is
// ln(100)/(capacity - rate).
func (f fixture) search(r *measure.Record, g *rand.Rand) {
	capacity := 8000 * f.gain[r.Arm]
	truth := capacity - math.Log(100)/.02
	rates := []float64{1000, 4000, 8400}
	for _, share := range []float64{.98, .90, 1.06, .94, 1.02} {
		rates = append(rates, share*truth)
	}
	if r.Block > 1 {
		rates = rates[3:]
	}
	if r.Block > 3 {
		rates = append(rates, .98*truth)
	}
	for i, rate := range rates {
		p := measure.Probe{Phase: "ladder", Rate: rate, From: float64(30 * i), To: float64(30*i + 30), Passed: true}
		switch {
		case r.Block == 1 && i < 3:
			p.Phase = "bracket"
		case r.Block > 3 && i == 5:
			p.Phase = "confirm"
		}
		p99 := math.Log(100) / (capacity*math.Exp(f.noise*g.NormFloat64()) - rate)
		if p99 <= 0 || p99 > 1 {
			p99, p.Overload = 12, true
		}
		if p99 > .02 {
			p.Passed, p.Reason, p.Limiting = false, "write.p99 was above its limit", "write.p99"
		}
		p.Values = map[string]float64{"iops": rate, "write.p99": p99}
		r.Probes = append(r.Probes, p)
	}
	r.Peak = &measure.Peak{Word: "identified", Estimate: truth * math.Exp(f.noise*g.NormFloat64())}
	r.Values = map[string]float64{"peak": r.Peak.Estimate}
}

// grow has each trial carry four tiles, or three with the second arm.
func (f fixture) grow(r *measure.Record, g *rand.Rand) {
	carried := 4 - r.Arm
	for n := 1; n <= carried+1; n++ {
		score := float64(n) * math.Exp(f.noise*g.NormFloat64())
		p := measure.Probe{Phase: "growth", Units: n, From: float64(30 * n), To: float64(30*n + 30), Passed: n <= carried}
		p.Values = map[string]float64{measure.Score: score, measure.Worst: score / float64(n), measure.Fairness: 1, measure.Kept: 1}
		if !p.Passed {
			p.Limiting, p.Reason = "site.write.p99", fmt.Sprintf("site of tile %d: write.p99 was 31 ms, limit 20 ms", n)
			p.Values[measure.Kept] = 1 - 1/float64(n)
		}
		r.Probes = append(r.Probes, p)
	}
	r.Peak = &measure.Peak{Word: "identified", Estimate: float64(carried)}
	r.Values = map[string]float64{"tiles": float64(carried), measure.Score: r.Probes[carried-1].Values[measure.Score], measure.Kept: 1}
}

// run runs the study as the plan says and judges it.
func (f fixture) run() (report.Input, error) {
	s := f.study()
	if f.blocks > 0 {
		s.Measure.Blocks = f.blocks
	}
	p, err := plan.New(s, fixtureSeed)
	if err != nil {
		return report.Input{}, err
	}
	var records []measure.Record
	course := p.Begin()
	arms := map[int]int{}
	for {
		trial, more := course.Next()
		if !more {
			break
		}
		r := f.record(trial, p.Arms[trial.Arm].Levels)
		arms[r.Trial] = r.Arm
		r.Parts = f.parts(&r)
		records = append(records, r)
		course.Done(r)
	}
	metrics := fixtureMetrics
	if f.peak {
		metrics = append([]measure.Metric{measure.PeakMetric()}, metrics...)
	}
	if f.tiles {
		metrics = append([]measure.Metric{measure.TilesMetric()}, measure.TileMetrics(true)...)
	}
	c := table.Case{Plan: p, Study: s, Metrics: metrics, Rate: "iops", Disks: true, Sources: fixtureCounters, Records: records}
	var sight func(int) ([]report.TestbedLine, error)
	if f.sighted {
		sight = func(trial int) ([]report.TestbedLine, error) {
			sockets := []string{"4", "1"}[arms[trial]]
			cores := []string{"1", "4"}[arms[trial]]
			seen := []report.TestbedLine{{Name: "CPU(s)", Value: "4"}, {Name: "Core(s) per socket", Value: cores}, {Name: "Socket(s)", Value: sockets}}
			if arms[trial] == 1 {
				seen = append(seen, report.TestbedLine{Name: "L3", Value: "16 MiB (1 instance)"})
			}
			return seen, nil
		}
	}
	c.Hosts = hostsOf(f, records)
	return report.Input{
		Hosts: c.Hosts, Latencies: f.latencies(arms),
		Topology: sight, Findings: judge.Study(c, rule.All()), Study: s, StudyText: []byte(studyText), Plan: p, Records: records, Metrics: metrics, Counters: fixtureCounters,
		Series: func(trial int) ([]measure.Interval, error) {
			if trial == f.void {
				return f.course(arms[trial], trial)[:9], nil
			}
			return f.course(arms[trial], trial), nil
		},
		Histogram: func(trial int, class string) (*measure.Histogram, error) {
			if trial == f.void {
				return nil, errors.New("a void trial has no histogram")
			}
			return f.histogram(arms[trial], trial), nil
		},
		Testbed: []report.TestbedLine{
			{Name: "machine.model", Value: "Example Systems R1"}, {Name: "machine.virtualisation", Value: "none"}, {Name: "system.distribution", Value: "Debian GNU/Linux 12"},
			{Name: "cpu.model", Value: "Example CPU 9000 @ 2.40GHz"}, {Name: "cpu.cores", Value: "16"}, {Name: "cpu.frequency.governor", Value: "not readable: no /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"},
			{Name: "memory.size", Value: "64 GiB"}, {Name: "storage.device", Value: "nvme0n1 (Example NVMe 1TB)"},
		},
		Version: "1.0.0", Command: fmt.Sprintf("plimsoll run study.yaml --seed %d", fixtureSeed),
	}, nil
}

const studyText = `study: queue-depth
question: Does a second outstanding I/O per disk raise random-write IOPS?
platform: local
workload:
  storage: {disks: 2, size: 512MiB, block: 4KiB, read: 0%, random: 100%, threads: 1}
factors:
  storage.threads: [1, 2] # <- the question
headline: [iops, write.p99]
margin: 2%
`

func share(v float64) *float64 { return &v }

// lawGains are the rates of so many units against one by a scalability law that has
// its peak near 12.
func lawGains(sizes ...float64) (all []float64) {
	law := curve.USL{Lambda: 1, Sigma: .04, Kappa: .0067}
	for _, n := range sizes {
		all = append(all, law.At(n))
	}
	return all
}

// fixtures are the studies that the tests render, by name.
func fixtures() map[string]fixture {
	return map[string]fixture{
		"decided": {
			name: "queue-depth", question: "Does a second outstanding I/O per disk raise random-write IOPS?",
			levels: []string{"1", "2"}, gain: []float64{1, 1.27}, slower: []float64{1, 1.31}, noise: 0.009, change: share(0.31), limit: 200e-6,
		},
		"undecided": {
			name: "read-ahead", question: "Does a second outstanding I/O per disk raise random-write IOPS?",
			levels: []string{"1", "2"}, gain: []float64{1, 1.012}, slower: []float64{1, 1.01}, noise: 0.04,
		},
		"void": {
			name: "full-disk", question: "What happens when a trial dies?",
			levels: []string{"1", "2"}, gain: []float64{1, 0.93}, slower: []float64{1, 1}, noise: 0.01, void: 5,
		},
		"sweep": {
			name: "depth-sweep", question: "How many outstanding I/Os does this device want?",
			levels: []string{"1", "2", "4", "8", "16"}, gain: []float64{1, 1.7, 2.6, 3.1, 3.2}, slower: []float64{1, 1.1, 1.4, 2.3, 4.6}, noise: 0.012, blocks: 6, limit: 500e-6,
		},
		"cluster": {
			name: "copies", question: "What does another site cost?", levels: []string{"1", "2", "4"}, gain: []float64{1, .8, .7}, slower: []float64{1, 1.2, 1.3}, noise: 0.012, blocks: 6, cluster: true,
		},
		"sighted": {
			name: "layout", question: "Does it matter what a guest sees of its processors?",
			levels: []string{"1", "2"}, gain: []float64{1, 1.05}, slower: []float64{1, 1}, noise: 0.01, sighted: true,
		},
		"scale": {
			name: "scale-out", question: "How many threads does this device carry?",
			levels: []string{"1", "2", "4", "6", "8", "10"}, gain: lawGains(1, 2, 4, 6, 8, 10), slower: []float64{1, 1.1, 1.4, 1.9, 2.6, 3.5}, noise: 0.012, blocks: 6,
		},
		"aa": {
			name: "same-arm-twice", question: "What does this testbed call different when nothing changed?",
			levels: []string{"1", "1.0"}, gain: []float64{1, 1}, slower: []float64{1, 1}, noise: 0.006,
		},
		"wild": {
			name: "few-and-noisy", question: "What do two noisy blocks show?",
			levels: []string{"1", "2", "4"}, gain: []float64{1, 1.6, 2.5}, slower: []float64{1, 1.2, 2}, noise: 0.5, blocks: 2, void: 2, short: true,
		},
		"hosted": {
			name: "one-busy-cpu", question: "What does the host do meanwhile?",
			levels: []string{"1", "2"}, gain: []float64{1, 1.27}, slower: []float64{1, 1.31}, noise: 0.009, blocks: 6, hosted: true,
		},
		"small": {
			name: "two-trials", question: "What do the smallest figures look like?",
			levels: []string{"1", "2"}, gain: []float64{1, 1.27}, slower: []float64{1, 1.31}, noise: 0.009, blocks: 1,
		},
		"peak": {
			name: "peak", question: "How much does it carry with its p99 within 20 ms?",
			levels: []string{"1", "2"}, gain: []float64{1, 1.1}, slower: []float64{1, 1}, noise: 0.004, blocks: 6, peak: true,
		},
		"tiles": {
			name: "tiles", question: "How many tiles does this host carry?",
			levels: []string{"1", "2"}, gain: []float64{1, 1}, slower: []float64{1, 1}, noise: 0.004, blocks: 6, tiles: true,
		},
		"guests": {
			name: "three-guests", question: "Does a second thread help three guests?",
			levels: []string{"1", "2"}, gain: []float64{1, 1.4}, slower: []float64{1, 1.2}, noise: 0.01, blocks: 6, guests: 3,
		},
		"cycles": {
			name: "cycles", question: "What do the extra cycles go to?",
			levels: []string{"1", "2"}, gain: []float64{1, .96}, slower: []float64{1, 1.1}, noise: 0.006, blocks: 9, cycles: true,
		},
		"single": {
			name: "one-arm", question: "What does this device carry?", levels: nil, gain: []float64{1}, slower: []float64{1}, noise: 0.01,
		},
	}
}

// judged are the inputs of the fixtures, each made once; the decided one comes with
// its story.
var judged = func() map[string]func() report.Input {
	all := map[string]func() report.Input{}
	for name, f := range fixtures() {
		all[name] = sync.OnceValue(func() report.Input {
			in, err := f.run()
			if err != nil {
				panic(err)
			}
			if name == "decided" {
				tell(in.Findings)
			}
			return in
		})
	}
	return all
}()

// rendered is the input of a fixture, which tests share and do not change.
func rendered(t testing.TB, name string) report.Input {
	t.Helper()
	return judged[name]()
}

func (f fixture) input(t testing.TB) report.Input {
	t.Helper()
	in, err := f.run()
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// tell adds the story of a closed loop that ended in the study.
func tell(f *finding.Findings) {
	v := f.Headlines[0]
	change := finding.Change{Factor: "storage.threads", From: "1", To: "2"}
	before := f.Headlines[1]
	before.Ratio, before.Low, before.High = 1.111, 1.10, 1.122
	before.Sentence = sentence.Scene{Prefix: "write.p99@1", Number: func(id string) (sentence.Number, bool) {
		return before.Number(strings.TrimPrefix(id, "write.p99@1/"))
	}}.Compose("write.p99 is worse: {change} with storage.threads=2 against storage.threads=1, between {low} and {high} ({level} confidence, {blocks} blocks).")
	predicted := finding.Gain{Low: .19, High: .45, Basis: "latency against depth"}
	judge.Attach(f, &finding.Tuning{
		Goal: "most iops", End: "No rule asks for another change", Final: map[string]string{"storage.threads": "2"},
		Rounds: []finding.Round{
			{
				Measured: "measured-1", MeasuredSeed: 4710, Verified: "verified-1", Seed: fixtureSeed, Outcome: finding.Kept, Reason: "fresh blocks show that it helps",
				Recommendation: &finding.Recommendation{
					Rule: "outstanding_io_too_low", Change: change, Predicted: &predicted,
					Sentence: sentence.Sentence{Text: "Change storage.threads from 1 to 2; expected before it is tried: between +19.0 % and +45.0 %. Only fresh blocks can confirm it."},
				},
				Verification: &v, Guards: []finding.Comparison{before}, Bound: v.Low - 1 + 0.001, BoundLevel: 0.95, BoundP: 1e-6,
			},
			{Measured: "verified-1", MeasuredSeed: fixtureSeed, Outcome: finding.NoRuleFired},
		},
	}, nil)
	f.Recommendation = nil
}

// parts share a trial among guests, beside one that drives nothing.
func (f fixture) parts(r *measure.Record) (parts []measure.Part) {
	left := 1.
	for i := range f.guests {
		share := left * 0.4
		if left -= share; i == f.guests-1 {
			share += left
		}
		parts = append(parts, measure.Part{
			Machine: fmt.Sprintf("guest-%d", i+1), Workload: "storage", Rate: "iops",
			Values:   map[string]float64{"iops": share * r.Values["iops"], "p99": r.Values["p99"]},
			Counters: map[string]float64{"guest.run": .8 * share, "guest.ready": .1},
		})
	}
	if f.guests > 0 {
		parts = append(parts, measure.Part{Machine: "server-1", Group: "server"})
	}
	return parts
}
