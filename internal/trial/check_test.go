package trial

import (
	"context"
	"io/fs"
	"math"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/machines"
	"plimsoll/internal/workload"
)

// telling is a machine that tells the room in its file systems.
type telling struct {
	*machine
	space platform.Space
}

func (m *telling) Machine() platform.Machine                             { return m }
func (m *telling) Space(context.Context, string) (platform.Space, error) { return m.space, nil }
func (m *telling) Clock(context.Context) (platform.Clock, error)         { return platform.Clock{}, nil }

// above is a machine on which no folder was made yet but one.
type above struct {
	telling
	made string
}

func (m *above) Space(_ context.Context, dir string) (platform.Space, error) {
	if dir != m.made {
		return platform.Space{}, fs.ErrNotExist
	}
	return m.space, nil
}

// The room for a folder that will be made is that of the folder that it will be in.
func TestRoomForAFolderThatIsNotThere(t *testing.T) {
	m := &above{telling{space: platform.Space{Size: 100, Free: 7}}, "/results"}
	for dir, want := range map[string]bool{"/results": true, "/results/run/scratch": true, "/elsewhere/scratch": false} {
		if left, ok := (machines.Workspace{Machine: m, Dir: dir}).Space(t.Context()); ok != want || ok && left.Free != 7 {
			t.Errorf("in %s: %v, %t", dir, left, ok)
		}
	}
}

func TestStudyThatDoesNotFit(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	r := newRig(t)
	b := r.bench(t, exampleStudy(), 1)
	b.Platform = &telling{machine: r.machine, space: platform.Space{Size: 1 << 30, Free: 1<<20 + 1}}
	if err := b.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "specify another scratch folder") {
		t.Errorf("error %v", err)
	}
	b.Platform = &telling{machine: r.machine, space: platform.Space{Size: 1 << 30, Free: 1 << 29}}
	needs, err := b.Check(t.Context())
	if err != nil || needs.Space != 1<<29 {
		t.Errorf("%+v, %v", needs, err)
	}
}

func TestNumbersThatAreNone(t *testing.T) {
	r := &measure.Record{
		Values:   map[string]float64{"iops": 1, "mean": math.NaN()},
		Counters: map[string]float64{"cpu": math.Inf(1)},
	}
	finite(r)
	if len(r.Values) != 1 || len(r.Counters) != 0 || len(r.Warnings) != 2 {
		t.Errorf("%+v", r)
	}
}

