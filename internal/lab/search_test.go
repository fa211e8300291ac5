package lab

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/catalog"
	"plimsoll/internal/plan/peak"
)

// search is a search for the peak of M/M/1, where the quantile q of the response time
// is ln(1/(1-q))/(mu-rate).
const search = `study: single-server
question: How much does one server carry?
platform: {sim: {capacity: 1000/s, servers: 1, noise: 0%}}
workload: {"null": {threads: 1}}
load: {peak: {within: {p95: 20ms}, from: 400/s, to: 5000/s}}
measure: {window: 10s, longest: 1m, blocks: 1}
headline: [peak]
`

// The interval of a search on the simulated platform holds the truth, and its claim is
// not above it.
func TestASearchOfASingleServerFindsItsPeak(t *testing.T) {
	t.Parallel()
	n := 3
	if os.Getenv("PLIMSOLL_DEEP") == "1" {
		n = 200
	}
	truth := 1000 - math.Log(20)/20e-3
	file := filepath.Join(t.TempDir(), "search.yaml")
	if err := os.WriteFile(file, []byte(search), 0o600); err != nil {
		t.Fatal(err)
	}
	l := &Lab{Catalog: catalog.All(), Version: "test"}
	source, err := l.Read(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	covered, high := 0, 0
	dir := folder(t)
	for seed := range n {
		outcome, err := l.Run(t.Context(), Request{Source: *source, Dir: filepath.Join(dir, fmt.Sprint(seed)), Seed: uint64(seed + 1)})
		if err != nil {
			t.Fatal(err)
		}
		p := outcome.Input.Records[0].Peak
		if p.Word == string(peak.Identified) && p.Low <= truth && truth <= p.High {
			covered++
		}
		if p.Sustained > 1.01*truth {
			high++
		}
		if p.Sustained < .9*truth {
			t.Errorf("seed %d claims %.4g of %.4g/s: %+v", seed+1, p.Sustained, truth, p)
		}
	}
	t.Logf("covered %d of %d, claimed too high %d", covered, n, high)
	if float64(covered) < .9*float64(n)-1.5*math.Sqrt(.9*.1*float64(n)) || float64(high) > .02*float64(n) {
		t.Errorf("covered %d of %d, claimed more than 1 %% too high %d", covered, n, high)
	}
}
