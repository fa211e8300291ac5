// Package counter reads a vCenter's performance counters of hosts and VMs for the window of a
// trial.
package counter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"plimsoll/internal/collect"
	"plimsoll/internal/live"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/vsphere/session"
)

// Settings are the settings of the monitor.
type Settings struct {
	Address string   `name:"address" doc:"URL of the vCenter, such as vsphere://user@host/datacenter/cluster?password=env:NAME; empty if the service of the study is a vCenter"`
	VMs     []string `name:"vms" doc:"names of VMs; * matches any text, ? any character"`
	Hosts   []string `name:"hosts" doc:"names of hosts; * selects all of a cluster"`
}

// Kind is the monitor's entry in the catalog.
func Kind() collect.Monitor {
	return collect.Monitor{
		Name:     "vsphere",
		Doc:      "performance counters and quickStats of hosts and VMs, from a vCenter",
		Defaults: Settings{},
		Metrics:  metrics(),
		Speaks:   "vsphere",
		New:      build,
	}
}

func build(settings parameter.Settings) (collect.Monitored, error) {
	s := Settings{}
	if err := parameter.Decode(&s, settings); err != nil {
		return collect.Monitored{}, err
	}
	wanted, err := s.wanted()
	if err != nil {
		return collect.Monitored{}, err
	}
	if s.Address == "" {
		return collect.Monitored{Open: func(ctx context.Context, of load.Endpoint) (collect.MonitorReader, error) {
			at, err := session.Address(of)
			if err != nil {
				return nil, err
			}
			return open(ctx, at, wanted)
		}}, nil
	}
	at, err := live.ParseAddress(s.Address)
	if err != nil {
		return collect.Monitored{}, err
	}
	if at.Scheme != "vsphere" {
		return collect.Monitored{}, fmt.Errorf("address %s: must begin with vsphere://", at)
	}
	return collect.Monitored{Own: true, Open: func(ctx context.Context, _ load.Endpoint) (collect.MonitorReader, error) {
		return open(ctx, at, wanted)
	}}, nil
}

// monitorReader is a vCenter with the selected counters.
type monitorReader struct {
	session *session.Session
	objects []object
	notes   []string // of patterns
	index   index
	first   clock // when it was opened
	glances *quickSamples
}

func open(ctx context.Context, at live.Address, wanted []pattern) (collect.MonitorReader, error) {
	s, err := session.Open(ctx, at)
	if err != nil {
		return nil, err
	}
	f := &monitorReader{session: s}
	if err := f.prepare(ctx, at.Path, wanted); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	f.glances = watch(s, f.objects)
	return f, nil
}

// prepare finds the objects and the counters.
func (f *monitorReader) prepare(ctx context.Context, path string, wanted []pattern) (err error) {
	if f.objects, f.notes, err = find(ctx, f.session, path, wanted); err != nil {
		return err
	}
	if f.index, err = lookUp(ctx, f.session, f.objects); err != nil {
		return err
	}
	f.first, err = readClock(ctx, f.session)
	return err
}

// Close logs out.
func (f *monitorReader) Close() error {
	f.glances.close()
	return f.session.Close()
}

const (
	// slack is the amount by which samples may exceed a window: their times are whole seconds.
	slack = time.Second
	// pauses is the number of reads of a late sample per its length. It is given up after that
	// time and a fifth of it.
	pauses, part = 10, 5
	// drift is the change of the clocks' offset from which it is reported.
	drift = time.Second
)

// Over implements collect.MonitorReader.
func (f *monitorReader) Over(ctx context.Context, began time.Time, w measure.Window) (collect.Sampled, error) {
	from, to := began.Add(seconds(w.Cut)), began.Add(seconds(w.End))
	now, err := readClock(ctx, f.session)
	if err != nil {
		return collect.Sampled{}, fmt.Errorf("read the clock of the vCenter: %w", err)
	}
	r := &result{counters: map[string]float64{}, missing: slices.Clone(f.notes)}
	r.set(prefix+"clock.offset", now.offset.Seconds())
	r.set(prefix+"clock.error", now.err.Seconds())
	if moved := now.offset - f.first.offset; moved.Abs() > drift+now.err+f.first.err {
		r.miss("the offset between the clocks of the vCenter and of this host changed by %v during the load: the window uses the later offset", moved.Round(time.Millisecond))
	}
	at := window{from: from.Add(now.offset), to: to.Add(now.offset), slack: slack + now.err}
	if r.readings, err = f.await(ctx, at); err != nil {
		return collect.Sampled{}, err
	}
	r.reduce(at, f.index.lacking)
	if len(f.objects) > 0 {
		f.glances.over(from, to, r)
	}
	return collect.Sampled{Counters: r.counters, Missing: r.missing, Table: r.table(at, began.Add(now.offset))}, nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// await reads the samples of a window. Objects with missing samples are read again, until
// these arrive or time out.
func (f *monitorReader) await(ctx context.Context, w window) ([]*reading, error) {
	all := make([]*reading, len(f.objects))
	if len(all) == 0 {
		return all, nil
	}
	rest := make([]int, len(f.objects))
	for i := range rest {
		rest[i] = i
	}
	limit := time.Now().Add(f.index.refresh + f.index.refresh/part + w.slack)
	for {
		if err := f.read(ctx, w, all, rest); err != nil {
			return nil, err
		}
		var next []int
		for _, i := range rest {
			if all[i].awaited(w, f.index.refresh) {
				next = append(next, i)
			}
		}
		if rest = next; len(rest) == 0 || time.Now().After(limit) {
			return all, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(f.index.refresh / pauses):
		}
	}
}

// awaited reports whether a further sample of the window may still arrive.
func (one *reading) awaited(w window, refresh time.Duration) bool {
	if one.gone || one.why != "" || w.to.Sub(w.from) < refresh {
		return false
	}
	end, length := one.newest()
	return len(one.spans) == 0 || !end.Add(length).After(w.to.Add(w.slack))
}
