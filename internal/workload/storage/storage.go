// Package storage is a workload of reads and writes on files or devices. The
// fio binary makes the load; plimsoll reads its cumulative documents as they
// come and takes the differences, so that each interval has exact counts and
// the response times of its own.
package storage

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/storage/iometer"
)

// Parameters are what a study may set.
type Parameters struct {
	Disks        int             `name:"disks" doc:"number of disks, one file each, or one image of a Ceph cluster each" min:"1" max:"1024"`
	Size         parameter.Bytes `name:"size" doc:"size of each disk; targets are used in full" min:"64KiB"`
	Block        string          `name:"block" doc:"block size, such as 4KiB, or sizes with their shares: 4KiB/70:64KiB/30; a comma separates reads and writes: 4KiB,64KiB"`
	Read         parameter.Share `name:"read" doc:"share of reads (rwmixread)"`
	Random       parameter.Share `name:"random" doc:"share of operations at random offsets; the rest are sequential"`
	Spec         string          `name:"spec" doc:"Iometer access specification, bytes_read%_random%, such as 4096_100_0; replaces block, read and random"`
	Threads      int             `name:"threads" doc:"jobs per disk (numjobs)" min:"1" max:"1024"`
	Depth        int             `name:"depth" doc:"I/O depth of each job (iodepth); with a rate, the maximum" min:"1" max:"4096"`
	Engine       string          `name:"engine" doc:"fio I/O engine; auto is psync for depth 1 and libaio above, and rbd for images of a Ceph cluster"`
	Through      string          `name:"through" doc:"I/O path to the disks: none (direct), nbd (a server without filters), or filters such as null, daemon:null, delay:1ms and stats"`
	Direct       bool            `name:"direct" doc:"direct I/O (O_DIRECT), bypassing the page cache; images of a Ceph cluster have none"`
	Rate         parameter.Rate  `name:"rate" doc:"offered load in operations per second, in total; empty is a closed loop"`
	WorkingSet   parameter.Share `name:"working_set" doc:"working set, as a share of each disk"`
	Compress     parameter.Share `name:"compress" doc:"compressibility of written data (buffer_compress_percentage)"`
	Dedup        parameter.Share `name:"dedup" doc:"share of duplicate blocks written (dedupe_percentage)"`
	Verify       string          `name:"verify" doc:"verify reads against the data of the preconditioning; for read-only loads" choices:"none,crc32c,md5,sha256,xxhash"`
	Precondition string          `name:"precondition" doc:"preconditioning of the disks; steady writes until the steady-state criterion of SNIA PTS is met" choices:"none,zero,random,steady"`
	Backing      string          `name:"backing" doc:"what the disks are: images of a Ceph cluster, or files of this host; auto is images where the service has them" choices:"auto,file,image"`
	Targets      []string        `name:"targets" doc:"files or devices to use instead of files in the scratch folder"`
	Destroy      bool            `name:"destroy" doc:"permission to overwrite the targets" unsafe:"true"`
}

// Kind is the workload as the catalog lists it.
func Kind() workload.Kind {
	k := workload.Define(workload.Kind{
		Candidates: candidates(),
		Needs:      "fio",
		Name:       "storage",
		Doc:        "block I/O on files or devices, driven by fio",
		Disks:      true,
		Speaks:     []string{protocol},
		Alone:      true,
		Rate:       "iops",
		JobFile:    jobFile,
		Metrics: slices.Concat(measure.OperationMetrics("iops", "read", "write"), measure.ServiceMetrics("read", "write"), []measure.Metric{
			{Name: "through.cpu", Unit: "1", Doc: "CPUs used by the NBD servers and their filters", Better: measure.LowerIsBetter},
			{Name: "generator.cpu", Unit: "1", Doc: "CPU utilisation of fio's jobs over the whole load", Better: measure.LowerIsBetter},
		}),
	}, Parameters{
		Disks: 1, Size: 512 << 20, Block: "4KiB", Random: 1, Threads: 1, Depth: 1, Engine: "auto", Through: straight, Direct: true,
		WorkingSet: 1, Verify: "none", Precondition: "random", Backing: autoBacking,
	}, build)
	define := k.New
	k.New = func(settings parameter.Settings) (workload.Load, error) {
		for _, name := range []string{"block", "read", "random"} {
			if value, set := settings[name]; set && settings["spec"] != "" {
				return nil, fmt.Errorf("spec %s and %s: %s exclude each other: an access specification sets block, read and random", settings["spec"], name, value)
			}
		}
		return define(settings)
	}
	return k
}

// pattern is what fio is to do, by the settings.
type pattern struct {
	Parameters
	blocks  blocks
	cluster *imagePool    // the disks are images there; nil: files or devices
	within  time.Duration // limit of response times that a search has; 0 for none
}

// disks is the workload.
type disks struct{ pattern pattern }

func build(settings Parameters) (workload.Load, error) {
	p := pattern{Parameters: settings}
	if settings.Spec != "" {
		spec, err := iometer.ParseSpec(settings.Spec)
		if err != nil {
			return nil, err
		}
		p.Read, p.Random = spec.Read, spec.Random
		one := []blockShare{{spec.Block, 1}}
		p.blocks = blocks{one, one}
	} else {
		var err error
		if p.blocks, err = parseBlocks(settings.Block); err != nil {
			return nil, err
		}
	}
	if len(settings.Targets) > 0 {
		p.Disks = len(settings.Targets)
	}
	return &disks{p}, refuse(&p)
}

