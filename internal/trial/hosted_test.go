package trial

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
	"plimsoll/internal/study"
)

// rack is a fake platform whose machine has its disk in a service on the host.
type rack struct {
	*machine
	dir    string
	mu     sync.Mutex
	said   []string
	once   sync.Once
	killed chan struct{} // closed when the machine is ended because the service died
	refuse error
}

func (r *rack) Machine() platform.Machine { return r }
func (r *rack) Stored() int64             { return 3 << 20 }

func (r *rack) say(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, what)
}

func (r *rack) Host(context.Context) (platform.Machine, string, error) {
	return &node{r.machine, "here"}, r.dir, nil
}

func (r *rack) Attach(_ context.Context, at load.Endpoint, prefix string) error {
	if at.Address == "" {
		r.say("announce")
		return r.refuse
	}
	r.say("attach " + at.Address)
	if !strings.HasPrefix(prefix, "plimsoll-") || len(prefix) < len("plimsoll-0123456789ab-") {
		return errors.New("the prefix is " + prefix)
	}
	return nil
}

func (r *rack) Detach(_ context.Context, died bool) error {
	if died {
		r.say("kill")
		r.once.Do(func() { close(r.killed) })
	} else {
		r.say("detach")
	}
	return nil
}

func (r *rack) Clear(_ context.Context, at load.Endpoint, prefix string) error {
	r.say("clear " + at.Address + " " + prefix)
	return r.refuse
}

// vault is the service with the disks.
type vault struct {
	vaultSettings
	rack *rack
}

type vaultSettings struct {
	Address string `name:"address" doc:"use the one there"`
	Walls   int    `name:"walls" doc:"how thick"`
}

func (v *vault) Check(_ context.Context, env service.Env) (service.Needs, error) {
	if env.Machine.Name() != "here" {
		return service.Needs{}, errors.New("it is asked about machine " + env.Machine.Name())
	}
	return service.Needs{Copies: 2, Capacity: int64(v.Walls) << 20}, nil
}

func (v *vault) Start(_ context.Context, env service.Env) (service.Instance, error) {
	if env.Machine.Name() != "here" || env.Dir != filepath.Join(v.rack.dir, "service", "vault") {
		return nil, errors.New("it is started on " + env.Machine.Name() + " in " + env.Dir)
	}
	v.rack.say("start")
	return &open{vault: v, dead: make(chan struct{})}, nil
}

type open struct {
	*vault
	dead chan struct{}
}

func (o *open) Endpoint(protocol string) (load.Endpoint, error) {
	if protocol != "bricks" {
		return load.Endpoint{}, errors.New("it does not speak " + protocol)
	}
	return load.Endpoint{Address: cmp.Or(o.Address, "/vault")}, nil
}
func (o *open) Observed(context.Context) (map[string]string, error) {
	return map[string]string{"walls": "2"}, nil
}

func (o *open) Counters(context.Context) (map[string]float64, error) {
	return map[string]float64{"vault.bricks": 7}, nil
}
func (o *open) Stop(context.Context) error { o.rack.say("stop"); return nil }
func (o *open) Died() error {
	select {
	case <-o.dead:
		return errors.New("it burnt down")
	default:
		return nil
	}
}

// hostedBench is a study of which the machine has its disk in a service.
func hostedBench(t *testing.T) (*rack, *Bench, *rig) {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", memory(t))
	r := newRig(t)
	p := &rack{machine: r.machine, dir: filepath.Join(r.root, "host"), killed: make(chan struct{})}
	s := exampleStudy()
	s.Factors, s.Service, s.Hosted = []study.Factor{{Name: "host.one", Levels: []string{"on", "off"}, Restart: true}}, &study.Use{Kind: "vault"}, true
	r.hooks.during = func(i int) {
		if i == 0 {
			p.say("load")
		}
	}
	b := r.bench(t, s, 1)
	b.Platform = p
	b.Catalog.Platforms = []platform.Kind{{Name: "fake", Hosts: "bricks", Fleeting: func(parameter.Settings) bool { return true }}}
	b.Catalog.Services = []service.Kind{service.Define(service.Kind{Name: "vault", Speaks: []string{"bricks"}, Metrics: []measure.Metric{{Name: "vault.bricks", Unit: "1"}}},
		vaultSettings{}, func(v vaultSettings) (service.Service, error) { return &vault{v, p}, nil })}
	return p, b, r
}

