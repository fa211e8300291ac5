package judge

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
	"plimsoll/internal/study"
)

func lines(f *finding.Findings) string {
	var b strings.Builder
	for _, c := range f.Certificate {
		fmt.Fprintf(&b, "%-20s %-8s %s\n", c.Name, c.State, c.Detail)
	}
	return b.String()
}

func lineOf(t *testing.T, f *finding.Findings, name string) measure.Check {
	t.Helper()
	for _, c := range f.Certificate {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no line %q in\n%s", name, lines(f))
	return measure.Check{}
}

func TestCertificate(t *testing.T) {
	w := world{seed: 6, blocks: 8, arms: []float64{1, 1.1}, cv: .01}
	golden(t, "certificate/sound.txt", lines(judged(w.build())))
	w.edit = func(r *measure.Record) {
		r.Values["p99.9"] = 0.01
		switch r.Trial {
		case 4:
			r.Void = "drift: +9 %"
			r.Checks[1] = measure.Check{Name: "drift", State: measure.Fail, Detail: "+9 %"}
		case 6:
			r.Checks[1] = measure.Check{Name: "drift", State: measure.Unknown, Detail: "too short to tell"}
			r.Missing = []string{"pressure: no /proc/pressure"}
			delete(r.Values, "p99.9")
		case 9:
			r.Checks[0] = measure.Check{Name: "errors", State: measure.Fail, Detail: "3 failed"}
			r.Observed = nil
		}
	}
	golden(t, "certificate/troubled.txt", lines(judged(w.build())))
}

// Where no trial counts only what made them void has failed: the rest was not judged.
func TestCertificateOfVoidTrials(t *testing.T) {
	f := judged(world{seed: 6, blocks: 2, arms: []float64{1, 1.1}, edit: func(r *measure.Record) {
		r.Void = "drift: +9 %"
		r.Checks[1] = measure.Check{Name: "drift", State: measure.Fail, Detail: "+9 %"}
	}}.build())
	golden(t, "certificate/void.txt", lines(f))
	for name, want := range map[string]measure.State{"errors": measure.Unknown, "drift": measure.Fail, "levels observed": measure.Unknown, "quantiles": measure.Unknown, "counters read": measure.Unknown} {
		if c := lineOf(t, f, name); c.State != want {
			t.Errorf("%s is %s, not %s: %s", name, c.State, want, c.Detail)
		}
	}
}

// Each line of the certificate can fail.
func TestCertificateFails(t *testing.T) {
	for _, c := range []struct {
		name, line string
		world      world
		want       measure.State
	}{
		{"voids fall on one arm", "void trials", world{blocks: 10, arms: []float64{1, 1}, edit: func(r *measure.Record) {
			if r.Arm == 1 && r.Block > 3 {
				r.Void = "errors: 3 failed"
			}
		}}, measure.Fail},
		{"too many voids", "void trials", world{blocks: 10, arms: []float64{1, 1}, edit: func(r *measure.Record) {
			if r.Block%2 == 0 {
				r.Void = "drift: +9 %"
			}
		}}, measure.Fail},
		{"always the same order", "order balanced", world{blocks: 6, arms: []float64{1, 1}, edit: func(r *measure.Record) {
			r.Arm = (r.Trial + 1) % 2
		}}, measure.Fail},
		{"run out of order", "order balanced", world{blocks: 6, arms: []float64{1, 1}, edit: func(r *measure.Record) {
			if r.Trial == 4 {
				r.Start = r.Start.Add(-time.Hour)
			}
		}}, measure.Fail},
		{"a block without an arm", "blocks complete", world{blocks: 8, arms: []float64{1, 1}, edit: func(r *measure.Record) {
			if r.Trial == 4 {
				r.Void = "errors: 3 failed"
			}
		}}, measure.Unknown},
		{"no block at all", "blocks complete", world{blocks: 1, arms: []float64{1, 1}, edit: func(r *measure.Record) { r.Void = "x" }}, measure.Fail},
		{"the factor changes the warm-up", "warm-up of the arms", world{blocks: 8, arms: []float64{1, 1}, edit: func(r *measure.Record) {
			r.Window.Cut *= 1 + 2*float64(r.Arm)
		}}, measure.Fail},
		{"nothing observed", "levels observed", world{blocks: 6, arms: []float64{1, 1}, edit: func(r *measure.Record) { r.Observed = nil }}, measure.Unknown},
		{"no census", "noise floor", world{blocks: 6, arms: []float64{1, 1}, cv: .01}, measure.Unknown},
		{"labels that differ", "noise floor", world{blocks: 6, arms: []float64{1, 1.2}, cv: .01, study: labels}, measure.Fail},
		{"labels that do not", "noise floor", world{blocks: 6, arms: []float64{1, 1}, cv: .01, study: labels}, measure.Pass},
		{"a check fails in a trial that counts", "errors", world{blocks: 6, arms: []float64{1, 1}, edit: func(r *measure.Record) {
			if r.Trial == 2 {
				r.Checks[0].State = measure.Fail
			}
		}}, measure.Fail},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.world.seed = 5
			if got := lineOf(t, judged(c.world.build()), c.line); got.State != c.want {
				t.Errorf("%+v, want %s", got, c.want)
			}
		})
	}
}

func labels(s *study.Study) { s.Factors[0].Name, s.Factors[0].Parameter = "label", "" }

func TestLimits(t *testing.T) {
	w := world{seed: 5, blocks: 6, arms: []float64{1, 1.5}, cv: .001}
	w.study = func(s *study.Study) {
		s.Limits = []study.Limit{{Metric: "iops", Unit: "1/s", Min: new(12000.0)}, {Metric: "mean", Min: new(0.0), Max: new(.001)}, {Metric: "p99.99", Unit: "s", Max: new(.02)}}
	}
	var got []string
	for _, l := range judged(w.build()).Limits {
		got = append(got, fmt.Sprintf("%s, arm %d: %s", l.Limit, l.Arm, l.State))
	}
	want := []string{
		"iops >= 12000/s, arm 0: fail", "0 <= mean <= 0.001, arm 0: pass", "p99.99 <= 20ms, arm 0: unknown",
		"iops >= 12000/s, arm 1: pass", "0 <= mean <= 0.001, arm 1: pass", "p99.99 <= 20ms, arm 1: unknown",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
