package libvirt

import (
	"context"
	"fmt"
	"math"
)

// Groups of statistics, to be added up.
const (
	StateStatistics     = 1 << 0
	CPUStatistics       = 1 << 1
	BalloonStatistics   = 1 << 2
	VCPUStatistics      = 1 << 3
	DirtyRateStatistics = 1 << 9
)

// Statistics are counters of a domain by libvirt's own names, such as vcpu.0.time: numbers
// and truths (0, 1). What is text is left out.
type Statistics map[string]float64

// The types of values.
const (
	typeInt     = 1
	typeUint    = 2
	typeLong    = 3
	typeUlong   = 4
	typeDouble  = 5
	typeBoolean = 6
	typeString  = 7
)

// Statistics are those of one domain.
func (c *Conn) Statistics(ctx context.Context, v Domain, groups uint32) (Statistics, error) {
	e := encoder{}
	e.uint32(1)
	v.encode(&e)
	e.uint32(groups)
	e.uint32(0)
	body, err := c.call(ctx, procAllStatistics, e.b)
	if err != nil {
		return nil, fmt.Errorf("statistics of domain %s: %w", v.Name, err)
	}
	all, err := decodeStatistics(body)
	if err != nil {
		return nil, fmt.Errorf("statistics of domain %s: %w", v.Name, err)
	}
	s, ok := all[v.Name]
	if !ok {
		return nil, fmt.Errorf("statistics of domain %s: none from the daemon", v.Name)
	}
	return s, nil
}

// Flags of statistics of all domains.
const (
	activeOnly = 1 << 0
	noWait     = 1 << 29 // what a domain cannot say at once, during a job, is left out
)

// ActiveStatistics are those of all domains that run, by the domains' names. A domain that is
// busy lacks some.
func (h Host) ActiveStatistics(ctx context.Context, groups uint32) (map[string]Statistics, error) {
	e := encoder{}
	e.uint32(0)
	e.uint32(groups)
	e.uint32(activeOnly | noWait)
	body, err := h.Conn.call(ctx, procAllStatistics, e.b)
	if err != nil {
		return nil, fmt.Errorf("statistics of the domains: %w", err)
	}
	all, err := decodeStatistics(body)
	if err != nil {
		return nil, fmt.Errorf("statistics of the domains: %w", err)
	}
	return all, nil
}

// MeasureDirtyRate has the hypervisor sample for some seconds how fast a domain writes to
// its memory. DirtyRateStatistics have the result.
func (h Host) MeasureDirtyRate(ctx context.Context, v Domain, seconds int) error {
	e := encoder{}
	v.encode(&e)
	e.int32(int32(seconds))
	e.uint32(0)
	if _, err := h.Conn.call(ctx, procDirtyRate, e.b); err != nil {
		return fmt.Errorf("measure the dirty rate of domain %s: %w", v.Name, err)
	}
	return nil
}

func decodeStatistics(body []byte) (map[string]Statistics, error) {
	d := decoder{b: body}
	all := map[string]Statistics{}
	for range d.count(leastDomain + 4) {
		name, s := d.domain().Name, Statistics{}
		for range d.count(4 + 4 + 4) {
			d.parameter(s)
		}
		all[name] = s
	}
	return all, d.end()
}

func (d *decoder) parameter(s Statistics) {
	name := d.string()
	switch kind := d.int32(); kind {
	case typeInt:
		s[name] = float64(d.int32())
	case typeUint, typeBoolean:
		s[name] = float64(d.uint32())
	case typeLong:
		s[name] = float64(int64(d.uint64()))
	case typeUlong:
		s[name] = float64(d.uint64())
	case typeDouble:
		s[name] = math.Float64frombits(d.uint64())
	case typeString:
		d.bytes()
	default:
		d.fail("value %s of type %d", name, kind)
	}
}
