package trial

import (
	"os"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/collect"
	"plimsoll/internal/factor"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/certify"
	"plimsoll/internal/trial/journal"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/null"
)

// TestOnThisMachine runs a load that does nothing, with all collectors. Every trial counts, unless the
// hypervisor steals time, and records the cost of the lab, which "bench lab" holds against its limit.
func TestOnThisMachine(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to run on this machine")
	}
	t.Setenv("XDG_STATE_HOME", memory(t))
	p, err := local.Kind().Open(t.Context(), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	s := &study.Study{
		Name: "idle", Platform: study.Use{Kind: "local"},
		Workload: study.Use{Kind: "null", Settings: parameter.Settings{"threads": "1", "service": "100ms"}},
		Factors:  []study.Factor{{Name: study.Label, Levels: []string{"a", "b"}}},
		Measure:  study.Measure{Window: 5 * time.Second, Longest: 5 * time.Second, Interval: 200 * time.Millisecond, Retries: 3},
		Headline: []string{"operations"}, Margin: .02,
	}
	dir := t.TempDir()
	b := &Bench{
		Study: s, Plan: planOf(s, 1), Platform: p, Dir: dir, Scratch: dir + "/scratch", Version: "test",
		Catalog: &study.Catalog{
			Workloads: []workload.Kind{null.Kind()},
			Factors:   []factor.Factor{factor.Label()},
			Sources: []collect.Source{
				collect.CPU(), collect.Interrupts(), collect.Pressure(), collect.Disk(), collect.Memory(),
				collect.Cgroup(), collect.Filesystem(), collect.Clock(), collect.Frequency(),
			},
		},
	}
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	entries, err := journal.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Kind != journal.KindTrialEnded {
			continue
		}
		record, err := measure.OpenResults(dir).Record(e.Trial, e.Record)
		if err != nil {
			t.Fatal(err)
		}
		// The neighbours of a busy machine are no fault of the bench, which must name them.
		stolen := record.Counters[certify.StealCounter] > .1
		if record.Void != "" && !(stolen && strings.HasPrefix(record.Void, "steal: ")) {
			t.Errorf("trial %d is void: %s", e.Trial, record.Void)
		}
		cost, ok := record.Counters["lab.cpu"]
		if !ok || cost <= 0 {
			t.Errorf("trial %d has no cost of the lab: %g, %t", e.Trial, cost, ok)
		}
		t.Logf("the lab took %.2f %% of a CPU", 100*cost)
		for _, c := range record.Checks {
			t.Logf("%-18s %-8s %s", c.Name, c.State, c.Detail)
		}
		t.Logf("missing %q", record.Missing)
	}
}