// A service with the disks of machines starts before them on their host, outlives their reboots, and ends after them.
func TestAServiceUnderTheMachines(t *testing.T) {
	p, b, r := hostedBench(t)
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"announce", "start", "attach /vault", "load", "attach /vault", "load", "detach", "stop"}; !slices.Equal(p.said, want) {
		t.Errorf("%q, want %q", p.said, want)
	}
	for _, record := range r.records(t) {
		if !record.Valid() || record.Counters["vault.bricks"] != 7 || record.Observed["vault.walls"] != "2" {
			t.Errorf("trial %d: void %q, counters %v, observed %v", record.Trial, record.Void, record.Counters, record.Observed)
		}
	}
}

// A factor of the service gives each trial a new one, from which the machines part before.
func TestAFactorOfTheServiceUnderTheMachines(t *testing.T) {
	p, b, _ := hostedBench(t)
	b.Study.Factors = []study.Factor{{Name: "vault.walls", Parameter: "walls", OfService: true, Levels: []string{"7", "8"}}}
	b.Plan = planOf(b.Study, 1)
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	once := []string{"start", "attach /vault", "load", "detach", "stop"}
	if want := slices.Concat([]string{"announce"}, once, once); !slices.Equal(p.said[:len(want)], want) {
		t.Errorf("%q, want %q", p.said, want)
	}
}

// Where the service dies its machines are ended, for their loads would never end; the trial says why, and is repeated.
func TestAServiceDiesUnderTheMachines(t *testing.T) {
	p, b, r := hostedBench(t)
	first := b.Catalog.Services[0].New
	var started []*open
	b.Catalog.Services[0].New = func(s parameter.Settings) (service.Service, error) {
		v, err := first(s)
		return starting{v.(*vault), &started}, err
	}
	r.hooks.run = func(ctx context.Context, out *measure.Recorder) error {
		r.hooks.run = nil
		close(started[0].dead)
		select {
		case <-p.killed:
			return errors.New("the machine is gone")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	records := r.records(t)
	if len(records) != 3 || !strings.Contains(records[0].Void, "service vault: it burnt down: ") || !records[1].Valid() || !records[2].Valid() {
		t.Errorf("%d records, the first is void: %q", len(records), records[0].Void)
	}
	if want := []string{"announce", "start", "attach /vault", "kill", "stop", "start", "attach /vault", "load"}; !slices.Equal(slices.Compact(p.said)[:len(want)], want) {
		t.Errorf("%q, want %q", p.said, want)
	}
}

type starting struct {
	*vault
	all *[]*open
}

func (s starting) Start(ctx context.Context, env service.Env) (service.Instance, error) {
	i, err := s.vault.Start(ctx, env)
	if err == nil {
		*s.all = append(*s.all, i.(*open))
	}
	return i, err
}

// Disks in a service that a run only uses are removed after its death, by their names.
func TestDisksOfADeadRunAreRemoved(t *testing.T) {
	p, b, r := hostedBench(t)
	b.Study.Service.Settings = parameter.Settings{"address": "/theirs"}
	b.Plan = planOf(b.Study, 1)
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
	p.said, p.refuse = nil, errors.New("no route to it")
	if _, err := restoredFrom(t.Context(), b, p); err == nil || !strings.Contains(err.Error(), "remove the disks of machines from service vault at /theirs: no route to it") {
		t.Errorf("%v", err)
	}
	p.said, p.refuse = nil, nil
	said, err := restoredFrom(t.Context(), b, p)
	if err != nil || !slices.Contains(said, "removed the disks of machines from the service vault at /theirs") {
		t.Errorf("%q, %v", said, err)
	}
	if len(p.said) != 3 || !strings.HasPrefix(p.said[1], "clear /theirs plimsoll-") {
		t.Errorf("%q", p.said)
	}
	if left, err := r.unfinished(); err != nil || len(left) > 0 {
		t.Errorf("%v is unfinished, %v", left, err)
	}
}

// A platform that cannot have its disks there says so before anything starts.
func TestDisksAreRefusedBeforeTheRun(t *testing.T) {
	p, b, _ := hostedBench(t)
	p.refuse = errors.New("QEMU lacks a driver")
	if _, err := b.Check(t.Context()); !errors.Is(err, p.refuse) {
		t.Errorf("%v", err)
	}
	if want := []string{"announce"}; !slices.Equal(p.said, want) {
		t.Errorf("%q", p.said)
	}
}

// Disks that the service cannot hold are refused before the start: those of all arms that share it.
func TestDisksThatTheServiceCannotHold(t *testing.T) {
	for walls, want := range map[string]string{"6": "", "5": "the data takes 6.00MiB in service vault, its redundancy included, but that holds 5.00MiB: make the disks of machines smaller, or enlarge the service"} {
		_, b, _ := hostedBench(t)
		b.Study.Service.Settings = parameter.Settings{"walls": walls}
		if _, err := b.Check(t.Context()); want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: %v", walls, err)
		}
	}
}
