package trial

import (
	"context"
	"testing"

	"plimsoll/internal/factor"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/study"
)

// shape is a machine that starts anew when it is read after a change, and what its layout
// comes to depends on its size.
type shape struct {
	size, layout string
	changed      bool
	starts       int
}

func (s *shape) factors() []factor.Factor {
	arranged := func() string {
		if s.layout == "flat" {
			return s.size + "x1"
		}
		return "1x" + s.size
	}
	read := func(see func() string) func(context.Context, factor.Env) (string, error) {
		return func(context.Context, factor.Env) (string, error) {
			if s.changed {
				s.changed, s.starts = false, s.starts+1
			}
			return see(), nil
		}
	}
	set := func(into *string) func(context.Context, factor.Env, string) error {
		return func(_ context.Context, _ factor.Env, level string) error {
			*into, s.changed = level, true
			return nil
		}
	}
	return []factor.Factor{
		{Name: "host.size", Get: read(func() string { return s.size }), Set: set(&s.size)},
		{
			Name: "host.layout", Get: read(arranged), Set: set(&s.layout),
			Check: func(_ context.Context, _ factor.Env, level string) (string, error) {
				former := s.layout
				defer func() { s.layout = former }()
				s.layout = level
				return arranged(), nil
			},
		},
	}
}

func TestSettingsThatDependOnEachOtherAreSetTogether(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	r := newRig(t)
	st := exampleStudy()
	st.Factors = []study.Factor{{Name: "host.size", Levels: []string{"2", "4"}}, {Name: "host.layout", Levels: []string{"flat", "deep"}}}
	s := &shape{size: "8", layout: "deep"}
	b := r.bench(t, st, 2)
	b.Catalog.Factors = s.factors()
	b.Catalog.Platforms = []platform.Kind{{Name: "fake", Fleeting: func(parameter.Settings) bool { return true }}}
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	records := r.records(t)
	for _, rec := range records {
		want := map[string]string{"flat": rec.Levels["host.size"] + "x1", "deep": "1x" + rec.Levels["host.size"]}[rec.Levels["host.layout"]]
		if !rec.Valid() || rec.Observed["host.layout"] != want {
			t.Errorf("trial %d of %v: void %q, observed %v", rec.Trial, rec.Levels, rec.Void, rec.Observed)
		}
	}
	if s.starts > len(records) {
		t.Errorf("%d trials took %d starts, want at most one each", len(records), s.starts)
	}
}
