package replay_test

import (
	"bytes"
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/cluster/replay/compare"
	"plimsoll/internal/cluster/replay/strategy"
	"plimsoll/internal/cluster/scenario"
	"plimsoll/internal/cluster/snapshot"
	"plimsoll/internal/effort"
	"plimsoll/scenarios"
)

// few are fast scenarios. A policy may lose one of the seven; PLIMSOLL_DEEP=1 compares in all,
// for minutes.
var few = []string{"anti-affinity", "hot-host", "memory-hot-host", "ping-pong", "rule-half-way", "steady", "together"}

func read(t *testing.T, name string) *scenario.Scenario {
	t.Helper()
	text, err := scenarios.Text(name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := snapshot.ReadScenario(name+".yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// compared runs scenarios under all policies, on all cores.
func compared(t *testing.T, names []string) compare.Suite {
	t.Helper()
	all := make([]*scenario.Scenario, len(names))
	for i, name := range names {
		all[i] = read(t, name)
	}
	out, err := compare.All(t.Context(), all, strategy.Kinds(), func(int, *scenario.Scenario) {})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// With no more moves than a rival, our policy has no larger shortfall in at least four of five
// scenarios, against each rival. It never reverts a move, and makes none in a balanced
// cluster.
func TestQuality(t *testing.T) {
	names := few
	if effort.Full() {
		names = scenarios.Names()
		if len(names) < 30 {
			t.Fatalf("%d scenarios are too few", len(names))
		}
	}
	suite := compared(t, names)
	var text strings.Builder
	if err := suite.Text(&text); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text.String()) {
		if n := len([]rune(strings.TrimSpace(line))); strings.Contains(line, "  ") && n > 80 {
			t.Errorf("a row of a table has %d characters, more than a terminal: %s", n, line)
		}
	}
	t.Log(text.String()[strings.LastIndex(text.String(), "plimsoll with no more"):])
	for _, s := range suite.Scores() {
		if s.Scenarios != len(names) || s.NoWorse*5 < s.Scenarios*4 {
			t.Errorf("against %s: no worse in %d of %d scenarios\n%s", s.Rival, s.NoWorse, s.Scenarios, text.String())
		}
	}
	for _, c := range suite {
		own := c.Rows[slices.IndexFunc(c.Rows, func(r compare.Result) bool { return r.Policy == "plimsoll" })]
		if own.Flaps > 0 {
			t.Errorf("%s: %d moves were taken back", c.Scenario, own.Flaps)
		}
		if calm := []string{"steady", "steady-full", "quiet-lab"}; slices.Contains(calm, c.Scenario) && own.Moves > 0 {
			t.Errorf("%s: %d moves where nothing is wrong", c.Scenario, own.Moves)
		}
		if own.Refused > 0 {
			t.Errorf("%s: %d steps would have broken what must hold", c.Scenario, own.Refused)
		}
	}
}

// The same scenario under the same policy has the same result, to the byte, on any number of
// cores; another seed has another.
func TestSameSeedSameBytes(t *testing.T) {
	text := func(s *scenario.Scenario) []byte {
		c, err := compare.Scenario(t.Context(), s, strategy.Kinds())
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.Rows { // durations by the clock
			c.Rows[i].Decision = [2]float64{}
			if w := c.Rows[i].Within; w != nil {
				w.Decision = [2]float64{}
			}
		}
		out, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	names := []string{"hot-host", "anti-affinity"}
	if effort.Full() {
		names = append(names, "together", "maintenance-peak")
	}
	for _, name := range names {
		first := text(read(t, name))
		before := runtime.GOMAXPROCS(1)
		again := text(read(t, name))
		runtime.GOMAXPROCS(before)
		if !bytes.Equal(first, again) {
			t.Errorf("%s: the same scenario had two outcomes", name)
		}
		if bytes.Equal(first, text(read(t, name).Reseeded(77))) {
			t.Errorf("%s: another seed changed nothing", name)
		}
	}
}
