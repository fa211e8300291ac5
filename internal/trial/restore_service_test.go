package trial

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/journal"
	"plimsoll/internal/trial/machines"
	"plimsoll/internal/trial/restore"
	"plimsoll/internal/workload"
)

// shelf is a service that runs already: a folder, whose name is its address.
type shelf struct {
	Address string `name:"address" doc:"use the one there"`
	Gone    bool   `name:"gone" doc:"does not answer"`
}

func (s shelf) Check(context.Context, service.Env) (service.Needs, error) {
	return service.Needs{}, nil
}

func (s shelf) Start(context.Context, service.Env) (service.Instance, error) {
	if s.Gone {
		return nil, &os.SyscallError{Syscall: "connect", Err: syscall.ECONNREFUSED}
	}
	if _, err := os.Stat(s.Address); err != nil {
		return nil, errors.New("no such shelf")
	}
	return s, nil
}

func (s shelf) Endpoint(string) (load.Endpoint, error) {
	return load.Endpoint{Network: "unix", Address: s.Address}, nil
}
func (s shelf) Observed(context.Context) (map[string]string, error)  { return nil, nil }
func (s shelf) Counters(context.Context) (map[string]float64, error) { return nil, nil }
func (s shelf) Stop(context.Context) error                           { return nil }

// stacker leaves a file on the shelf that it talks to.
type stacker struct{ *driven }

func (s stacker) Clean(ctx context.Context, env workload.Env) error {
	if env.Target == nil {
		return s.driven.Clean(ctx, env)
	}
	at, err := env.Target("shelf")
	if err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(at.Address, "left"))
}

func shelfRestorer(t *testing.T, services []study.Use) *restore.Restorer {
	t.Helper()
	r := newRig(t)
	c := r.catalog()
	c.Services = []service.Kind{service.Define(service.Kind{Name: "shelf", Doc: "holds files", Speaks: []string{"shelf"}}, shelf{},
		func(s shelf) (service.Service, error) { return s, nil })}
	plain := c.Workloads[0].New
	c.Workloads[0].New = func(s parameter.Settings) (workload.Load, error) {
		l, err := plain(s)
		if err != nil {
			return nil, err
		}
		return stacker{l.(*driven)}, nil
	}
	if err := os.MkdirAll(r.dir(), 0o755); err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(r.dir(), r.undo(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	for _, e := range []journal.Entry{
		{Kind: journal.KindBegin, Begin: &journal.Begin{Workload: "driven", Scratch: filepath.Join(r.root, "scratch"), Services: services}},
		{Kind: journal.KindPrepare, Load: &journal.Load{Settings: parameter.Settings{"rate": "20000"}}},
	} {
		if err := j.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	return &restore.Restorer{Machines: &machines.Inventory{Machine: r.machine, Catalog: c, Scratch: filepath.Join(r.root, "scratch")}, Journal: j, Kind: "driven"}
}

func at(address string, more parameter.Settings) study.Use {
	settings := parameter.Settings{"address": address}
	maps.Copy(settings, more)
	return study.Use{Kind: "shelf", Settings: settings}
}

func TestRestoreCleansForeignServices(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	for _, dir := range []string{first, second} {
		if err := os.WriteFile(filepath.Join(dir, "left"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := shelfRestorer(t, []study.Use{at(first, nil), at(second, nil)})
	r.Loads(t.Context())
	if err := errors.Join(r.Errs...); err != nil || !r.Journal.Undo.None() {
		t.Errorf("%v, outstanding %v", err, r.Journal.Undo)
	}
	for _, dir := range []string{first, second} {
		if _, err := os.Stat(filepath.Join(dir, "left")); err == nil || !slices.Contains(r.Done, "removed the data of workload driven from the service shelf at "+dir) {
			t.Errorf("%s: %v, said %q", dir, err, r.Done)
		}
	}
}

func TestRestoreWithoutTheForeignService(t *testing.T) {
	r := shelfRestorer(t, []study.Use{at("/nowhere", parameter.Settings{"gone": "true"})})
	r.Loads(t.Context())
	if said := strings.Join(r.Done, "\n"); len(r.Errs) > 0 || !strings.Contains(said, "the service shelf at /nowhere is gone: if it comes back") {
		t.Errorf("%v, said %s", r.Errs, said)
	}
	r = shelfRestorer(t, []study.Use{at("/nowhere", nil)})
	r.Loads(t.Context())
	if err := errors.Join(r.Errs...); err == nil || !strings.Contains(err.Error(), "service shelf at /nowhere: no such shelf") || r.Journal.Undo.None() {
		t.Errorf("a service in trouble: %v, outstanding %v", err, r.Journal.Undo)
	}
}

// clumsy is a machine on which nothing can be removed.
type clumsy struct{ *machine }

func (c clumsy) Run(ctx context.Context, what platform.Command) (platform.Result, error) {
	if what.Argv[0] == "rm" {
		return platform.Result{Exit: 1, Stderr: []byte("rm: directory not empty\n")}, nil
	}
	return c.machine.Run(ctx, what)
}

// What a service kept is outstanding until it is gone.
func TestRestoreWhereServicesCannotBeRemoved(t *testing.T) {
	r := shelfRestorer(t, nil)
	r.Journal.Undo.Loads = nil
	if err := r.Journal.Append(journal.Entry{Kind: journal.KindServe}); err != nil {
		t.Fatal(err)
	}
	plain := r.Machines.Machine
	r.Machines.Machine = clumsy{plain.(*machine)}
	r.Services(t.Context())
	if err := errors.Join(r.Errs...); err == nil || !strings.Contains(err.Error(), "rm: directory not empty") || r.Journal.Undo.None() {
		t.Errorf("%v, outstanding %v", err, r.Journal.Undo)
	}
	r.Machines.Machine, r.Errs = plain, nil
	r.Services(t.Context())
	if err := errors.Join(r.Errs...); err != nil || !r.Journal.Undo.None() {
		t.Errorf("%v, outstanding %v", err, r.Journal.Undo)
	}
}
