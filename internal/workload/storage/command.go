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
		"--time_based=1", "--runtime="+milliseconds(stage.Length),
		"--randseed="+strconv.FormatUint(stage.Seed>>1, 10), "--allrandrepeat=1",
		"--exitall_on_error=1",
	)
	argv = append(argv, p.pacing()...)
	if !p.writes() {
		argv = append(argv, "--readonly")
	}
	return append(argv, p.jobs(on)...)
}

func milliseconds(t time.Duration) string { return strconv.FormatInt(t.Milliseconds(), 10) + "ms" }

// access says what is read and written, and how.
func (p *pattern) access() []string {
	_, depth := p.workersOfDisk()
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
func (p *pattern) mode() string {
	mode := "rw"
	switch p.Read {
	case 0:
		mode = "write"
	case 1:
		mode = "read"
	}
	if p.Random > 0 {
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

// pacing offers operations at a rate, as a Poisson process in each worker, which makes
// one in all. fio has a mode for open loops, io_submit_mode=offload, but it hangs in
// many versions, and counts only when it ends. So there is a worker for each operation
// that may be outstanding, and it is checked how many had to wait for another.
func (p *pattern) pacing() []string {
	if p.Rate == 0 {
		return nil
	}
	reads, writes := p.pacedRates()
	return []string{fmt.Sprintf("--rate_iops=%.0f,%.0f", reads, writes), "--rate_process=poisson"}
}

// workersOfDisk is how many workers a disk has, and each how many operations.
func (p *pattern) workersOfDisk() (workers, depth int) {
	if p.Rate > 0 {
		return p.Threads * p.Depth, 1
	}
	return p.Threads, p.Depth
}

// workers is how many there are in all.
func (p *pattern) workers() int {
	n, _ := p.workersOfDisk()
	return n * p.Disks
}

// pacedRates are the reads and writes per second and worker, in whole numbers.
func (p *pattern) pacedRates() (reads, writes float64) {
	each := float64(p.Rate) / float64(p.workers())
	return math.Round(each * float64(p.Read)), math.Round(each * (1 - float64(p.Read)))
}

// refuseRate finds a rate that the workers cannot share out within 1 %: fio
// paces each worker, and reads and writes apart, and takes 0 for no limit.
func refuseRate(p *pattern) error {
	if p.Rate == 0 {
		return nil
	}
	workers := float64(p.workers())
	reads, writes := p.pacedRates()
	near := func(paced, share float64) bool {
		want := float64(p.Rate) / workers * share
		return math.Abs(paced-want) <= .01*want
	}
	if near(reads, float64(p.Read)) && near(writes, 1-float64(p.Read)) {
		return nil
	}
	return fmt.Errorf("rate %s over %d workers is not a whole number of operations per second for each, which fio needs: it would offer %.0f reads/s and %.0f writes/s; take fewer workers or another rate",
		p.Rate, p.workers(), workers*reads, workers*writes)
}

// jobs is one job for each disk, with a worker for each thread.
func (p *pattern) jobs(on []disk) []string {
	var argv []string
	workers, _ := p.workersOfDisk()
	for i, one := range on {
		argv = append(argv, fmt.Sprintf("--name=disk-%02d", i+1))
		argv = append(append(argv, p.where(one)...), "--numjobs="+strconv.Itoa(workers))
		argv = append(argv, p.extent(one.size)...)
	}
	return argv
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

// extent is the part of a disk that a worker uses.
func (p *pattern) extent(size parameter.Bytes) []string {
	touched := p.touched(size)
	if !p.stretches() {
		return []string{"--size=" + bytes(touched)}
	}
	block := p.largestBlock()
	workers, _ := p.workersOfDisk()
	each := touched / parameter.Bytes(workers) / block * block
	return []string{"--size=" + bytes(each), "--offset_increment=" + bytes(each)}
}

// stretches reports whether each worker goes through a part of the disk of its own.
// Workers that all went through the same places one after the other would find each
// other's blocks in the caches of the device.
func (p *pattern) stretches() bool { return p.workers() > p.Disks && p.Random < 1 }

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
