package counter

import (
	"context"
	"errors"
	"math"
	"time"

	"plimsoll/internal/vsphere/session"
)

// The counters of demand and usage.
const (
	demanded  = "cpu.demand.average"
	delivered = "cpu.usagemhz.average"
	waited    = "cpu.ready.summation"
)

// Demand reads demand and usage of the VMs of a cluster, from the end of the last reading on.
type Demand struct {
	feed *monitorReader
	last time.Time // end of the latest sample, by the vCenter's clock
}

// Usage is demand and usage of VMs over some time.
type Usage struct {
	Seconds   float64 // total length of all samples
	Demanded  float64 // CPU cycles
	Delivered float64 // of these
	Waited    float64 // seconds that vCPUs were ready and waited
}

// OpenDemand finds the running VMs of a cluster. Samples begin now.
func OpenDemand(ctx context.Context, s *session.Session, path string) (*Demand, error) {
	f := &monitorReader{session: s}
	if err := f.prepare(ctx, path, []pattern{{kind: ofVM, text: "*", wild: true}}); err != nil {
		return nil, err
	}
	if len(f.objects) == 0 {
		return nil, errors.New("no VM of the cluster runs")
	}
	for _, name := range []string{demanded, delivered, waited} {
		if why := f.index.lacking[name]; why != "" {
			return nil, errors.New(why)
		}
	}
	for _, c := range counters(ofVM) {
		if c.name != demanded && c.name != delivered && c.name != waited {
			f.index.lacking[c.name] = "it is not asked for"
		}
	}
	return &Demand{feed: f, last: time.Now().Add(f.first.offset)}, nil
}

// Now is the vCenter's clock.
func (d *Demand) Now(ctx context.Context) (time.Time, error) {
	at, err := readClock(ctx, d.feed.session)
	return time.Now().Add(at.offset), err
}

// Next reads the samples since the last call. Deleted VMs and VMs that were off have none.
func (d *Demand) Next(ctx context.Context) (u Usage, err error) {
	now, err := d.Now(ctx)
	if err != nil {
		return u, err
	}
	all, places := make([]*reading, len(d.feed.objects)), make([]int, len(d.feed.objects))
	for i := range places {
		places[i] = i
	}
	if err := d.feed.read(ctx, window{from: d.last, to: now}, all, places); err != nil {
		return u, err
	}
	latest := d.last
	lengths := map[time.Time]time.Duration{}
	for _, one := range all {
		for k, s := range one.spans {
			if !s.end.After(d.last) || s.end.After(now) {
				continue
			}
			lengths[s.end] = s.length
			if s.end.After(latest) {
				latest = s.end
			}
			u.add(one.series, k, s.length.Seconds())
		}
	}
	for _, length := range lengths {
		u.Seconds += length.Seconds()
	}
	d.last = latest
	return u, nil
}

// add adds a sample of a VM. One without demand or usage is skipped.
func (u *Usage) add(all []series, k int, seconds float64) {
	at := map[string]float64{demanded: math.NaN(), delivered: math.NaN()}
	for _, s := range all {
		at[s.name] = s.values[k]
	}
	if math.IsNaN(at[demanded]) || math.IsNaN(at[delivered]) {
		return
	}
	const mega = 1e6
	asked := at[demanded] * mega * seconds
	u.Demanded += asked
	u.Delivered += min(asked, at[delivered]*mega*seconds)
	if w := at[waited]; w > 0 {
		u.Waited += w * 1e-3
	}
}