// refuse finds settings that do not go together.
func refuse(p *pattern) error {
	switch {
	case p.Depth > 1 && p.Rate == 0 && slices.Contains(synchronous, p.Engine):
		return fmt.Errorf("engine %s has one operation outstanding for each worker, so depth %d has no effect: take libaio or io_uring, or raise threads", p.Engine, p.Depth)
	case p.workers() > mostWorkers:
		return fmt.Errorf("%d workers are more than fio can run, which is %d: take fewer disks, threads or, with a rate, depth", p.workers(), mostWorkers)
	case p.Dedup > 0 && p.Compress == 1:
		return errors.New("compress: 100% writes zeros only, so dedup has nothing to do")
	case slices.ContainsFunc(p.Targets, func(t string) bool { return !strings.HasPrefix(t, "/") }):
		return errors.New("targets are absolute paths")
	case len(p.Targets) == 0 && p.Size%512 != 0:
		return fmt.Errorf("size %s is not a multiple of 512 bytes", p.Size)
	}
	if len(p.Targets) == 0 {
		if err := refuseSize(p, p.Size); err != nil {
			return err
		}
	}
	return errors.Join(refuseVerify(p), refuseFractions(p), refuseThrough(p))
}

// mostWorkers is what fio can run at once.
const mostWorkers = 4096

// synchronous are the engines of fio that wait for each operation. In an open
// loop each operation that may be outstanding has a worker, so that depth counts there.
var synchronous = []string{"psync", "sync", "pvsync", "pvsync2", "vsync", "mmap"}

// refuseSize finds a disk in which a worker has not even one block to touch.
func refuseSize(p *pattern, size parameter.Bytes) error {
	block, workers := p.largestBlock(), p.Threads
	if p.Rate > 0 {
		workers *= p.Depth
	}
	switch {
	case float64(size)*float64(p.WorkingSet) < float64(block):
		return fmt.Errorf("the working set (%s of %s) is smaller than one block of %s", p.WorkingSet, size, block)
	case p.stretches(workers) && p.touched(size) < parameter.Bytes(workers)*block:
		return fmt.Errorf("%d workers that go through their own parts of a disk need a block of %s each, and the working set (%s of %s) has fewer", workers, block, p.WorkingSet, size)
	}
	return nil
}

func refuseVerify(p *pattern) error {
	if p.Verify == "none" {
		return nil
	}
	block := p.blocks.read[0].size
	switch {
	case p.writes():
		return errors.New("verify checks loads that only read, because fio checks nothing that a timed load writes: set read: 100%, or verify: none")
	case len(p.blocks.read) > 1:
		return errors.New("verify needs blocks of one size: each block carries its own checksum")
	case p.Precondition != "none" && (fillBlock%block != 0 || p.Size%block != 0):
		return fmt.Errorf("verify needs blocks that divide 1MiB and the size of the disks, which %s does not", block)
	case !slices.Contains([]string{"none", "random"}, p.Precondition):
		return fmt.Errorf("verify needs precondition: random, which writes the checksums, or none for targets that carry them already; not %s", p.Precondition)
	}
	return nil
}

// refuseFractions finds shares that fio would round: it takes whole percentages.
func refuseFractions(p *pattern) error {
	for _, s := range []struct {
		name  string
		share parameter.Share
	}{{"read", p.Read}, {"random", p.Random}, {"compress", p.Compress}, {"dedup", p.Dedup}} {
		if p := 100 * float64(s.share); math.Abs(p-math.Round(p)) > 1e-9 {
			return fmt.Errorf("%s: %s is not a whole percentage, which fio needs", s.name, s.share)
		}
	}
	return nil
}

func (p *pattern) largestBlock() parameter.Bytes { return slices.Max(p.blocks.sizes()) }

// engine is the fio engine that will be used.
func (p *pattern) engine() string {
	_, serving := p.filters()
	switch {
	case serving:
		return "nbd"
	case p.cluster != nil:
		return imageEngine
	case p.Engine != "auto":
		return p.Engine
	case p.Depth > 1 && p.Rate == 0:
		return "libaio"
	}
	return "psync"
}

// writes reports whether the load changes what lies on the disks.
func (p *pattern) writes() bool { return p.Read < 1 }

// Demand is what the disks are asked for.
func (d *disks) Demand() load.Demand {
	demand := load.Demand{Concurrency: d.pattern.Disks * d.pattern.Threads * d.pattern.Depth, Rate: float64(d.pattern.Rate)}
	if d.pattern.Read > 0 {
		demand.Classes = append(demand.Classes, load.Class{Name: "read", Share: float64(d.pattern.Read), Bytes: mean(d.pattern.blocks.read)})
	}
	if d.pattern.Read < 1 {
		demand.Classes = append(demand.Classes, load.Class{Name: "write", Share: 1 - float64(d.pattern.Read), Bytes: mean(d.pattern.blocks.write)})
	}
	return demand
}
