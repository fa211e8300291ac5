package workloadtest

import (
	"maps"
	"testing"

	"plimsoll/internal/workload"
)

// files is what lies in the scratch folder, where the options can tell.
func (s *suite) files(t *testing.T, env workload.Env) map[string]string {
	t.Helper()
	if s.options.Files == nil {
		return nil
	}
	return s.options.Files(t, env)
}

// prepare makes a load ready, and wants Check to change nothing and a second
// Prepare to find the work done.
func (s *suite) prepare(t *testing.T, l workload.Load, env workload.Env) {
	t.Helper()
	before := s.files(t, env)
	needs, err := l.Check(t.Context(), env)
	if err != nil {
		t.Fatalf("check: %v", err)
	}
	if needs.Disk < 0 || needs.Time < 0 {
		t.Errorf("the needs make no sense: %+v", needs)
	}
	if after := s.files(t, env); !maps.Equal(before, after) {
		t.Errorf("Check changed the scratch folder from %v to %v", before, after)
	}
	if err := l.Prepare(t.Context(), env); err != nil {
		t.Fatalf("prepare: %v", err)
	}
	made := s.files(t, env)
	if err := s.build(t).Prepare(t.Context(), env); err != nil {
		t.Fatalf("prepare again: %v", err)
	}
	if again := s.files(t, env); !maps.Equal(made, again) {
		t.Errorf("the second Prepare changed %v to %v", made, again)
	}
	if c, ok := l.(workload.Calibrated); ok {
		calibrate(t, c, env)
	}
}

// calibrate wants a load to be calibrated once.
func calibrate(t *testing.T, c workload.Calibrated, env workload.Env) {
	t.Helper()
	if env.Log == nil {
		env.Log = t.Logf
	}
	if most, err := c.Calibration(t.Context(), env); err != nil || most <= 0 {
		t.Fatalf("a calibration of %s: %v", most, err)
	}
	if err := c.Calibrate(t.Context(), env); err != nil {
		t.Fatalf("calibrate: %v", err)
	}
	if most, err := c.Calibration(t.Context(), env); err != nil || most != 0 {
		t.Errorf("a second calibration of %s: %v", most, err)
	}
}

// clean wants nothing to be left, and a second Clean to find nothing to do. The
// load that cleans is a new one, as it is after a crash.
func (s *suite) clean(t *testing.T, l workload.Load, env workload.Env) {
	t.Helper()
	for _, l := range []workload.Load{l, s.build(t)} {
		if err := l.Clean(t.Context(), env); err != nil {
			t.Errorf("clean: %v", err)
		}
		if left := s.files(t, env); len(left) > 0 {
			t.Errorf("Clean left %v", left)
		}
	}
}
