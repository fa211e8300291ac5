package counter

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/session"
)

// index is the vCenter's identifiers of the counters, and the sampling interval.
type index struct {
	ids     map[string]int32 // by name
	names   map[int32]string
	lacking map[string]string // why a counter is unavailable, by name
	refresh time.Duration
}

// lookUp finds the identifiers of the counters, and the sampling interval.
func lookUp(ctx context.Context, s *session.Session, objects []object) (index, error) {
	x := index{ids: map[string]int32{}, names: map[int32]string{}, lacking: map[string]string{}}
	var manager mo.PerformanceManager
	at := *s.Client().ServiceContent.PerfManager
	if err := mo.RetrieveProperties(ctx, s.Client(), s.Client().ServiceContent.PropertyCollector, at, &manager); err != nil {
		return x, fmt.Errorf("read the list of performance counters: %w", err)
	}
	units := map[string]string{}
	for i := range manager.PerfCounter {
		c := &manager.PerfCounter[i]
		name := c.GroupInfo.GetElementDescription().Key + "." + c.NameInfo.GetElementDescription().Key + "." + string(c.RollupType)
		x.ids[name], units[name] = c.Key, c.UnitInfo.GetElementDescription().Key
	}
	for _, kind := range []string{ofVM, ofHost} {
		for _, c := range counters(kind) {
			switch unit, has := units[c.name]; {
			case !has:
				x.lacking[c.name] = "the vCenter has no counter " + c.name
			case unit != c.unit:
				x.lacking[c.name] = fmt.Sprintf("the vCenter's counter %s is in %s, not in %s", c.name, unit, c.unit)
			default:
				x.names[x.ids[c.name]] = c.name
			}
		}
	}
	var err error
	x.refresh, err = refresh(ctx, s, objects)
	return x, err
}

// refresh is the longest sampling interval of the objects.
func refresh(ctx context.Context, s *session.Session, objects []object) (longest time.Duration, err error) {
	for _, kind := range []string{ofVM, ofHost} {
		i := slices.IndexFunc(objects, func(o object) bool { return o.kind == kind })
		if i < 0 {
			continue
		}
		answer, err := methods.QueryPerfProviderSummary(ctx, s.Client(), &types.QueryPerfProviderSummary{This: *s.Client().ServiceContent.PerfManager, Entity: objects[i].ref})
		if err != nil {
			return 0, fmt.Errorf("ask how often %s %s is sampled: %w", nouns[kind], objects[i].name, err)
		}
		if r := answer.Returnval; !r.CurrentSupported || r.RefreshRate <= 0 {
			return 0, fmt.Errorf("the vCenter has no samples of the last hour for %s %s", nouns[kind], objects[i].name)
		}
		longest = max(longest, time.Duration(answer.Returnval.RefreshRate)*time.Second)
	}
	return longest, nil
}

// mostAsked is the maximum number of objects per query.
const mostAsked = 100

// read reads the samples of some objects into a list at their indexes.
func (f *monitorReader) read(ctx context.Context, w window, all []*reading, places []int) error {
	for part := range slices.Chunk(places, mostAsked) {
		if err := f.ask(ctx, w, all, part); err != nil {
			return fmt.Errorf("query performance counters: %w", err)
		}
	}
	return nil
}

// ask queries the samples of some objects at once. A vCenter refuses the whole query because
// of one object; then each half is queried.
func (f *monitorReader) ask(ctx context.Context, w window, all []*reading, places []int) error {
	request := types.QueryPerf{This: *f.session.Client().ServiceContent.PerfManager}
	from, to := w.from.Add(-w.slack-f.index.refresh), w.to.Add(w.slack+f.index.refresh)
	for _, i := range places {
		o := &f.objects[i]
		all[i] = &reading{object: o}
		request.QuerySpec = append(request.QuerySpec, types.PerfQuerySpec{
			Entity: o.ref, StartTime: &from, EndTime: &to, IntervalId: int32(f.index.refresh.Seconds()),
			Format: string(types.PerfFormatCsv), MetricId: f.index.metrics(o.kind),
		})
	}
	answer, err := methods.QueryPerf(ctx, f.session.Client(), &request)
	if err != nil {
		return f.refused(ctx, w, all, places, err)
	}
	for _, one := range answer.Returnval {
		text, is := one.(*types.PerfEntityMetricCSV)
		if !is {
			continue
		}
		for _, i := range places {
			if f.objects[i].ref == text.Entity {
				all[i].take(text, f.index.names)
			}
		}
	}
	return nil
}

// metrics are the counters of a kind of objects, aggregated over instances.
func (x index) metrics(kind string) (list []types.PerfMetricId) {
	for _, c := range counters(kind) {
		if x.lacking[c.name] == "" {
			list = append(list, types.PerfMetricId{CounterId: x.ids[c.name]})
		}
	}
	return list
}

// take parses the samples of a response.
func (one *reading) take(text *types.PerfEntityMetricCSV, names map[int32]string) {
	spans, err := parseSpans(text.SampleInfoCSV)
	if err != nil {
		one.why = "the vCenter's answer cannot be read: " + err.Error()
		return
	}
	one.spans = spans
	for _, s := range text.Value {
		name, known := names[s.Id.CounterId]
		if !known || s.Id.Instance != "" {
			continue
		}
		values, err := parseValues(s.Value, len(spans))
		if err != nil {
			one.spans, one.series = nil, nil
			one.why = fmt.Sprintf("the vCenter's answer cannot be read: %s: %v", name, err)
			return
		}
		one.series = append(one.series, series{name, values})
	}
}

// refused queries halves of a refused query. For a single object it records the reason.
func (f *monitorReader) refused(ctx context.Context, w window, all []*reading, places []int, why error) error {
	var method types.BaseMethodFault
	if _, faulted := fault.As(why, &method); !faulted || fault.Is(why, &types.NotAuthenticated{}) || session.Permanent(why) && !fault.Is(why, &types.NoPermission{}) {
		return why
	}
	if len(places) > 1 {
		half := len(places) / 2
		if err := f.ask(ctx, w, all, places[:half]); err != nil {
			return err
		}
		return f.ask(ctx, w, all, places[half:])
	}
	one := all[places[0]]
	if one.gone = fault.Is(why, &types.ManagedObjectNotFound{}); !one.gone {
		one.why = why.Error()
		if denied := (*types.NoPermission)(nil); isDenied(why, &denied) {
			one.why = fmt.Sprintf("the account lacks the privilege %s on it", denied.PrivilegeId)
		}
	}
	return nil
}

func isDenied(err error, denied **types.NoPermission) bool {
	_, is := fault.As(err, denied)
	return is
}

// clock is the offset of the vCenter's clock from that of this host.
type clock struct {
	offset time.Duration // add it to a time of this host
	err    time.Duration
}

// readings is the number of readings of the clock; the fastest response counts.
const readings = 3

func readClock(ctx context.Context, s *session.Session) (best clock, err error) {
	for i := range readings {
		from := time.Now()
		at, err := methods.GetCurrentTime(ctx, s.Client())
		if err != nil {
			return best, err
		}
		took := time.Since(from)
		if now := (clock{at.Sub(from.Add(took / 2)), took / 2}); i == 0 || now.err < best.err {
			best = now
		}
	}
	return best, nil
}
