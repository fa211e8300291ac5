package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"plimsoll/internal/catalog"
	"plimsoll/internal/lab"
	"plimsoll/internal/measure"
	"plimsoll/internal/stat"
)

// peakKind is a kind of server whose peak is known, from theory or from its settings.
type peakKind struct {
	name   string
	sim    string  // settings of the platform, of M/M/1 with 1,000/s; empty where it cannot
	real   string  // settings of service responder
	within string  // what the search asks for
	truth  float64 // of both; 0 where no rate keeps the limits
	words  string  // that the answer may end in
	says   string  // what its reason must say
	apart  bool    // nothing was tuned on it
}

// bare is the rate at which M/M/1 of 1,000/s has its 95th percentile at 20 ms.
var bare = 1000 - math.Log(20)/20e-3

// single is the responder as M/M/1 of 1,000/s.
const single = "law: exponential, service: 1ms"

// peakKinds are the kinds of the benchmark. Real stalls come more often than simulated
// ones, so that probes of seconds hold several.
func peakKinds() []peakKind {
	knees := "identified, not identified"
	return []peakKind{
		{"M/M/1", "", single, "p95: 20ms", bare, "identified", "", false},
		{"periodic stall", "stall: 3s, stall_every: 40s", "stall: 150ms, period: 1500ms", "p95: 20ms", 0, "stalls", "whatever the rate", false},
		{"error cliff", "reject: 600/s", single + ", reject: 600/s", "p95: 20ms, errors: 0/s", 600, "not identified", "errors", false},
		{"bimodal tail, too many", "tail: 7%, tail_latency: 300ms", single + ", tail: 7%, tail_delay: 100ms", "p95: 20ms", 0, "never passed", "", false},
		{"bimodal tail, tolerated", "tail: 2%, tail_latency: 300ms", single + ", tail: 2%, tail_delay: 100ms", "p95: 20ms", 1000 - math.Log(.98/.03)/20e-3, knees, "", false},
		{"token bucket", "sustained: 500/s, burst: 8000", "sustained: 500/s, burst: 2000", "p95: 20ms", 500, "not identified", "", false},
		{"queue limit with rejects", "", single + ", queue: 8", "p95: 20ms, errors: 1/s", 0, "", "", true},
		{"random stalls", "", single + ", stall: 150ms, period: 1500ms, irregular: true", "p95: 20ms", 0, "stalls, never passed", "", true},
		{"slows down with time", "", single + ", slowing: 0.02", "p95: 20ms", 0, "", "", true},
		{"cold start", "", single + ", cold: 5s", "p95: 20ms", bare, knees, "", true},
	}
}

const (
	simulatedPeak = `study: peaks
question: Where is the peak?
platform: {sim: {capacity: 1000/s, servers: 1, noise: 0%%%s}}
workload: {"null": {threads: 1}}
load: {peak: {within: {%s}, from: 400/s, to: 5000/s}}
measure: {window: 10s, longest: 10m, blocks: 1}
headline: [peak]
`
	realPeak = `study: peaks
question: Where is the peak?
platform: local
service: {responder: {page_size: 128B, images: 0, %s}}
workload: {web: {connections: 256, arrivals: %s}}
load: {peak: {within: {%s}, from: 400/s, to: 5000/s}}
measure: {window: 2s, longest: 20s, blocks: 1}
headline: [peak]
`
)

// searches says how many searches of a kind run, by the environment: PEAKS=100.
func searches(otherwise int) int {
	n := otherwise
	if text := os.Getenv("PEAKS"); text != "" {
		fmt.Sscan(text, &n)
	}
	return n
}

// simulatedPeaks searches simulated servers in virtual time.
func simulatedPeaks() ([]result, error) {
	return searchKinds(searches(100), func(k peakKind) string {
		if k.apart {
			return ""
		}
		settings := ""
		if k.sim != "" {
			settings = ", " + k.sim
		}
		return fmt.Sprintf(simulatedPeak, settings, k.within)
	})
}

// realPeaks searches real servers in processes of their own, in real time.
func realPeaks() ([]result, error) {
	return searchKinds(searches(10), func(k peakKind) string {
		arrivals := "poisson"
		if strings.Contains(k.real, "reject") || strings.Contains(k.real, "sustained") || !strings.Contains(k.real, "law") {
			arrivals = "constant"
		}
		return fmt.Sprintf(realPeak, k.real, arrivals, k.within)
	})
}

