package storage

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload/storage/pace"
)

// shortestInterval is how often fio may print its documents: more often, and
// printing and reading them would take a noticeable share of a core.
const shortestInterval = 250 * time.Millisecond

// disk is a file or device that the load uses.
type disk struct {
	path string
	size parameter.Bytes
}

// command is the fio command line of a load on the given disks.
func (p *pattern) command(on []disk, stage load.Stage) []string {
	argv := append([]string{"fio"}, p.access()...)
	argv = append(argv,
		"--output-format=json+", "--lat_percentiles=1", "--clat_percentiles=0", "--group_reporting=1", "--eta=never",
		"--status-interval="+milliseconds(max(stage.Interval, shortestInterval)),
		"--time_based=1", "--runtime="+milliseconds(stage.Length+surplus),
		"--randseed="+strconv.FormatUint(stage.Seed>>1|1, 10), "--allrandrepeat=1", // fio multiplies it by the number of a worker: an odd one makes 32 bits differ
		"--exitall_on_error=1",
	)
	if !p.writes() {
		argv = append(argv, "--readonly")
	}
	return append(argv, p.jobs(on)...)
}

func milliseconds(t time.Duration) string { return strconv.FormatInt(t.Milliseconds(), 10) + "ms" }

// access says what is read and written, and how.
func (p *pattern) access() []string {
	depth := p.Depth
	if p.Rate > 0 {
		depth = 1
	}
	argv := []string{
		"--ioengine=" + p.engine(), "--direct=" + digit(p.Direct), "--iodepth=" + strconv.Itoa(depth),
		"--rw=" + p.mode(), "--norandommap=1", "--fallocate=none", "--overwrite=1",
	}
	argv = append(argv, p.blocks.option())
	if p.Read > 0 && p.Read < 1 {
		argv = append(argv, "--rwmixread="+percent(p.Read))
	}
	if p.Random > 0 && p.Random < 1 {
		argv = append(argv, "--percentage_random="+percent(p.Random))
	}
	if p.Verify != "none" {
		argv = append(append(argv, p.checksums()...), "--verify_fatal=1")
	}
	return append(argv, p.content()...)
}

// option is fio's option for the sizes.
func (b blocks) option() string {
	name, form := "--bs=", func(mix []blockShare) string { return bytes(mix[0].size) }
	if len(b.read)+len(b.write) > 2 {
		name, form = "--bssplit=", func(mix []blockShare) string {
			var split []string
			for _, one := range mix {
				split = append(split, fmt.Sprintf("%s/%.0f", bytes(one.size), 100*one.share))
			}
			return strings.Join(split, ":")
		}
	}
	if slices.Equal(b.read, b.write) {
		return name + form(b.read)
	}
	return name + form(b.read) + "," + form(b.write)
}

// checksums says what the data carries. The preconditioning writes in larger
// blocks than the load reads, so that their size is told.
func (p *pattern) checksums() []string {
	return []string{"--verify=" + p.Verify, "--verify_interval=" + bytes(p.blocks.read[0].size), "--verify_state_save=0"}
}

// mode is fio's name for the pattern.
func (p *pattern) mode() string { return modeOf(p.Read > 0, p.Read < 1, p.Random > 0) }

func modeOf(reads, writes, random bool) string {
	mode := "rw"
	switch {
	case !reads:
		mode = "write"
	case !writes:
		mode = "read"
	}
	if random {
		mode = "rand" + mode
	}
	return mode
}

// content says what is written.
func (p *pattern) content() []string {
	if !p.writes() {
		return nil
	}
	if p.Compress == 0 && p.Dedup == 0 {
		// Fresh random data for each block costs more CPU than the I/O itself on a
		// fast device; scrambling is enough to defeat dedup and compression.
		return []string{"--scramble_buffers=1"}
	}
	return append([]string{"--refill_buffers=1"}, p.redundancy()...)
}

// redundancy is how far written data can be compressed and deduplicated.
func (p *pattern) redundancy() (argv []string) {
	if p.Compress > 0 {
		argv = append(argv, "--buffer_compress_percentage="+percent(p.Compress))
	}
	if p.Dedup > 0 {
		argv = append(argv, "--dedupe_percentage="+percent(p.Dedup))
	}
	return argv
}

// jobs is one job for each disk, with a worker for each thread; in an open loop, one for each group of its workers.
func (p *pattern) jobs(on []disk) []string {
	var argv []string
	for i, one := range on {
		for _, j := range p.jobsOfDisk(i, one.size) {
			argv = append(argv, "--name=disk-"+j.name)
			argv = append(append(argv, p.where(one)...), j.options...)
		}
	}
	return argv
}

// diskJob is one of fio's jobs on a disk.
type diskJob struct {
	name    string
	options []string
}

// jobsOfDisk are the jobs of a disk of a size; 0 is that of a target.
func (p *pattern) jobsOfDisk(disk int, size parameter.Bytes) (all []diskJob) {
	name := fmt.Sprintf("%02d", disk+1)
	if p.Rate == 0 {
		return []diskJob{{name, append([]string{"--numjobs=" + strconv.Itoa(p.Threads)}, p.extent(size, 0, p.Threads)...)}}
	}
	groups := p.paced().Share()[disk]
	for i, g := range groups {
		j := diskJob{name, []string{"--numjobs=" + strconv.Itoa(g.Workers)}}
		if i > 0 {
			j.name += "-" + strconv.Itoa(i+1)
		}
		if mode := modeOf(g.Reads > 0, g.Writes > 0, p.Random > 0); mode != p.mode() {
			j.options = append(j.options, "--rw="+mode)
		}
		j.options = append(j.options, g.Options(float64(mean(p.blocks.read)), float64(mean(p.blocks.write)))...)
		j.options = append(j.options, p.extent(size, g.First, pace.Workers(groups))...)
		all = append(all, j)
	}
	return all
}

// where says where a disk is.
func (p *pattern) where(on disk) []string {
	_, serving := p.filters()
	switch {
	case p.cluster != nil:
		return p.cluster.image(on.path)
	case serving:
		return []string{"--uri=" + uriOf(on.path)}
	}
	return []string{"--filename=" + escape(on.path)}
}

// extent is the part of a disk that each worker of a job uses, of which the first has a number among all workers of the disk.
func (p *pattern) extent(size parameter.Bytes, first, workers int) []string {
	if size == 0 {
		return nil
	}
	touched := p.touched(size)
	if !p.stretches(workers) {
		return []string{"--size=" + bytes(touched)}
	}
	block := p.largestBlock()
	each := touched / parameter.Bytes(workers) / block * block
	argv := []string{"--size=" + bytes(each), "--offset_increment=" + bytes(each)}
	if first > 0 {
		argv = append(argv, "--offset="+bytes(parameter.Bytes(first)*each))
	}
	return argv
}

// stretches reports whether each worker of a disk goes through a part of it of its own. Workers that all went through the same places one after the other
// would find each other's blocks in the caches of the device.
func (p *pattern) stretches(workers int) bool { return workers > 1 && p.Random < 1 }

// touched is how much of a disk the load uses, in whole blocks.
func (p *pattern) touched(size parameter.Bytes) parameter.Bytes {
	block := p.largestBlock()
	return max(block, parameter.Bytes(float64(size)*float64(p.WorkingSet))/block*block)
}

// escape keeps fio from reading a colon as a separator.
func escape(path string) string { return strings.ReplaceAll(path, ":", `\:`) }

func bytes(b parameter.Bytes) string { return strconv.FormatInt(int64(b), 10) }

func percent(s parameter.Share) string { return strconv.Itoa(int(math.Round(100 * float64(s)))) }

func digit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}
