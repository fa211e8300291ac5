package fleet_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/agent/testnet"
)

// study writes a study of one trial with a workload and what else it has.
func (s *site) trial(text string) {
	s.t.Helper()
	head := `study: one
question: Does it run?
platform: {fleet: {state: ` + s.path("lab") + `, listen: "` + testnet.Address + `:4222", wait: 60s}}
margin: 50%
measure: {settle: 10ms, warmup: 100ms, window: 400ms, longest: 1s, interval: 50ms, blocks: 2, retries: 0}
`
	if err := os.WriteFile(s.path("study.yaml"), []byte(head+text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// A lab with a valid key cannot run a command of a study where the owner does not allow
// commands: not by a factor, not by a workload that runs programs.
func TestNoStudyRunsACommandWithoutPermission(t *testing.T) {
	s := newSite(t, 1)
	t.Parallel()
	ran := s.path("ran")
	s.agent(0)
	for name, c := range map[string]struct{ text, refusal string }{
		"factor": {"workload: {processor: {working_set: 64KiB, unit: 1KiB}}\nheadline: [units]\ncommands: {it: {read: 'echo a; touch " + ran + "', apply: 'touch " + ran + "'}}\nfactors: {command.it: [a, b]}\n", "does not allow that"},
		"load":   {"workload: {compile: {compiler: touch}}\nheadline: [builds]\n", "no C compiler"},
	} {
		s.trial(c.text)
		run := s.command(s.ground.Lab(), "run", "study.yaml", "--out", "out-"+name, "--quiet")
		out, err := run.CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.refusal) {
			t.Errorf("%s: %v: %s", name, err, out)
		}
		if _, err := os.Stat(ran); err == nil {
			t.Errorf("%s: the command ran", name)
		}
	}
}

// What plimsoll drives itself runs on an agent whose owner does not allow commands, and no
// private key shows up anywhere meanwhile or afterwards.
func TestTheCatalogNeedsNoPermission(t *testing.T) {
	s := newSite(t, 1)
	t.Parallel()
	s.agent(0)
	for i, c := range []struct{ name, text string }{
		{"fio", "workload: {storage: {size: 1MiB, direct: false, read: 100%}}\nheadline: [iops]\n"},
		{"nginx", "workload: {web: {}}\nservice: {nginx: {pages: 2}}\nheadline: [requests]\n"},
		{"redis", "workload: {keyvalue: {protocol: redis, keys: 100}}\nservice: {redis: {}}\nheadline: [operations]\n"},
		{"memcached", "workload: {keyvalue: {protocol: memcached, keys: 100}}\nservice: {memcached: {}}\nheadline: [operations]\n"},
		{"network", "workload: {network: {test: tcp_rr}}\nservice: {reflector: {}}\nheadline: [transactions]\n"},
	} {
		if i > 1 && os.Getenv("PLIMSOLL_DEEP") == "" {
			break
		}
		s.trial(c.text)
		p := s.start("lab-"+c.name, s.ground.Lab(), "run", "study.yaml", "--out", "out", "--quiet")
		s.until("a trial was under way", func() bool { return len(s.entries("trial")) > 0 || len(p.ended) > 0 })
		if places := s.exposed(); len(places) > 0 {
			t.Errorf("%s: private keys are in %q", c.name, places)
		}
		select {
		case <-p.ended: // a busy machine may have made the trial void
		case <-time.After(time.Minute):
			t.Fatalf("%s goes on", c.name)
		}
		said, err := os.ReadFile(s.path("log", "lab-"+c.name))
		if err != nil || strings.Contains(string(said), "leave") {
			t.Errorf("%s: %v: %s", c.name, err, said)
		}
		if measured, err := filepath.Glob(s.path("out") + "/trials/0001/intervals*"); err != nil || len(measured) == 0 {
			t.Errorf("%s: nothing was measured: %v: %s", c.name, err, said)
		}
		if places := s.exposed(); len(places) > 0 {
			t.Errorf("%s: private keys are in %q", c.name, places)
		}
		if err := os.RemoveAll(s.path("out")); err != nil {
			t.Fatal(err)
		}
	}
}
