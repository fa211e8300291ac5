package trial

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/service"
	"plimsoll/internal/study"
)

// mesh is a service on all machines of its group. It writes a file on each.
type mesh struct{ seen *[]service.Env }

func (m *mesh) Check(_ context.Context, env service.Env) (service.Needs, error) {
	*m.seen = append(*m.seen, env)
	return service.Needs{}, nil
}

func (m *mesh) Start(_ context.Context, env service.Env) (service.Instance, error) {
	*m.seen = append(*m.seen, env)
	return m, m.each(func(dir string) error {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, ".plimsoll-service"), nil, 0o644)
	})
}

func (m *mesh) each(do func(dir string) error) error {
	env := (*m.seen)[len(*m.seen)-1]
	err := do(env.Dir)
	for _, p := range env.Peers {
		if err == nil {
			err = do(p.Dir)
		}
	}
	return err
}

func (m *mesh) Endpoint(string) (load.Endpoint, error)               { return load.Endpoint{Address: "/mesh"}, nil }
func (m *mesh) Observed(context.Context) (map[string]string, error)  { return nil, nil }
func (m *mesh) Counters(context.Context) (map[string]float64, error) { return nil, nil }
func (m *mesh) Stop(context.Context) error                           { return m.each(os.RemoveAll) }

// meshBench is a study of loads on two machines and a service in a group of two others.
func meshBench(t *testing.T, spreads bool) (*site, *Bench, *[]service.Env) {
	t.Helper()
	s, b, _ := groupRig(t, "")
	b.Study.Factors = b.Study.Factors[:1]
	b.Study.Groups = append(b.Study.Groups[:1], study.Group{Name: "store", Machines: 2, Serves: true})
	b.Study.Service = &study.Use{Kind: "mesh"}
	b.Plan = planOf(b.Study, 1)
	seen := &[]service.Env{}
	b.Catalog.Services = []service.Kind{service.Define(service.Kind{Name: "mesh", Speaks: []string{"strings"}, Spreads: spreads, Metrics: []measure.Metric{}},
		struct{}{}, func(struct{}) (service.Service, error) { return &mesh{seen}, nil })}
	return s, b, seen
}

// A service that spreads runs on all machines of its group, each with a folder of its own; another runs on the first.
func TestAServiceOnAllMachinesOfItsGroup(t *testing.T) {
	for spreads, want := range map[bool]string{true: "store-1 store-2", false: "store-1"} {
		s, b, seen := meshBench(t, spreads)
		if _, err := b.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := b.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, env := range *seen {
			names, dirs := []string{env.Machine.Name()}, []string{env.Dir}
			for _, p := range env.Peers {
				names, dirs = append(names, p.Machine.Name()), append(dirs, p.Dir)
			}
			if got := strings.Join(names, " "); got != want || len(slices.Compact(dirs)) != len(names) {
				t.Errorf("spreads %v: it runs on %s in %q, want %s", spreads, got, dirs, want)
			}
		}
		if left := meshFiles(t, s, b); len(left) > 0 {
			t.Errorf("spreads %v: %q are left", spreads, left)
		}
	}
}

// What it left on all machines is removed after the death of a run.
func TestAServiceOnSeveralMachinesOfADeadRun(t *testing.T) {
	s, b, _ := meshBench(t, true)
	b.step = func(name string) {
		if name == "before write trial" {
			runtime.Goexit() // the power is gone
		}
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = b.Run(t.Context())
	}()
	<-gone
	if left := meshFiles(t, s, b); len(left) != 2 {
		t.Fatalf("the dead run left %q", left)
	}
	if said, err := restoredFrom(t.Context(), b, s); err != nil || len(said) == 0 {
		t.Errorf("%q, %v", said, err)
	}
	if left := meshFiles(t, s, b); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// meshFiles are the files of the service below the folder of the test.
func meshFiles(t *testing.T, s *site, b *Bench) (all []string) {
	t.Helper()
	for _, root := range []string{filepath.Dir(s.root), filepath.Dir(b.Dir)} {
		err := filepath.WalkDir(root, func(name string, d os.DirEntry, err error) error {
			if err == nil && d.Name() == ".plimsoll-service" && !slices.Contains(all, name) {
				all = append(all, name)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}
