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

// command is the fio command line of a load on the given paths.
func (d *disks) command(paths []string, stage load.Stage) []string {
	argv := append([]string{"fio"}, d.access()...)
	argv = append(argv,
		"--output-format=json+", "--lat_percentiles=1", "--clat_percentiles=0", "--group_reporting=1", "--eta=never",
		"--status-interval="+milliseconds(max(stage.Interval, shortestInterval)),
		"--time_based=1", "--runtime="+milliseconds(stage.Length),
		"--randseed="+strconv.FormatUint(stage.Seed>>1, 10), "--allrandrepeat=1",
		"--exitall_on_error=1",
	)
	argv = append(argv, d.pacing()...)
	if !d.writes() {
		argv = append(argv, "--readonly")
	}
	return append(argv, d.jobs(paths)...)
}

func milliseconds(t time.Duration) string { return strconv.FormatInt(t.Milliseconds(), 10) + "ms" }

// access says what is read and written, and how.
func (d *disks) access() []string {
	argv := []string{
		"--ioengine=" + d.engine(), "--direct=" + digit(d.Direct), "--iodepth=" + strconv.Itoa(d.Depth),
		"--rw=" + d.mode(), "--norandommap=1", "--fallocate=none", "--overwrite=1",
	}
	if len(d.blocks) == 1 {
		argv = append(argv, "--bs="+bytes(d.blocks[0].size))
	} else {
		var split []string
		for _, b := range d.blocks {
			split = append(split, fmt.Sprintf("%s/%.0f", bytes(b.size), 100*b.share))
		}
		argv = append(argv, "--bssplit="+strings.Join(split, ":"))
	}
	if d.Read > 0 && d.Read < 1 {
		argv = append(argv, "--rwmixread="+percent(d.Read))
	}
	if d.Random > 0 && d.Random < 1 {
		argv = append(argv, "--percentage_random="+percent(d.Random))
	}
	if d.Verify != "none" {
		argv = append(append(argv, d.checksums()...), "--verify_fatal=1")
	}
	return append(argv, d.content()...)
}

// checksums says what the data carries. The preconditioning writes in larger
// blocks than the load reads, so that their size is told.
func (d *disks) checksums() []string {
	return []string{"--verify=" + d.Verify, "--verify_interval=" + bytes(d.blocks[0].size)}
}

// mode is fio's name for the pattern.
func (d *disks) mode() string {
	mode := "rw"
	switch d.Read {
	case 0:
		mode = "write"
	case 1:
		mode = "read"
	}
	if d.Random > 0 {
		mode = "rand" + mode
	}
	return mode
}

// content says what is written.
func (d *disks) content() []string {
	if !d.writes() {
		return nil
	}
	argv := []string{"--refill_buffers=1"}
	if d.Compress > 0 {
		argv = append(argv, "--buffer_compress_percentage="+percent(d.Compress))
	}
	if d.Dedup > 0 {
		argv = append(argv, "--dedupe_percentage="+percent(d.Dedup))
	}
	if d.Compress == 0 && d.Dedup == 0 {
		// Fresh random data for each block costs more CPU than the I/O itself on a
		// fast device; scrambling is enough to defeat dedup and compression.
		argv = []string{"--scramble_buffers=1"}
	}
	return argv
}

// pacing offers operations at a rate as a Poisson process, from a thread of its
// own, so that a slow operation does not hold up the next.
func (d *disks) pacing() []string {
	if d.Rate == 0 {
		return nil
	}
	reads, writes := d.pacedRates()
	return []string{fmt.Sprintf("--rate_iops=%.0f,%.0f", reads, writes), "--rate_process=poisson", "--io_submit_mode=offload"}
}

// pacedRates are the reads and writes per second and worker, in whole numbers.
func (d *disks) pacedRates() (reads, writes float64) {
	each := float64(d.Rate) / float64(d.Disks*d.Threads)
	return math.Round(each * float64(d.Read)), math.Round(each * (1 - float64(d.Read)))
}

// refuseRate finds a rate that the workers cannot share out within 1 %: fio
// paces each worker, and reads and writes apart, and takes 0 for no limit.
func (d *disks) refuseRate() error {
	if d.Rate == 0 {
		return nil
	}
	workers := float64(d.Disks * d.Threads)
	reads, writes := d.pacedRates()
	near := func(paced, share float64) bool {
		want := float64(d.Rate) / workers * share
		return math.Abs(paced-want) <= .01*want
	}
	if near(reads, float64(d.Read)) && near(writes, 1-float64(d.Read)) {
		return nil
	}
	return fmt.Errorf("rate %s over %d workers is not a whole number of operations per second for each, which fio needs: it would offer %.0f reads/s and %.0f writes/s; take fewer workers or another rate",
		d.Rate, d.Disks*d.Threads, workers*reads, workers*writes)
}

// jobs is one job for each disk, with a worker for each thread.
func (d *disks) jobs(paths []string) []string {
	var argv []string
	for i, p := range paths {
		argv = append(argv, fmt.Sprintf("--name=disk-%02d", i+1), "--filename="+escape(p), "--numjobs="+strconv.Itoa(d.Threads))
		if len(d.Targets) == 0 {
			argv = append(argv, "--size="+bytes(d.touched()))
		} else if d.WorkingSet < 1 {
			argv = append(argv, "--size="+percent(d.WorkingSet)+"%")
		}
	}
	return argv
}

// touched is how much of each disk the load uses, in whole blocks.
func (d *disks) touched() parameter.Bytes {
	block := d.largestBlock()
	return max(block, parameter.Bytes(float64(d.Size)*float64(d.WorkingSet))/block*block)
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

// seen reads back what fio says it used, as the levels of the study's factors.
func (d *disks) seen(doc *document) map[string]string {
	options := map[string]string{}
	for k, v := range doc.Global {
		options[k] = v
	}
	if len(doc.Jobs) == 1 {
		for k, v := range doc.Jobs[0].Options {
			options[k] = v
		}
	}
	levels := map[string]string{}
	if v, ok := options["numjobs"]; ok {
		levels["threads"] = v
	}
	if v, ok := options["iodepth"]; ok {
		levels["depth"] = v
	}
	if v, ok := options["direct"]; ok {
		levels["direct"] = strconv.FormatBool(v == "1")
	}
	if n, err := strconv.ParseInt(options["bs"], 10, 64); err == nil && len(d.blocks) == 1 && parameter.Bytes(n) == d.blocks[0].size {
		levels["block"] = d.Block
		if d.Spec != "" {
			delete(levels, "block")
			levels["spec"] = d.Spec
		}
	}
	if v, ok := options["ioengine"]; ok && v == d.engine() {
		levels["engine"] = d.Engine
	}
	if slices.Contains([]string{d.mode()}, options["rw"]) && d.Spec == "" {
		d.seenMix(options, levels)
	}
	return levels
}

func (d *disks) seenMix(options, levels map[string]string) {
	if d.Read == 0 || d.Read == 1 || options["rwmixread"] == percent(d.Read) {
		levels["read"] = d.Read.String()
	}
	if d.Random == 0 || d.Random == 1 || options["percentage_random"] == percent(d.Random) {
		levels["random"] = d.Random.String()
	}
}
