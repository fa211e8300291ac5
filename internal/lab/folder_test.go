package lab

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/parameter"
	"plimsoll/internal/trial"
	"plimsoll/internal/workload"
)

// versioned is a load that uses a program.
type versioned struct{ workload.Load }

func (v versioned) Check(ctx context.Context, env workload.Env) (workload.Needs, error) {
	needs, err := v.Load.Check(ctx, env)
	needs.Versions = map[string]string{"abacus": "15.18"}
	return needs, err
}

// What a run says of how to repeat it holds what its command line changed.
func TestAgainWithWhatTheCommandLineChanged(t *testing.T) {
	t.Parallel()
	outcome := ran(t, "tutorial-aa", 5, "measure.blocks=2", "question=Isn't it?")
	want := `plimsoll run tutorial-aa --seed 5 --set measure.blocks=2 --set 'question=Isn'\''t it?' --set measure.window=1s --set measure.warmup=250ms --set measure.interval=250ms --set platform.sim.capacity=2000/s`
	if outcome.Input.Command != want {
		t.Errorf("to repeat it: %s\nwant %s", outcome.Input.Command, want)
	}
	again, err := (&Lab{Catalog: few(), Version: "test"}).Judge(outcome.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if again.Input.Command != want {
		t.Errorf("read again, to repeat it: %s\nwant %s", again.Input.Command, want)
	}
}

// The testbed says which programs a study used.
func TestTestbedHasTheProgramsOfTheStudy(t *testing.T) {
	t.Parallel()
	c := few()
	for i, k := range c.Workloads {
		c.Workloads[i].New = func(s parameter.Settings) (workload.Load, error) {
			made, err := k.New(s)
			return versioned{made}, err
		}
	}
	l := &Lab{Catalog: c, Version: "test"}
	dir := folder(t)
	file := filepath.Join(dir, "own.yaml")
	if err := os.WriteFile(file, []byte("study: own\nquestion: q?\nplatform: local\nworkload: null\nfactors: {label: [a, b]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	source, err := l.Read(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := create(filepath.Join(dir, "run"), *source, 1)
	if err != nil {
		t.Fatal(err)
	}
	p, err := l.open(t.Context(), source.Study.Platform, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	bed, err := testbed(t.Context(), &trial.Bench{Study: source.Study, Plan: r.Plan, Catalog: c, Platform: p, Dir: r.Dir, Scratch: filepath.Join(r.Dir, "scratch")})
	if v, ok := bed.Get(software + "abacus"); err != nil || !ok || v != "15.18" {
		t.Errorf("the testbed does not say which program was used: %v, %v", bed, err)
	}
}
