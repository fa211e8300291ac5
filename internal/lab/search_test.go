package lab

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/measure"
	"plimsoll/internal/plan/peak"
)

// search is a search for the peak of M/M/1, where the quantile q of the response time
// is ln(1/(1-q))/(mu-rate), with more settings of the server.
const search = `study: single-server
question: How much does one server carry?
platform: {sim: {capacity: 1000/s, servers: 1, noise: 0%%%s}}
workload: {"null": {threads: 1}}
load: {peak: {within: {%s}, from: 400/s, to: 5000/s}}
measure: {window: 10s, longest: 10m, blocks: 1}
headline: [peak]
`

// searched runs the search once with each seed.
func searched(t *testing.T, settings, within string, seeds int) (all []measure.Peak) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "search.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, search, settings, within), 0o600); err != nil {
		t.Fatal(err)
	}
	l := &Lab{Catalog: few(), Version: "test"}
	source, err := l.Read(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := folder(t)
	for seed := range seeds {
		outcome, err := l.Run(t.Context(), Request{Source: *source, Dir: filepath.Join(dir, fmt.Sprint(seed)), Seed: uint64(seed + 1)})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, *outcome.Input.Records[0].Peak)
	}
	return all
}

// The interval of a search on the simulated platform holds the truth, and its claim is
// not above it.
func TestASearchOfASingleServerFindsItsPeak(t *testing.T) {
	t.Parallel()
	n := 1
	if os.Getenv("PLIMSOLL_DEEP") == "1" {
		n = 200
	}
	truth := 1000 - math.Log(20)/20e-3
	covered, high := 0, 0
	for i, p := range searched(t, "", "p95: 20ms", n) {
		if p.Word == string(peak.Identified) && p.Low <= truth && truth <= p.High {
			covered++
		}
		if p.Sustained > 1.01*truth {
			high++
		}
		if p.Sustained < .9*truth {
			t.Errorf("seed %d claims %.4g of %.4g/s: %+v", i+1, p.Sustained, truth, p)
		}
	}
	t.Logf("covered %d of %d, claimed too high %d", covered, n, high)
	if float64(covered) < .9*float64(n)-1.5*math.Sqrt(.9*.1*float64(n)) || float64(high) > .02*float64(n) {
		t.Errorf("covered %d of %d, claimed more than 1 %% too high %d", covered, n, high)
	}
}

// Servers whose failure is no knee end in the right words, and nothing is claimed that
// they do not sustain.
func TestSearchesThatEndInWords(t *testing.T) {
	t.Parallel()
	n := 1
	if os.Getenv("PLIMSOLL_DEEP") == "1" {
		n = 50
	}
	for _, c := range []struct {
		name, settings, within string
		fast                   bool    // enough to be tried each time
		truth                  float64 // 0 where no rate keeps the limits
		word                   peak.Word
		why                    string
	}{
		{"stalls", ", stall: 3s, stall_every: 40s", "p95: 100ms", true, 0, peak.Stalls, "the system stalls for about 3 s every 40 s, independently of the rate"},
		{"rare stalls", ", stall: 500ms, stall_every: 25s", "p95: 20ms", false, 1000 * (1 - .48/25/.0475), peak.Identified, " ms every 25 s, independently of the rate"},
		{"tail", ", tail: 7%, tail_latency: 300ms", "p95: 20ms", false, 0, peak.NeverPassed, "independently of the rate"},
		{"cliff", ", reject: 600/s", "p95: 20ms, errors: 0/s", false, 600, peak.Identified, "errors"},
		{"burst credit", ", sustained: 500/s, burst: 8000", "p95: 20ms", true, 500, peak.Identified, "burst credit"},
	} {
		if !c.fast && os.Getenv("PLIMSOLL_REAL") != "1" && os.Getenv("PLIMSOLL_DEEP") != "1" {
			continue
		}
		for i, p := range searched(t, c.settings, c.within, n) {
			t.Logf("%s, seed %d: %s, sustained %.4g of %.4g: %s", c.name, i+1, p.Word, p.Sustained, c.truth, p.Why)
			if p.Word != string(c.word) || !strings.Contains(p.Why, c.why) || p.Sustained > 1.01*c.truth || p.Sustained < .9*c.truth {
				t.Errorf("%s, seed %d: %+v", c.name, i+1, p)
			}
		}
	}
}
