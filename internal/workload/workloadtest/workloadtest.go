// Package workloadtest holds what every workload must do: one suite that the
// tests of each workload run.
package workloadtest

import (
	"math"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/parameter"
	"plimsoll/internal/parameter/parametertest"
	"plimsoll/internal/workload"
)

// Options fit the suite to a workload.
type Options struct {
	// Settings are the settings to test, each with a load of its own; nil tests
	// the defaults alone.
	Settings []parameter.Settings
	// Env makes a place to run, with a scratch folder that does not exist yet.
	Env func(t *testing.T) workload.Env
	// Files lists all that is below the scratch folder, with what tells a
	// change, such as times of modification. Nil leaves out the tests of what
	// Check, Prepare and Clean do to it.
	Files func(t *testing.T, env workload.Env) map[string]string
	// Untimed says that operations have no response times, as the messages of a
	// stream that goes one way.
	Untimed bool
	// Length is how long a load runs, in four intervals; zero takes one second.
	Length time.Duration
	// Promptly is how long a load may take to end after it was told to; zero takes
	// five seconds.
	Promptly time.Duration
	// Patience is how long the machine may be too busy for Little's law; zero takes as long
	// as other tests do.
	Patience time.Duration
}

type suite struct {
	kind     workload.Kind
	options  Options
	settings parameter.Settings
}

// Run runs the suite.
func Run(t *testing.T, kind workload.Kind, o Options) {
	if o.Settings == nil {
		o.Settings = []parameter.Settings{nil}
	}
	if o.Length == 0 {
		o.Length = time.Second
	}
	if o.Promptly == 0 {
		o.Promptly = 5 * time.Second
	}
	if o.Patience == 0 {
		o.Patience = loadtest.Patience
	}
	t.Run("kind", func(t *testing.T) { checkKind(t, kind) })
	for _, settings := range o.Settings {
		s := &suite{kind, o, settings}
		t.Run(parametertest.Name(settings), s.run)
	}
}

func checkKind(t *testing.T, kind workload.Kind) {
	if kind.Name == "" || kind.Doc == "" || kind.Rate == "" {
		t.Error("the kind lacks a name, a doc or the name of its rate")
	}
	parametertest.Check(t, kind.Defaults, kind.New)
	seen := map[string]bool{}
	for _, m := range kind.Metrics {
		if seen[m.Name] || m.Unit == "" || m.Doc == "" {
			t.Errorf("metric %q is listed twice, or lacks a unit or a doc", m.Name)
		}
		seen[m.Name] = true
	}
	if !seen[kind.Rate] {
		t.Errorf("the rate %q is no metric of the workload", kind.Rate)
	}
}

func (s *suite) build(t *testing.T) workload.Load {
	t.Helper()
	l, err := s.kind.New(s.settings)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (s *suite) run(t *testing.T) {
	checkDemand(t, s.build(t).Demand())
	env := s.options.Env(t)
	l := s.build(t)
	s.prepare(t, l, env)
	t.Run("length", func(t *testing.T) { s.length(t, l, env) })
	t.Run("enough", func(t *testing.T) { s.enough(t, l, env) })
	t.Run("cancel", func(t *testing.T) { s.cancel(t, l, env) })
	s.clean(t, l, env)
}

func checkDemand(t *testing.T, d load.Demand) {
	t.Helper()
	if d.Concurrency < 1 || d.Rate < 0 || d.Think < 0 || len(d.Classes) == 0 {
		t.Errorf("the demand makes no sense: %+v", d)
	}
	sum := 0.0
	for _, c := range d.Classes {
		sum += c.Share
		if c.Share <= 0 || c.Bytes < 0 || c.Name == "" && len(d.Classes) > 1 {
			t.Errorf("the class makes no sense: %+v", c)
		}
	}
	if math.Abs(sum-1) > 1e-9 {
		t.Errorf("the shares of the classes add up to %g", sum)
	}
}