func TestResumeWithAnotherSeedOrScratch(t *testing.T) {
	r := leftAt(t, exampleStudy(), "before write trial")
	seed := r.bench(t, exampleStudy(), 1)
	seed.Plan.Seed = 8
	scratch := r.bench(t, exampleStudy(), 1)
	scratch.Scratch += "2"
	for want, b := range map[string]*Bench{"with seed 7, not 8": seed, "with scratch folder": scratch} {
		if err := b.Run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	r.restore(t)
	r.atFormer(t)
}

// roomy is a shelf that needs room.
type roomy struct{ shelf }

func (roomy) Check(context.Context, service.Env) (service.Needs, error) {
	return service.Needs{Disk: 2 << 20}, nil
}

// fleet is a shelf that has several servers, which need no room of their own.
type fleet struct{ shelf }

func (fleet) Check(context.Context, service.Env) (service.Needs, error) {
	return service.Needs{Servers: 3, Copies: 2}, nil
}

// stocking is a load whose data is in the service.
type stocking struct{ *driven }

func (stocking) Check(context.Context, workload.Env) (workload.Needs, error) {
	return workload.Needs{Served: 1 << 20}, nil
}

// stocks has the loads of a catalog put their data into the service.
func stocks(kind *workload.Kind) {
	plain := kind.New
	kind.Speaks = []string{"shelf"}
	kind.New = func(s parameter.Settings) (workload.Load, error) {
		l, err := plain(s)
		if err != nil {
			return nil, err
		}
		return stocking{l.(*driven)}, nil
	}
}

// A load whose data is in a service fills each of its servers, with each copy; one that only runs beside it has its files once.
func TestEachServerHoldsTheData(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	for stock, want := range map[bool]int64{false: 1 << 20, true: 6 << 20} {
		s := exampleStudy()
		s.Service = &study.Use{Kind: "shelf"}
		b := newRig(t).bench(t, s, 1)
		if stock {
			stocks(&b.Catalog.Workloads[0])
		}
		b.Catalog.Services = []service.Kind{service.Define(service.Kind{Name: "shelf", Doc: "holds files", Speaks: []string{"shelf"}}, shelf{},
			func(s shelf) (service.Service, error) { return fleet{s}, nil })}
		if needs, err := b.Check(t.Context()); err != nil || needs.Disk != want {
			t.Errorf("a load with data in the service: %v: needs %+v, %v", stock, needs, err)
		}
	}
}

// titled are the settings of a shelf that holds so much.
type titled struct {
	Title string `name:"title" doc:"what is written on it"`
}

// bounded is a shelf that holds so much.
type bounded struct {
	shelf
	store string
}

func (b bounded) Check(context.Context, service.Env) (service.Needs, error) {
	return service.Needs{Capacity: 5 << 20, Copies: 2, Store: b.store}, nil
}

// The data of arms that share a service is in it at once, and refused before the start where it exceeds the service.
func TestDataOfAllArmsInOneService(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	for _, c := range []struct {
		levels []string
		adapts []string
		store  string
		want   int64
		err    string
	}{
		{[]string{"a", "b"}, nil, "", 2 << 20, ""}, // one after the other
		{[]string{"a", "b"}, []string{"title"}, "", 4 << 20, ""},
		{[]string{"a", "b", "c"}, []string{"title"}, "one", 2 << 20, ""},
		{[]string{"a", "b", "c"}, []string{"title"}, "", 0, "the data of 3 arms takes 6.00MiB in service shelf, its redundancy included, but that holds 5.00MiB: reduce the data of workload driven, or enlarge the service"},
	} {
		s := exampleStudy()
		s.Service = &study.Use{Kind: "shelf"}
		s.Factors = []study.Factor{{Name: "shelf.title", Parameter: "title", Levels: c.levels, OfService: true}}
		b := newRig(t).bench(t, s, 1)
		stocks(&b.Catalog.Workloads[0])
		b.Catalog.Services = []service.Kind{service.Define(service.Kind{Name: "shelf", Doc: "holds files", Speaks: []string{"shelf"}, Adapts: c.adapts}, titled{},
			func(titled) (service.Service, error) { return bounded{store: c.store}, nil })}
		needs, err := b.Check(t.Context())
		if c.err != "" && (err == nil || err.Error() != c.err) || c.err == "" && (err != nil || needs.Disk != c.want) {
			t.Errorf("%v, adapting %v: %+v, %v", c.levels, c.adapts, needs, err)
		}
	}
}

// standing is a shelf that loads may look at before the study starts.
type standing struct{ shelf }

func (s standing) Endpoints() map[string]load.Endpoint {
	if s.Address == "" {
		return nil
	}
	return map[string]load.Endpoint{"shelf": {Network: "unix", Address: s.Address}}
}

// looking is a load whose check looks at its service.
type looking struct {
	*driven
	saw *[]string
}

func (l looking) Check(_ context.Context, env workload.Env) (workload.Needs, error) {
	if env.Target != nil {
		at, err := env.Target("shelf")
		*l.saw = append(*l.saw, at.Address)
		return workload.Needs{Changes: []string{"moves books"}}, err
	}
	*l.saw = append(*l.saw, "nothing")
	return workload.Needs{}, nil
}

// Loads look at a service that runs already, before anything is changed: at that of each arm.
func TestLoadsLookAtAServiceThatRuns(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	for _, c := range []struct {
		address string
		levels  []string
		want    []string
	}{{"", nil, []string{"nothing"}}, {"here", nil, []string{"here"}}, {"here", []string{"here", "there"}, []string{"here", "there"}}} {
		s := exampleStudy()
		s.Factors = nil
		s.Service = &study.Use{Kind: "shelf", Settings: parameter.Settings{"address": c.address}}
		if c.levels != nil {
			s.Factors = []study.Factor{{Name: "shelf.address", Parameter: "address", Levels: c.levels, OfService: true}}
		}
		b := newRig(t).bench(t, s, 1)
		var saw []string
		plain := b.Catalog.Workloads[0].New
		b.Catalog.Workloads[0].New = func(s parameter.Settings) (workload.Load, error) {
			l, err := plain(s)
			if err != nil {
				return nil, err
			}
			return looking{l.(*driven), &saw}, nil
		}
		b.Catalog.Services = []service.Kind{service.Define(service.Kind{Name: "shelf", Doc: "holds files", Speaks: []string{"shelf"}}, shelf{},
			func(s shelf) (service.Service, error) { return standing{s}, nil })}
		needs, err := b.Check(t.Context())
		if err != nil || !slices.Equal(saw, c.want) || (c.address != "") != slices.Contains(needs.Changes, "moves books") {
			t.Errorf("at %q: saw %q, want %q; %+v, %v", c.address, saw, c.want, needs, err)
		}
	}
}

// What a service and a load need adds up; arms, which come one after the other, do not.
func TestServiceAndLoadShareTheDisk(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", memory(t))
	r := newRig(t)
	s := exampleStudy()
	s.Service = &study.Use{Kind: "shelf"}
	b := r.bench(t, s, 1)
	b.Catalog.Services = []service.Kind{service.Define(service.Kind{Name: "shelf", Doc: "holds files", Speaks: []string{"shelf"}}, shelf{},
		func(s shelf) (service.Service, error) { return roomy{s}, nil })}
	needs, err := b.Check(t.Context())
	if err != nil || needs.Disk != 3<<20 || len(b.Plan.Arms) < 2 {
		t.Errorf("%d arms need %+v, %v", len(b.Plan.Arms), needs, err)
	}
}
