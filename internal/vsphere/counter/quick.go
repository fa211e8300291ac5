package counter

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/measure"
	"plimsoll/internal/vsphere/inventory"
	"plimsoll/internal/vsphere/session"
)

// statistic is one of the quickStats of an object.
type statistic struct {
	property string // below summary.quickStats
	name     string
	unit     string
	factor   float64
	doc      string
}

// quick are the quickStats that are read, by kind of object.
var quick = map[string][]statistic{
	ofVM: {
		{"overallCpuUsage", "cpu.usage", "1/s", 1e6, "CPU cycles used"},
		{"overallCpuDemand", "cpu.demand", "1/s", 1e6, "CPU cycles that would be used without contention"},
		{"guestMemoryUsage", "memory.active", "B", 1 << 20, "memory touched recently"},
		{"hostMemoryUsage", "memory.consumed", "B", 1 << 20, "host memory consumed"},
		{"consumedOverheadMemory", "memory.overhead", "B", 1 << 20, "memory that the hypervisor uses for them"},
		{"balloonedMemory", "memory.balloon", "B", 1 << 20, "memory reclaimed by ballooning"},
		{"swappedMemory", "memory.swapped", "B", 1 << 20, "memory that is swapped out"},
	},
	ofHost: {
		{"overallCpuUsage", "cpu.usage", "1/s", 1e6, "CPU cycles used"},
		{"overallMemoryUsage", "memory.consumed", "B", 1 << 20, "memory used"},
	},
}

const (
	stats = "summary.quickStats."
	// quickEvery is the interval between readings of quickStats.
	quickEvery = 5 * time.Second
)

func (q statistic) metric(kind string) measure.Metric {
	return of(kind, measure.Metric{Name: "quick." + q.name, Doc: "quickStats: " + q.doc}, q.unit, false)
}

func quickProperties(kind string) (list []string) {
	for _, q := range quick[kind] {
		list = append(list, stats+q.property)
	}
	return list
}

// quickSamples are the readings of quickStats during a load.
type quickSamples struct {
	session *session.Session
	objects []object
	stop    context.CancelFunc
	done    sync.WaitGroup

	mu     sync.Mutex
	all    []quickSample
	failed int
	why    error // of the first failure
}

// quickSample is one reading of all objects.
type quickSample struct {
	at     time.Time                        // by the clock of this host
	values map[reference]map[string]float64 // by object and property
}

// watch reads quickStats until it is closed.
func watch(s *session.Session, objects []object) *quickSamples {
	ctx, stop := context.WithCancel(context.Background())
	g := &quickSamples{session: s, objects: objects, stop: stop}
	g.done.Go(func() {
		tick := time.NewTicker(quickEvery)
		defer tick.Stop()
		for {
			g.read(ctx)
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	return g
}

func (g *quickSamples) close() {
	g.stop()
	g.done.Wait()
}

// read reads all objects once.
func (g *quickSamples) read(ctx context.Context) {
	list := make([]reference, len(g.objects))
	for i, o := range g.objects {
		list[i] = o.ref
	}
	now := quickSample{values: map[reference]map[string]float64{}}
	from := time.Now()
	err := inventory.Read(ctx, g.session, list, quickProperties, func(o types.ObjectContent) {
		values := map[string]float64{}
		for _, p := range o.PropSet {
			if v, is := p.Val.(int32); is && v >= 0 {
				values[p.Name[len(stats):]] = float64(v)
			}
		}
		now.values[o.Obj] = values
	})
	now.at = from.Add(time.Since(from) / 2)
	if ctx.Err() != nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil {
		g.all = append(g.all, now)
		return
	}
	if g.failed++; g.why == nil {
		g.why = err
	}
}

// over is the mean of each statistic over the readings in a window, for all objects of a kind.
// A statistic missing in all readings of an object is omitted.
func (g *quickSamples) over(from, to time.Time, r *result) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failed > 0 {
		r.miss("quickStats could not be read %d times: %v", g.failed, g.why)
	}
	var inside []quickSample
	for _, one := range g.all {
		if !one.at.Before(from) && !one.at.After(to) {
			inside = append(inside, one)
		}
	}
	if len(inside) == 0 {
		r.miss("quickStats were not read in the window")
		return
	}
	for _, kind := range r.kinds() {
		for _, q := range quick[kind] {
			total, lacking := 0.0, ""
			for _, o := range r.present(kind) {
				mean, n := 0.0, 0
				for _, one := range inside {
					if v, has := one.values[o.ref][q.property]; has {
						mean, n = mean+v, n+1
					}
				}
				if n == 0 {
					lacking = o.name
					continue
				}
				total += mean / float64(n)
			}
			if lacking != "" {
				r.miss("quickStats of %s %s lack %s", nouns[kind], lacking, q.property)
				continue
			}
			r.set(q.metric(kind).Name, total*q.factor)
		}
	}
}

// miss notes missing or doubtful data.
func (r *result) miss(format string, args ...any) {
	r.missing = append(r.missing, fmt.Sprintf(format, args...))
}
