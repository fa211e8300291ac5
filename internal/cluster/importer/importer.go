// Package importer converts published traces of VMs, provided by the user, to a cluster at a
// point in time and a trace of the demand after it. Plimsoll includes no data set:
// docs/cluster/traces.md lists sources and licences.
package importer

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/trace"
)

// Options are values that a trace lacks. The importer chooses those that are zero, except At.
type Options struct {
	Hosts      int    // 0: as many as the peak of the trace needs
	HostCores  int    // 0: 64, or more if a VM has more
	HostMemory int64  // bytes; 0: 512 GiB, or more if a VM has more
	MHz        int64  // of a core; 0: that of the trace, or 2600
	At         int64  // time of the cluster, in seconds since the start of the trace; Middle for its middle
	Every      int    // take one VM in this many; 0 and 1 take all
	Generation string // hardware generation whose sizes are used (azure-packing); empty for the one that offers most types
	Demand     int    // demand in per cent of the size, if the trace has none; 0: unknown
	Waiting    bool   // do not assign hosts
}

// Middle is the middle of a trace.
const Middle = -1

// Result is the result of an import.
type Result struct {
	Format   string           `json:"format"`
	Cluster  *cluster.Cluster `json:"-"`
	At       int64            `json:"at_seconds"`   // in the trace
	Ends     int64            `json:"ends_seconds"` // of the trace: the last arrival, or the last sample
	Hosts    int              `json:"hosts"`
	VMs      int              `json:"machines"` // in the trace
	Running  int              `json:"running"`  // at that time, and in the cluster
	Waiting  int              `json:"waiting"`  // of these, without a host
	Later    int              `json:"later"`    // that arrive later
	Warnings []string         `json:"warnings,omitempty"`
}

// format is a published form of traces.
type format struct {
	name string
	what string
	open func(ctx context.Context, files []string, o Options) (source, error)
	// vcpusPerCore is the number of vCPUs per core at the peak: one for traces of sizes only,
	// more for traces of usage.
	vcpusPerCore int64
	parts        bool // sizes are shares of a host
}

var formats = []format{
	{"azure-packing", "AzureTracesForPacking2020, its two tables as CSV files", openAzure, 1, true},
	{"huawei", "Huawei-East-1, the CSV file", openHuawei, 1, false},
	{"bitbrains", "GWA-T-12 Bitbrains, CSV files or folders of them", openBitbrains, 4, false},
}

// Formats are the names of the formats, each followed by its description.
func Formats() [][2]string {
	var list [][2]string
	for _, f := range formats {
		list = append(list, [2]string{f.name, f.what})
	}
	return list
}

// source returns the VMs of a trace, in the same order on each pass.
type source interface {
	// sketch is like each, but may omit all samples of a VM except the last.
	sketch(ctx context.Context, take func(*vm) error) error
	// each stops at the first error. A VM is valid until take returns.
	each(ctx context.Context, take func(*vm) error) error
	// warnings are the anomalies of the last pass.
	warnings() []string
}

// vm is a VM of a published trace.
type vm struct {
	name     string
	vcpus    int
	memory   int64 // bytes
	mhz      int64 // of a core; 0 if the trace has none
	from, to int64 // seconds since the trace began; from may be negative, to is forever if unknown
	points   []point
}

// forever is the departure of a VM that never departs.
const forever = math.MaxInt64

// point is the demand of a VM from a time on.
type point struct {
	second int64
	cpu    int64 // MHz
	active int64 // bytes
	link   int64 // bit/s
}

// The limits of a cluster file, and VMs of 64 TiB.
const (
	mostVCPUs  = 1024
	mostMHz    = 100_000 // of a core
	mostMemory = 64 << 40
)

// Import reads the files of a trace in a format. The trace after the chosen time is written to
// out, which may be nil and is complete only if no error is returned.
func Import(ctx context.Context, name string, files []string, o Options, out *trace.Writer) (*Result, error) {
	i := slices.IndexFunc(formats, func(f format) bool { return f.name == name })
	if i < 0 {
		var known []string
		for _, f := range formats {
			known = append(known, f.name)
		}
		return nil, fmt.Errorf("unknown trace format %q; must be one of %s", name, strings.Join(known, ", "))
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	if formats[i].parts {
		o.HostCores, o.HostMemory = cmp.Or(o.HostCores, usualCores), cmp.Or(o.HostMemory, usualMemory)
	}
	src, err := formats[i].open(ctx, files, o)
	if err != nil {
		return nil, err
	}
	return run(ctx, &formats[i], src, o, out)
}

func (o *Options) check() error {
	for _, c := range []struct {
		what    string
		n, most int64
	}{
		{"hosts", int64(o.Hosts), mostHosts}, {"cores of a host", int64(o.HostCores), 4096}, {"memory of a host", o.HostMemory, mostMemory},
		{"MHz", o.MHz, mostMHz}, {"take one of", int64(o.Every), 1 << 30}, {"demand in per cent", int64(o.Demand), 100},
	} {
		if c.n < 0 || c.n > c.most {
			return fmt.Errorf("%s: %d is outside the valid range (0 to %d, 0 for the default)", c.what, c.n, c.most)
		}
	}
	if o.At < Middle || o.At > trace.MostSeconds {
		return fmt.Errorf("the time %d s is invalid: must be 0 or later", o.At)
	}
	return nil
}

func run(ctx context.Context, f *format, src source, o Options, out *trace.Writer) (*Result, error) {
	s, err := survey(ctx, src, o)
	if err != nil {
		return nil, err
	}
	at := o.At
	if at == Middle {
		at = s.ends / 2
	}
	if at > s.ends {
		return nil, fmt.Errorf("%d s is after the end of the trace, at %d s", at, s.ends)
	}
	c, err := s.cluster(f, o)
	if err != nil {
		return nil, err
	}
	k := &cut{at: at, o: o, out: out, cluster: c}
	if err := o.pass(ctx, src.each, k.take); err != nil {
		return nil, err
	}
	if out != nil {
		if err := out.Close(s.ends - at); err != nil {
			return nil, err
		}
	}
	r := &Result{Format: f.name, Cluster: c, At: at, Ends: s.ends, Hosts: len(c.Hosts), VMs: s.vms, Running: len(c.VMs), Later: k.later, Warnings: src.warnings()}
	for i := range c.VMs {
		c.VMs[i].Waiting = true
	}
	r.Waiting = len(c.VMs)
	if !o.Waiting {
		r.Waiting -= deal(c)
	}
	if r.Waiting > 0 && !o.Waiting {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d VMs fit on no host and wait: specify more or larger hosts", r.Waiting))
	}
	if r.Running == 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("no VM exists %d s after the beginning: specify another time", at))
	}
	return r, nil
}

// pass visits the VMs that are not skipped.
func (o *Options) pass(ctx context.Context, each func(context.Context, func(*vm) error) error, take func(*vm) error) error {
	n := 0
	return each(ctx, func(m *vm) error {
		n++
		if o.Every > 1 && (n-1)%o.Every != 0 {
			return nil
		}
		if m.vcpus > mostVCPUs || m.memory > mostMemory {
			return fmt.Errorf("VM %s has %d vCPUs and %d bytes of memory; at most %d and %d are supported", m.name, m.vcpus, m.memory, mostVCPUs, int64(mostMemory))
		}
		return take(m)
	})
}
