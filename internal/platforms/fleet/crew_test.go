package fleet_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"plimsoll/internal/agent/testnet"
)

// parts are what each machine of the trials did.
type parts struct {
	Void  string
	Parts []struct {
		Machine string
		Values  map[string]float64
	}
}

func (s *site) parts() (all []parts) {
	s.t.Helper()
	for _, text := range s.records() {
		var p parts
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			s.t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// Eight agents run one study together: each makes load, begins at the agreed instant, and
// changes and puts back its own setting.
func TestEightAgents(t *testing.T) {
	const agents = 8
	s := newSite(t, agents)
	t.Parallel()
	former := make([]string, agents)
	for i := range agents {
		former[i] = s.setting(i)
		s.agent(i)
	}
	text := `study: crew
question: Do all of them work?
platform: {fleet: {state: ` + s.path("lab") + `, listen: "` + testnet.Address + `:4222", wait: 60s}}
machines: 8
workload:
  processor: {working_set: 64KiB, unit: 1KiB, think: 20ms}
factors:
  host.sysctl:net.ipv4.tcp_syn_retries: [3, 4]
margin: 50%
measure: {settle: 10ms, warmup: 100ms, window: 500ms, longest: 1s, interval: 100ms, blocks: 2, retries: 20}
headline: [units]
`
	if err := os.WriteFile(s.path("study.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	lab := s.start("lab", s.ground.Lab(), "run", "study.yaml", "--out", "out", "--seed", "3", "--quiet")
	s.underway(lab, 0)
	changed := 0
	for i := range agents {
		if s.setting(i) != former[i] {
			changed++
		}
	}
	if changed == 0 {
		t.Error("no agent's setting was changed while a trial was under way")
	}
	select {
	case err := <-lab.ended:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("the run goes on")
	}
	var late []float64
	for _, p := range s.parts() {
		names := map[string]bool{}
		for _, part := range p.Parts {
			names[part.Machine] = true
			if p.Void == "" && part.Values["units"] <= 0 {
				t.Errorf("%s did nothing", part.Machine)
			}
			if v, told := part.Values["start.late"]; told {
				late = append(late, v)
			}
		}
		if p.Void == "" && len(names) != agents {
			t.Errorf("%d machines took part, want %d", len(names), agents)
		}
	}
	if len(late) < 4*agents {
		t.Fatalf("%d starts are told", len(late))
	}
	slices.Sort(late)
	if p50 := late[len(late)/2]; p50 > 0.1 {
		t.Errorf("half of the starts were more than %.3f s after the agreed instant", p50)
	}
	t.Logf("of %d starts the median was %.2f ms late, the last %.2f ms", len(late), 1e3*late[len(late)/2], 1e3*late[len(late)-1])
	for i := range agents {
		if now := s.setting(i); now != former[i] {
			t.Errorf("agent %d: the setting is %s, and was %s", i, now, former[i])
		}
	}
}
