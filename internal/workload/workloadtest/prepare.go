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
