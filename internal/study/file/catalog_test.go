package file

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"plimsoll/internal/collect"
	"plimsoll/internal/factor"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
	"plimsoll/internal/study"
	"plimsoll/internal/workload"
)

type storageSettings struct {
	Disks   int             `name:"disks" doc:"disks, or files" min:"1" max:"64"`
	Size    parameter.Bytes `name:"size" doc:"size of each disk" min:"1MiB"`
	Block   string          `name:"block" doc:"size of an operation, or a mix"`
	Read    parameter.Share `name:"read" doc:"share of reads"`
	Random  parameter.Share `name:"random" doc:"share of random operations"`
	Threads int             `name:"threads" doc:"workers on each disk" min:"1" max:"256"`
	Depth   int             `name:"depth" doc:"outstanding operations of each worker" min:"1" max:"1024"`
	Engine  string          `name:"engine" doc:"fio I/O engine" choices:"psync,libaio,io_uring"`
	Direct  bool            `name:"direct" doc:"bypass the page cache"`
	Rate    parameter.Rate  `name:"rate" doc:"operations offered, all disks together"`
	Spec    string          `name:"spec" doc:"Iometer access specification"`
	Targets []string        `name:"targets" doc:"devices or files"`
}

type webSettings struct {
	Connections int            `name:"connections" doc:"open at once" min:"1" max:"100000"`
	Rate        parameter.Rate `name:"rate" doc:"requests offered"`
	Arrivals    string         `name:"arrivals" doc:"how they arrive" choices:"constant,poisson"`
}

type nginxSettings struct {
	Workers int `name:"workers" doc:"processes" min:"1" max:"64"`
	Pages   int `name:"pages" doc:"pages that it serves" min:"1" max:"1000"`
}

type simSettings struct {
	Capacity parameter.Rate  `name:"capacity" doc:"operations per second of one server"`
	Servers  int             `name:"servers" doc:"servers" min:"1" max:"1000"`
	Noise    parameter.Share `name:"noise" doc:"variation between runs"`
	Effects  []string        `name:"effects" doc:"planted effects"`
	Standby  string          `name:"standby" doc:"pauses the machine"`
}

// unplaced compares studies without the places that their levels have in a file.
var unplaced = cmpopts.IgnoreUnexported(study.Study{})

// testCatalog is a small catalog whose workloads run nothing.
func testCatalog() *study.Catalog {
	return &study.Catalog{
		Workloads: []workload.Kind{
			workload.Define(workload.Kind{Name: "storage", Doc: "Drives disks.", Metrics: measure.OperationMetrics("iops", "read", "write"), Rate: "iops"},
				storageSettings{Disks: 1, Size: 512 << 20, Block: "4KiB", Random: 1, Threads: 1, Depth: 1, Engine: "psync", Direct: true},
				func(p storageSettings) (workload.Load, error) {
					if p.Engine == "psync" && p.Depth > 1 {
						return nil, fmt.Errorf("engine psync has depth 1, not %d; take libaio", p.Depth)
					}
					return nil, nil
				}),
			workload.Define(workload.Kind{Name: "null", Doc: "Does nothing.", Metrics: measure.OperationMetrics("operations"), Rate: "operations"},
				struct{}{}, func(struct{}) (workload.Load, error) { return nil, nil }),
			workload.Define(workload.Kind{Name: "web", Doc: "Asks for pages.", Metrics: measure.OperationMetrics("requests"), Rate: "requests", Speaks: []string{"http"}},
				webSettings{Connections: 8, Arrivals: "constant"}, func(webSettings) (workload.Load, error) { return nil, nil }),
		},
		Services: []service.Kind{
			service.Define(service.Kind{Name: "redis", Doc: "Keys and values.", Speaks: []string{"redis"}}, struct{}{}, func(struct{}) (service.Service, error) { return nil, nil }),
			service.Define(service.Kind{Name: "nginx", Doc: "Serves pages.", Speaks: []string{"http"}}, nginxSettings{Workers: 1, Pages: 4},
				func(p nginxSettings) (service.Service, error) {
					if p.Workers > p.Pages {
						return nil, fmt.Errorf("%d workers have nothing to do with %d pages", p.Workers, p.Pages)
					}
					return nil, nil
				}),
			service.Define(service.Kind{Name: "apache", Doc: "Serves pages.", Speaks: []string{"http"}}, struct{}{}, func(struct{}) (service.Service, error) { return nil, nil }),
		},
		Platforms: []platform.Kind{
			{Name: "local", Doc: "this machine", Defaults: struct{}{}},
			{Name: "sim", Doc: "a simulated server", Defaults: &simSettings{Capacity: 1000, Servers: 1, Noise: 0.01}},
		},
		Factors: []factor.Factor{
			{Name: "host.scheduler", Doc: "block scheduler", Target: "block device", Example: []string{"none", "mq-deadline"}},
			{Name: "host.quota", Doc: "CPU time of the workers", Example: []string{"1", "2"}, Check: checkQuota},
			{Name: "host.governor", Doc: "CPU governor", Restart: true},
			{Name: "sim.standby", Doc: "pauses the machine", Pauses: func(level string) bool { return level != "none" }},
			{Name: "sim.knob", Doc: "does what the study plants", Example: []string{"off", "on"}},
		},
		Sources: []collect.Source{{Name: "cpu", Counters: []collect.Counter{{Metric: measure.Metric{Name: "cpu.busy", Unit: "1"}}}}},
		Monitors: []collect.Monitor{{Name: "gauge", Doc: "measures a level", Defaults: gaugeSettings{}, Speaks: "level", New: func(s parameter.Settings) (collect.Monitored, error) {
			if s["address"] == "nowhere" {
				return collect.Monitored{}, errors.New("nowhere is no address")
			}
			return collect.Monitored{Own: s["address"] != ""}, nil
		}}},
	}
}

type gaugeSettings struct {
	Address string `name:"address" doc:"where it is"`
	Name    string `name:"name" doc:"of the level"`
}

func checkQuota(_ context.Context, _ factor.Env, level string) (string, error) {
	f := parameter.Field{Name: "quota", Kind: parameter.KindNumber, Min: "0.1"}
	canonical, err := f.Check(level)
	if err != nil {
		return "", errors.New("a quota is a number of CPUs, such as 1.5")
	}
	return canonical, nil
}

func parse(t *testing.T, text string, sets ...string) *study.Study {
	t.Helper()
	s, err := Parse("test.yaml", []byte(text), testCatalog(), sets)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const head = "study: s\nquestion: q?\nplatform: local\nworkload: storage\n"

// web is the beginning of a study whose workload talks to a service.
const web = "study: s\nquestion: q?\nplatform: local\nworkload: web\n"

// For the tests of what describes studies, which are of another package.
var (
	TestCatalog = testCatalog
	ParseTest   = parse
	MeasureTest = defaultMeasure
)

// Studies and beginnings of studies.
const (
	HeadTest = head
	WebTest  = web
	FullTest = full
)
