package trial

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/load"
	"plimsoll/internal/service"
	"plimsoll/internal/study"
)

// press is a service that logs, and may die.
type press struct{ death error }

func (press) Check(context.Context, service.Env) (service.Needs, error) { return service.Needs{}, nil }

func (p press) Start(context.Context, service.Env) (service.Instance, error) { return p, nil }

func (press) Endpoint(string) (load.Endpoint, error) { return load.Endpoint{}, errors.New("none") }

func (press) Observed(context.Context) (map[string]string, error)  { return nil, nil }
func (press) Counters(context.Context) (map[string]float64, error) { return nil, nil }
func (press) Stop(context.Context) error                           { return nil }
func (p press) Died() error                                        { return p.death }
func (press) Logged(context.Context) []byte                        { return []byte("out of paper\n") }

// pressed is a study whose data cannot be prepared, on a service that may have died.
func pressed(t *testing.T, death error) (*rig, *Bench) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	r, s := newRig(t), exampleStudy()
	s.Workload.Settings["fail"] = "prepare"
	s.Service = &study.Use{Kind: "press"}
	b := r.bench(t, s, 1)
	b.Catalog.Services = []service.Kind{service.Define(service.Kind{Name: "press", Doc: "prints", Speaks: []string{"print"}}, struct{}{},
		func(struct{}) (service.Service, error) { return press{death}, nil })}
	return r, b
}

func TestAServiceThatDiesInPrepareMakesTheTrialVoid(t *testing.T) {
	r, b := pressed(t, errors.New("press ended with status 1"))
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := r.records(t)
	if len(all) != 1+b.Study.Measure.Retries {
		t.Errorf("%d trials", len(all))
	}
	for _, record := range all {
		if !strings.Contains(record.Void, "service press: press ended with status 1") {
			t.Errorf("trial %d is void: %q", record.Trial, record.Void)
		}
		if text, err := os.ReadFile(filepath.Join(r.dir(), "trials", "0001", logFile)); string(text) != "out of paper\n" {
			t.Errorf("its log: %q, %v", text, err)
		}
	}
	r.atFormer(t)
}

func TestWhatStopsTheStudyKeepsTheLog(t *testing.T) {
	r, b := pressed(t, nil)
	if err := b.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "no space") {
		t.Errorf("it ended with %v", err)
	}
	logs, err := filepath.Glob(filepath.Join(r.dir(), "stopped", "*.log"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("%v, %v", logs, err)
	}
	if text, err := os.ReadFile(logs[0]); string(text) != "out of paper\n" {
		t.Errorf("%q, %v", text, err)
	}
	r.atFormer(t)
}
