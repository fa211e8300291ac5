// Package peaks searches the peaks of servers whose peak is known from theory or from their settings.
package peaks

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"plimsoll/bench/measured"
	"plimsoll/internal/catalog"
	"plimsoll/internal/lab"
	"plimsoll/internal/measure"
)

// peakKind is a kind of server whose peak is known, from theory or from its settings.
type peakKind struct {
	name      string
	simulated peakServer // without a search where the platform cannot
	real      peakServer
	words     string // that the answer may end in
	says      string // what its reason must say
	apart     bool   // nothing was tuned on it
}

// hostBusy is what a search may end in whatever the server.
const hostBusy = "host busy"

type peakServer struct {
	settings string
	within   string
	truth    float64 // the highest rate at which the limits are kept; 0 if there is none, NaN where it is not one number
}

// capacity is the rate at which M/M/1 has so many seconds at the quantile, where a share
// of the operations is slower than that whatever the rate.
func capacity(mu, q, seconds, tail float64) float64 {
	return mu - math.Log((1-tail)/(1-q-tail))/seconds
}

// peakKinds are the kinds of the benchmark. Simulated servers are M/M/1 of 1,000/s with a
// limit on p95 of 20 ms; real ones M/M/1 of 500/s with a limit on p90 of 30 ms, which
// leaves room for a host that others use, and with stalls that come more often, so that
// probes of seconds hold several.
func peakKinds() []peakKind {
	const p95, p90, single = "p95: 20ms", "p90: 30ms", "law: exponential, service: 2ms"
	unknown := math.NaN()
	return []peakKind{
		{"M/M/1", peakServer{"noise: 0%", p95, capacity(1000, .95, .02, 0)}, peakServer{single, p90, capacity(500, .9, .03, 0)}, "identified", "", false},
		{"periodic stall", peakServer{"stall: 3s, stall_every: 40s", p95, 0}, peakServer{"stall: 300ms, period: 1500ms", p90, 0}, "stalls", "independently of the rate", false},
		{"error cliff", peakServer{"reject: 600/s", p95 + ", errors: 0/s", 600}, peakServer{single + ", reject: 300/s", p90 + ", errors: 0/s", 300}, "identified", "errors", false},
		{"bimodal tail, too many", peakServer{"tail: 7%, tail_latency: 300ms", p95, 0}, peakServer{single + ", tail: 15%, tail_delay: 200ms", p90, 0}, "never passed", "independently of the rate", false},
		{"bimodal tail, tolerated", peakServer{"tail: 2%, tail_latency: 300ms", p95, capacity(1000, .95, .02, .02)}, peakServer{single + ", tail: 4%, tail_delay: 200ms", p90, capacity(500, .9, .03, .04)}, "identified, not identified", "", false},
		{"token bucket", peakServer{"sustained: 500/s, burst: 8000", p95, 500}, peakServer{"sustained: 300/s, burst: 1200", p90, 300}, "identified", "", false},
		{"queue limit with rejects", peakServer{}, peakServer{single + ", queue: 8", p90 + ", errors: 1/s", unknown}, "", "", true},
		{"random stalls", peakServer{}, peakServer{single + ", stall: 300ms, period: 1500ms, irregular: true", p90, 0}, "stalls, never passed", "", true},
		{"slows down with time", peakServer{}, peakServer{single + ", slowing: 0.02", p90, unknown}, "", "", true},
		{"cold start", peakServer{}, peakServer{single + ", cold: 5s", p90, capacity(500, .9, .03, 0)}, "identified, not identified", "", true},
	}
}

const (
	simulatedPeak = `study: peaks
question: Where is the peak?
platform: {sim: {capacity: 1000/s, servers: 1, %s}}
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
load: {peak: {within: {%s}, from: 200/s, to: 3000/s}}
measure: {window: 2s, longest: 40s, blocks: 1}
headline: [peak]
`
)

// asked is a number of the environment: PEAKS=100 searches of each kind, the first with
// the seed PEAKS_SEED=1.
func asked(name string, otherwise int) int {
	n := otherwise
	if text := os.Getenv(name); text != "" {
		fmt.Sscan(text, &n)
	}
	return n
}

// Simulated searches simulated servers in virtual time.
func Simulated() ([]measured.Result, error) {
	return searchKinds(asked("PEAKS", 100), func(k peakKind) (peakServer, string) {
		if k.simulated.within == "" {
			return k.simulated, ""
		}
		return k.simulated, fmt.Sprintf(simulatedPeak, k.simulated.settings, k.simulated.within)
	})
}

// Real searches real servers in processes of their own, in real time.
func Real() ([]measured.Result, error) {
	return searchKinds(asked("PEAKS", 10), func(k peakKind) (peakServer, string) {
		arrivals := "poisson"
		if strings.Contains(k.real.settings, "reject") || !strings.Contains(k.real.settings, "law") {
			arrivals = "constant"
		}
		return k.real, fmt.Sprintf(realPeak, k.real.settings, arrivals, k.real.within)
	})
}

// ended is how the searches of a kind ended.
type ended struct {
	words         map[string]int
	ratios        []float64 // of the claim to the truth
	claims        []float64
	loads         []float64 // seconds for which loads were offered
	high, covered int
	wrong         []string
}

