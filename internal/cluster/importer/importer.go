// Package importer turns published traces of VMs, which a user brings, into
// a cluster as it was at an instant and a demand trace of what followed. No data set is
// part of plimsoll: docs/cluster/traces.md says where they are and under which licence.
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

// Options are the values missing in a trace. The importer chooses zero values, except At.
type Options struct {
	Hosts      int    // 0 is as many as the peak of the trace needs
	HostCores  int    // 0 is 64, or more where a VM has more
	HostMemory int64  // bytes; 0 is 512 GiB, or more where a VM has more
	MHz        int64  // of a core; 0 is that of the trace, or 2600
	At         int64  // instant of the cluster, in seconds since the trace began; Middle for its middle
	Every      int    // take one VM in this many; 0 and 1 take all
	Generation string // of hardware whose sizes count (azure-packing); empty for the one that most types have
	Demand     int    // demand in per cent of the size, where the trace has none; 0 leaves that open
	Waiting    bool   // no VM gets a host
}

// Middle is the instant in the middle of a trace.
const Middle = -1

// Result is the result of an import.
type Result struct {
	Format   string           `json:"format"`
	Cluster  *cluster.Cluster `json:"-"`
	At       int64            `json:"at_seconds"`   // of the trace
	Ends     int64            `json:"ends_seconds"` // of the trace: the last arrival, or the last sample
	Hosts    int              `json:"hosts"`
	VMs      int              `json:"machines"` // in the trace
	Running  int              `json:"running"`  // at the instant, and in the cluster
	Waiting  int              `json:"waiting"`  // of these, without a host
	Later    int              `json:"later"`    // that arrive after the instant
	Warnings []string         `json:"warnings,omitempty"`
}

// format is a published form of traces.
type format struct {
	name string
	what string
	open func(ctx context.Context, files []string, o Options) (source, error)
	// vcpusPerCore is the number of vCPUs per core at the peak: one where a trace has only
	// sizes, more where it has usage.
	vcpusPerCore int64
	parts        bool // sizes are parts of a host
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

// source returns the VMs of a trace, on each pass in the same order.
type source interface {
	// sketch is like each, but may leave out all samples of a VM but the last.
	sketch(ctx context.Context, take func(*vm) error) error
	// each stops at the first error. A VM is valid until take returns.
	each(ctx context.Context, take func(*vm) error) error
	// warnings are the oddities of the last pass.
	warnings() []string
}

// VM is one of a published trace.
type vm struct {
	name     string
	vcpus    int
	memory   int64 // bytes
	mhz      int64 // of a core; 0 where the trace has none
	from, to int64 // seconds since the trace began; from may be below 0, to is forever when it is not known
	points   []point
}

// forever is when a VM departs that does not.
const forever = math.MaxInt64

// point is the demand of a VM from an instant on.
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

// Import reads the files of a trace in a format. What follows the instant is written to
// out, which may be nil and is complete only without an error.
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
		return fmt.Errorf("%d s is outside of any trace", o.At)
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
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d VMs found no room and wait: name more or larger hosts", r.Waiting))
	}
	if r.Running == 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("no VM is there %d s after the beginning: name another instant", at))
	}
	return r, nil
}

// pass goes through the VMs that are taken.
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
