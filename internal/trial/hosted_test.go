package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
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

// Claims are 1 GiB of memory, and a disk of 3 MiB in the service unless a level has another size.
func (r *rack) Claims(further parameter.Settings) (memory, stored int64, err error) {
	var size rackSettings
	if size.Disk = 3 << 20; parameter.Decode(&size, further) != nil {
		return 0, 0, errors.New("unexpected settings")
	}
	return 1 << 30, int64(size.Disk), nil
}

// rackSettings is the settings of the machine.
type rackSettings struct {
	Disk parameter.Bytes `name:"disk" doc:"size of the disk"`
}

func (r *rack) say(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, what)
}

func (r *rack) Host(context.Context) (platform.Machine, string, error) {
	return ground{&node{r.machine, "here"}}, r.dir, nil
}

// Members asks one machine for all of a group.
func (r *rack) Members(_ context.Context, groups ...platform.Group) ([][]platform.Machine, error) {
	return platform.InTurn(groups, r.members)
}

func (r *rack) members(g platform.Group) ([]platform.Machine, error) {
	if g.Machines != 1 {
		return nil, fmt.Errorf("%d machines are made for a question", g.Machines)
	}
	return []platform.Machine{r}, nil
}

// ground is the host, with 10 GiB of free disk space.
type ground struct{ *node }

func (ground) Clock(context.Context) (platform.Clock, error) { return platform.Clock{}, nil }
func (ground) Space(context.Context, string) (platform.Space, error) {
	return platform.Space{Size: 20 << 30, Free: 10 << 30}, nil
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
	Weight  int    `name:"weight" doc:"GiB of memory, and of disk space"`
}

func (v *vault) Check(_ context.Context, env service.Env) (service.Needs, error) {
	if env.Machine.Name() != "here" {
		return service.Needs{}, errors.New("it is asked about machine " + env.Machine.Name())
	}
	return service.Needs{Copies: 2, Capacity: int64(v.Walls) << 20, Memory: int64(v.Weight) << 30, Disk: int64(v.Weight) << 30}, nil
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
	b.Catalog.Platforms = []platform.Kind{{Name: "fake", Defaults: rackSettings{}, Hosts: "bricks", Fleeting: func(parameter.Settings) bool { return true }}}
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

// Disks that the service cannot hold are refused before the start, and so is what the host cannot hold: the memory of the service and all machines, and the
// disk space of the service with full disks.
func TestTheHostOfTheMachinesIsLargeEnough(t *testing.T) {
	for _, c := range []struct {
		name, walls, weight string
		machines            int
		levels              []string // of the size of the disk
		memory              string
		want                HostNeeds
		err                 string
	}{
		{name: "as large as the disk", walls: "6", want: HostNeeds{Memory: 1 << 30, Disk: 6 << 20}},
		{name: "too small", walls: "5", err: "the data takes 6.00MiB in service vault, its redundancy included, but that holds 5.00MiB: make the disks of machines smaller, or enlarge the service"},
		{name: "all machines of a group", walls: "18", weight: "2", machines: 3, want: HostNeeds{Memory: 5 << 30, Disk: 2<<30 + 18<<20}},
		{name: "too many machines", walls: "17", machines: 3, err: "the data takes 18.0MiB in service vault"},
		{name: "the largest level", walls: "20", levels: []string{"1MiB", "10MiB", "2MiB"}, want: HostNeeds{Memory: 1 << 30, Disk: 20 << 20}},
		{name: "a level that is too large", walls: "20", levels: []string{"1MiB", "11MiB"}, err: "the data takes 22.0MiB in service vault"},
		{name: "memory", walls: "6", weight: "3", memory: "4194304", err: "service vault and the machines take 4.00GiB of memory, but their host has 4.00GiB: use fewer machines or less memory, or a smaller service"},
		{name: "enough memory", walls: "6", weight: "2", memory: "4194304", want: HostNeeds{Memory: 3 << 30, Disk: 2<<30 + 6<<20}},
		{name: "disk space", walls: "1024", weight: "9", levels: []string{"512MiB"}, err: "service vault with full disks of the machines takes 10.0GiB in "},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, b, _ := hostedBench(t)
			b.Study.Service.Settings = parameter.Settings{"walls": c.walls, "weight": cmp.Or(c.weight, "0")}
			write := func(name, text string) {
				if err := errors.Join(os.MkdirAll(filepath.Dir(p.path(name)), 0o700), os.WriteFile(p.path(name), []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			if c.memory != "" {
				write("/proc/meminfo", "MemTotal: "+c.memory+" kB\n")
			}
			if c.machines > 0 {
				b.Study.Groups = []study.Group{{Name: "all", Machines: c.machines, Subject: true}}
			}
			if c.levels != nil {
				write("fake.disk", c.levels[0])
				b.Catalog.Factors = append(b.Catalog.Factors, knob("fake.disk", nil))
				b.Study.Factors = []study.Factor{{Name: "fake.disk", Levels: c.levels, Restart: true}}
				b.Plan = planOf(b.Study, 1)
			}
			needs, err := b.Check(t.Context())
			if c.err == "" && (err != nil || needs.Host != c.want) {
				t.Errorf("%+v, want %+v, %v", needs, c.want, err)
			}
			if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("%v", err)
			}
		})
	}
}