// ended is how the searches of a kind ended.
type ended struct {
	words         map[string]int
	ratios        []float64 // of the claim to the truth
	claims        []float64
	high, covered int
	wrong         []string
}

func searchKinds(n int, text func(peakKind) string) (results []result, err error) {
	fmt.Printf("%-26s %4s  %-46s %24s %5s %8s\n", "KIND", "N", "ENDED", "CLAIM/TRUTH 5 50 95 %", "HIGH", "COVERED")
	for _, k := range peakKinds() {
		if only := os.Getenv("PEAKS_KIND"); only != "" && !strings.Contains(k.name, only) {
			continue
		}
		study := text(k)
		if study == "" {
			continue
		}
		peaks, err := searchMany(study, n)
		if err != nil {
			return results, fmt.Errorf("%s: %w", k.name, err)
		}
		e := k.judge(peaks)
		e.print(k, n)
		if !k.apart {
			results = append(results,
				result{k.name + ": claims more than 1 % too high", float64(e.high) / float64(n), "limit", .02, "share"},
				result{k.name + ": searches that ended in other words", float64(len(e.wrong)) / float64(n), "limit", .1, "share"})
		}
	}
	return results, nil
}

// searchMany runs the study with many seeds, a few at once: servers and generators are
// idle for most of the time.
func searchMany(text string, n int) ([]measure.Peak, error) {
	dir, err := os.MkdirTemp("", "bench-peaks-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "study.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	l := &lab.Lab{Catalog: catalog.All(), Version: "bench"}
	source, err := l.Read(file, nil)
	if err != nil {
		return nil, err
	}
	const atOnce = 5
	peaks, failed := make([]measure.Peak, n), make([]error, n)
	var group sync.WaitGroup
	turn := make(chan struct{}, atOnce)
	for i := range n {
		group.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			outcome, err := l.Run(context.Background(), lab.Request{Source: *source, Dir: filepath.Join(dir, fmt.Sprint(i)), Seed: uint64(i + 1)})
			switch {
			case err != nil:
				failed[i] = err
			case len(outcome.Input.Records) == 0 || outcome.Input.Records[len(outcome.Input.Records)-1].Peak == nil:
				failed[i] = fmt.Errorf("search %d left no answer", i+1)
			default:
				peaks[i] = *outcome.Input.Records[len(outcome.Input.Records)-1].Peak
			}
			os.RemoveAll(filepath.Join(dir, fmt.Sprint(i)))
		})
	}
	group.Wait()
	for _, err := range failed {
		if err != nil {
			return nil, err
		}
	}
	return peaks, nil
}

func (k peakKind) judge(peaks []measure.Peak) ended {
	e := ended{words: map[string]int{}}
	for _, p := range peaks {
		e.words[p.Word]++
		e.claims = append(e.claims, p.Sustained)
		if k.truth > 0 {
			e.ratios = append(e.ratios, p.Sustained/k.truth)
		}
		if p.Sustained > 1.01*k.truth && !(k.apart && k.truth == 0) {
			e.high++
		}
		if p.Word == "identified" && p.Low <= k.truth && k.truth <= p.High {
			e.covered++
		}
		if k.words != "" && !slices.Contains(strings.Split(k.words, ", "), p.Word) || !strings.Contains(p.Why, k.says) {
			e.wrong = append(e.wrong, fmt.Sprintf("%s (claim %.4g/s): %s", p.Word, p.Sustained, p.Why))
		}
	}
	return e
}

func (e ended) print(k peakKind, n int) {
	var words []string
	for word, count := range e.words {
		words = append(words, fmt.Sprintf("%s %d", word, count))
	}
	slices.Sort(words)
	of, ratios := "", e.ratios
	if k.truth == 0 {
		of, ratios = "claim ", e.claims
	}
	slices.Sort(ratios)
	name := k.name
	if k.apart {
		name += " *"
	}
	at := func(q float64) float64 { return stat.Quantile(ratios, q) }
	fmt.Printf("%-26s %4d  %-46s %24s %5d %8d\n", name, n, strings.Join(words, ", "), fmt.Sprintf("%s%.3g %.3g %.3g", of, at(.05), at(.5), at(.95)), e.high, e.covered)
	for _, line := range e.wrong[:min(3, len(e.wrong))] {
		fmt.Printf("    %s\n", line)
	}
}