func searchKinds(n int, of func(peakKind) (peakServer, string)) (results []measured.Result, err error) {
	fmt.Printf("%-26s %4s  %-46s %24s %5s %8s %8s\n", "KIND", "N", "ENDED", "CLAIM/TRUTH 5 50 95 %", "HIGH", "COVERED", "LOAD")
	for _, k := range peakKinds() {
		if only := os.Getenv("PEAKS_KIND"); only != "" && !strings.Contains(k.name, only) {
			continue
		}
		server, study := of(k)
		if study == "" {
			continue
		}
		peaks, err := searchMany(study, n)
		if err != nil {
			return results, fmt.Errorf("%s: %w", k.name, err)
		}
		e := k.judge(peaks, server.truth)
		e.print(k, server.truth)
		if !k.apart {
			results = append(results,
				measured.Result{What: k.name + ": claims more than 1 % too high", Got: float64(e.high) / float64(n), Against: "limit", Limit: .02, Unit: "share"},
				measured.Result{What: k.name + ": searches that ended in other words", Got: float64(len(e.wrong)) / float64(n), Against: "limit", Limit: .1, Unit: "share"})
		}
	}
	return results, nil
}

// answer is the answer of a search, with how long it offered loads, in seconds.
type answer struct {
	measure.Peak
	load float64
}

// written writes a study to a file, and returns a lab with the request to run it.
func written(file, text string) (*lab.Lab, lab.Request, error) {
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, lab.Request{}, err
	}
	l := &lab.Lab{Catalog: catalog.All(), Version: "bench"}
	source, err := l.Read(file, nil)
	if err != nil {
		return nil, lab.Request{}, err
	}
	return l, lab.Request{Source: *source}, nil
}

// searchMany runs the study with many seeds, a few at once: servers and generators are
// idle for most of the time.
func searchMany(text string, n int) ([]answer, error) {
	dir, err := os.MkdirTemp("", "bench-peaks-*")
	if err != nil {
		return nil, err
	}
	keep := os.Getenv("PEAKS_KEEP") != ""
	if keep {
		fmt.Println(dir)
	} else {
		defer os.RemoveAll(dir)
	}
	l, request, err := written(filepath.Join(dir, "study.yaml"), text)
	if err != nil {
		return nil, err
	}
	atOnce := asked("PEAKS_AT_ONCE", 10)
	seed := asked("PEAKS_SEED", 1)
	peaks, failed := make([]answer, n), make([]error, n)
	var group sync.WaitGroup
	turn := make(chan struct{}, atOnce)
	for i := range n {
		group.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			one := request
			one.Dir, one.Seed = filepath.Join(dir, fmt.Sprint(i)), uint64(seed+i)
			outcome, err := l.Run(context.Background(), one)
			switch {
			case err != nil:
				failed[i] = err
			case len(outcome.Input.Records) == 0 || outcome.Input.Records[len(outcome.Input.Records)-1].Peak == nil:
				failed[i] = fmt.Errorf("search %d left no answer", i+1)
			default:
				peaks[i].Peak = *outcome.Input.Records[len(outcome.Input.Records)-1].Peak
				for _, r := range outcome.Input.Records {
					for _, p := range r.Probes {
						peaks[i].load += p.To - p.From
					}
				}
			}
			if !keep {
				os.RemoveAll(filepath.Join(dir, fmt.Sprint(i)))
			}
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

func (k peakKind) judge(peaks []answer, truth float64) ended {
	e := ended{words: map[string]int{}}
	for _, p := range peaks {
		if os.Getenv("PEAKS_EACH") != "" {
			fmt.Printf("    %s, claim %.4g/s, %.4g (%.4g to %.4g): %s\n", p.Word, p.Sustained, p.Estimate, p.Low, p.High, p.Why)
		}
		e.words[p.Word]++
		e.claims, e.loads = append(e.claims, p.Sustained), append(e.loads, p.load)
		if truth > 0 {
			e.ratios = append(e.ratios, p.Sustained/truth)
		}
		if p.Sustained > 1.01*truth {
			e.high++
		}
		if p.Word == "identified" && p.Low <= truth && truth <= p.High {
			e.covered++
		}
		if p.Word == hostBusy { // it is named, with who used the CPUs
			continue
		}
		if k.words != "" && !slices.Contains(strings.Split(k.words, ", "), p.Word) || !strings.Contains(p.Why, k.says) {
			e.wrong = append(e.wrong, fmt.Sprintf("%s (claim %.4g/s): %s", p.Word, p.Sustained, p.Why))
		}
	}
	return e
}

func (e ended) print(k peakKind, truth float64) {
	var words []string
	for word, count := range e.words {
		words = append(words, fmt.Sprintf("%s %d", word, count))
	}
	slices.Sort(words)
	of, ratios := "", e.ratios
	if !(truth > 0) {
		of, ratios = "claim ", e.claims
	}
	slices.Sort(ratios)
	name := k.name
	if k.apart {
		name += " *"
	}
	at := func(q float64) float64 { return ratios[int(q*float64(len(ratios)-1)+.5)] }
	fmt.Printf("%-26s %4d  %-46s %24s %5d %8d %7.0fs\n", name, len(e.claims), strings.Join(words, ", "), fmt.Sprintf("%s%.3g %.3g %.3g", of, at(.05), at(.5), at(.95)), e.high, e.covered, measured.Middle(e.loads))
	for _, line := range e.wrong[:min(3, len(e.wrong))] {
		fmt.Printf("    %s\n", line)
	}
}
