package lab

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/effort"
	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
)

// short makes the trials of a tutorial study short and slow, so that many fit into a test.
var short = []string{"measure.window=1s", "measure.warmup=250ms", "measure.interval=250ms", "platform.sim.capacity=2000/s"}

// folder is a fresh folder, in memory where the machine has one for that.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "plimsoll-lab-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// ran runs a built-in study with one seed, and returns its judgement.
func ran(t *testing.T, name string, seed uint64, sets ...string) *Outcome {
	t.Helper()
	l := &Lab{Catalog: few(), Version: "test"}
	source, err := l.Read(name, append(sets, short...))
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := l.Run(t.Context(), Request{Source: *source, Dir: filepath.Join(folder(t), fmt.Sprint(seed)), Seed: seed})
	if err != nil {
		t.Fatalf("%s, seed %d: %v", name, seed, err)
	}
	return outcome
}

// TestMain keeps the notes of unfinished runs off this machine.
func TestMain(m *testing.M) {
	effort.CollectSeldom()
	os.Exit(apart(m))
}

func apart(m *testing.M) int {
	dir, err := os.MkdirTemp("", "plimsoll-state-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	os.Setenv("XDG_STATE_HOME", dir)
	return m.Run()
}

// first is the comparison that a study is about.
func first(t *testing.T, o *Outcome) finding.Comparison {
	t.Helper()
	if len(o.Findings.Headlines) == 0 {
		t.Fatal("no headline")
	}
	return o.Findings.Headlines[0]
}

func TestPlantedGainIsFoundAndItsSwapIsALoss(t *testing.T) {
	t.Parallel()
	gain := ran(t, "tutorial-ab", 1)
	h := first(t, gain)
	if h.Verdict != finding.Better || math.Abs(h.Ratio-1.05) > 0.02 {
		t.Errorf("a planted gain of 5 %% is %s with a ratio of %.3f", h.Verdict, h.Ratio)
	}
	loss := first(t, ran(t, "tutorial-ab", 1, "factors={sim.knob: [on, off]}"))
	if loss.Verdict != finding.Worse {
		t.Errorf("with the arms swapped it is %s, not worse", loss.Verdict)
	}
	if product := h.Ratio * loss.Ratio; math.Abs(product-1) > 0.02 {
		t.Errorf("with the arms swapped the ratio %.4f becomes %.4f, not its inverse", h.Ratio, loss.Ratio)
	}
}

func TestNothingIsFoundWhereNothingIs(t *testing.T) {
	t.Parallel()
	if h := first(t, ran(t, "tutorial-aa", 1)); h.Verdict == finding.Better || h.Verdict == finding.Worse || h.Verdict == finding.Different {
		t.Errorf("two identical arms: %s, ratio %.4f", h.Verdict, h.Ratio)
	}
}

func TestWithoutABlockEveryNumberOfBlocksIsOneLower(t *testing.T) {
	t.Parallel()
	whole := ran(t, "tutorial-ab", 2)
	l := &Lab{Catalog: few(), Version: "test"}
	r, err := open(whole.Dir)
	if err != nil {
		t.Fatal(err)
	}
	m, err := r.measured(l.Catalog)
	if err != nil {
		t.Fatal(err)
	}
	m.records = slices.DeleteFunc(m.records, func(r measure.Record) bool { return r.Block == 2 })
	part, err := l.judge(m)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := part.Findings.Blocks, whole.Findings.Blocks-1; got != want {
		t.Errorf("%d blocks, want %d", got, want)
	}
	for i, h := range whole.Findings.Headlines {
		if got := part.Findings.Headlines[i]; got.Metric != h.Metric || got.Blocks != h.Blocks-1 {
			t.Errorf("%s: %d blocks without one of %d", h.Metric.Name, got.Blocks, h.Blocks)
		}
	}
	for i, s := range whole.Findings.Summaries {
		if s.Trials != whole.Findings.Blocks {
			continue // a quantile that not every trial could bear
		}
		if got := part.Findings.Summaries[i]; got.Metric != s.Metric || got.Trials != s.Trials-1 {
			t.Errorf("%s of arm %d: %d trials without one of %d", s.Metric.Name, s.Arm, got.Trials, s.Trials)
		}
	}
}

// deepSeeds is how many studies of a kind the deep tier runs.
const deepSeeds = 200

func forDeep(t *testing.T) {
	if os.Getenv("PLIMSOLL_DEEP") == "" {
		t.Skip("set PLIMSOLL_DEEP=1 to run hundreds of studies")
	}
	t.Parallel()
}

// slack is three standard deviations of the number of hits among the deep seeds
// when each is a hit with a probability.
func slack(probability float64) float64 {
	return 3 * math.Sqrt(deepSeeds*probability*(1-probability))
}

func TestRateOfDifferencesBetweenIdenticalArms(t *testing.T) {
	forDeep(t)
	differ := 0
	for seed := range uint64(deepSeeds) {
		if h := first(t, ran(t, "tutorial-aa", seed+1)); h.Verdict == finding.Better || h.Verdict == finding.Worse || h.Verdict == finding.Different {
			t.Logf("seed %d: %s", seed+1, h.Sentence.Text)
			differ++
		}
	}
	t.Logf("%d of %d", differ, deepSeeds)
	if most := 0.05*deepSeeds + slack(0.05); float64(differ) > most {
		t.Errorf("%d of %d pairs of identical arms are called different, at most %.0f may", differ, deepSeeds, most)
	}
}

func TestPlantedGainIsDecidedWithTheRightSign(t *testing.T) {
	forDeep(t)
	right := 0
	for seed := range uint64(deepSeeds) {
		h := first(t, ran(t, "tutorial-ab", seed+1))
		decided := h.Verdict == finding.Better || h.Verdict == finding.Worse || h.Verdict == finding.Different
		switch {
		case decided && h.Ratio > 1:
			right++
		case decided:
			t.Errorf("seed %d: a planted gain has the wrong sign: %s", seed+1, h.Sentence.Text)
		default:
			t.Logf("seed %d: %s", seed+1, h.Sentence.Text)
		}
	}
	t.Logf("%d of %d", right, deepSeeds)
	if float64(right) < 0.95*deepSeeds {
		t.Errorf("%d of %d planted gains of 5 %% were decided, want 95 %%", right, deepSeeds)
	}
}

// A level that the machine does not offer is a mistake at the place where it stands.
func TestLevelThatIsNotOfferedIsPlaced(t *testing.T) {
	text := "study: s\nquestion: q\nplatform: local\nworkload: \"null\"\nfactors:\n  host.affinity: [free, \"1000\"]\n"
	file := filepath.Join(folder(t), "s.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	l := &Lab{Catalog: few(), Version: "test"}
	for _, c := range []struct {
		sets  []string
		place string
	}{{nil, file + ":6:25: "}, {[]string{"factors.host.affinity=[free, 1001]"}, "--set factors.host.affinity: "}} {
		source, err := l.Read(file, c.sets)
		if err != nil {
			t.Fatal(err)
		}
		_, err = l.Preview(t.Context(), Request{Source: *source, Dir: folder(t), Seed: 1})
		if err == nil || !strings.HasPrefix(err.Error(), c.place+"host.affinity: ") || !IsMistake(err) {
			t.Errorf("with %v: %v", c.sets, err)
		}
	}
}

// A plan tells how long a study may take whose loads do not settle, and a simulated one does not.
func TestPlanTellsTheLongestTime(t *testing.T) {
	l := &Lab{Catalog: few(), Version: "test"}
	for platform, want := range map[string]string{
		"local": "about 1m27s; up to 5m7s where loads do not settle before measure.longest\n",
		"sim":   "about 1m27s, simulated in seconds\n",
	} {
		file := filepath.Join(folder(t), "s.yaml")
		text := "study: s\nquestion: q\nplatform: " + platform + "\nworkload: \"null\"\nmeasure: {settle: 2s, window: 10s, longest: 59s, blocks: 5}\n"
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		source, err := l.Read(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		p, err := l.Preview(t.Context(), Request{Source: *source, Dir: folder(t), Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		var printed strings.Builder
		if err := PrintPreview(&printed, p); err != nil || !strings.Contains(printed.String(), want) {
			t.Errorf("on %s, want %q: %v\n%s", platform, want, err, printed.String())
		}
	}
}
