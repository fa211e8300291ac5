package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/stat"
	"plimsoll/internal/workload"
)

// manifest says what lies on the disks, by path, or by cluster, pool and name, so that the next load that
// needs the same finds it. Arms with more disks share those of arms with fewer.
type manifest struct {
	Disks map[string]layout `json:"disks"`
	Files []string          `json:"files,omitempty"` // beside the disks
}

// layout is what lies on one disk.
type layout struct {
	Size     parameter.Bytes `json:"size"`
	Fill     string          `json:"fill"`
	Compress parameter.Share `json:"compress"`
	Dedup    parameter.Share `json:"dedup"`
	Seed     uint64          `json:"seed"`
	Verify   string          `json:"verify,omitempty"` // the checksums that the data carries
	Steady   string          `json:"steady,omitempty"` // the pattern that all disks together are steady under
	Target   bool            `json:"target,omitempty"` // not plimsoll's own
}

const manifestName = "manifest.json"

// unfinished is the fill of a disk that holds neither what it did nor what is wanted.
const unfinished = "unfinished"

// layout is what has to lie on a disk.
func (d *disks) layout(env workload.Env, on disk) layout {
	l := layout{Size: on.size, Fill: d.pattern.Precondition, Compress: d.pattern.Compress, Dedup: d.pattern.Dedup, Seed: env.Seed, Target: len(d.pattern.Targets) > 0}
	if d.pattern.Precondition == "steady" {
		writer := d.pattern.writer()
		l.Steady = fmt.Sprint(d.pattern.Disks, " disks, ", writer.mode(), " ", writer.blocks.option(), " ", percent(d.pattern.Random), " ", d.pattern.WorkingSet)
	}
	if d.pattern.Verify != "none" {
		l.Verify = strings.Join(d.pattern.checksums(), " ")
	}
	return l
}

// Prepare lays out the disks and brings them into the state that the study
// asks for.
func (d *disks) Prepare(ctx context.Context, env workload.Env) error {
	d = d.at(env)
	if err := d.refuseCluster(ctx, env); err != nil {
		return err
	}
	if len(d.pattern.Targets) > 0 {
		// What a target holds may have changed since the study was checked.
		if err := d.checkTargets(ctx, env.Machine); err != nil {
			return err
		}
	}
	if err := runProgram(ctx, env, "mkdir", "-p", "--", env.Dir); err != nil {
		return err
	}
	have, err := readManifest(ctx, env)
	if err != nil {
		return err
	}
	if err := d.pattern.cluster.configure(ctx, env, &have); err != nil {
		return err
	}
	on, err := d.places(ctx, env)
	if err != nil {
		return err
	}
	lacking, err := d.lacking(ctx, env, on, have)
	if err != nil {
		return err
	}
	if len(lacking) == 0 {
		return nil
	}
	for _, one := range lacking {
		have.Disks[d.entry(one)] = layout{Fill: unfinished, Target: len(d.pattern.Targets) > 0}
	}
	if err := writeManifest(ctx, env, have); err != nil {
		return err
	}
	for i, one := range lacking {
		report(env, "filling disk %d of %d: %s, %s", i+1, len(lacking), d.pattern.Precondition, one.size)
		if err := d.fill(ctx, env, one); err != nil {
			return err
		}
	}
	if d.pattern.Precondition == "steady" {
		if err := d.steady(ctx, env); err != nil {
			return err
		}
	}
	for _, one := range lacking {
		have.Disks[d.entry(one)] = d.layout(env, one)
	}
	return writeManifest(ctx, env, have)
}

// entry is the name of a disk in the manifest. Images of several pools have the same name.
func (d *disks) entry(on disk) string {
	if p := d.pattern.cluster; p != nil {
		return p.Address + ":" + p.Database + "/" + on.path
	}
	return on.path
}

// lacking lists the disks that do not hold what they should. Disks become steady
// together, so that one that lacks makes all lack.
func (d *disks) lacking(ctx context.Context, env workload.Env, on []disk, have manifest) (lacking []disk, err error) {
	var sizes map[string]parameter.Bytes
	if d.pattern.cluster == nil {
		sizes = d.sizes(ctx, env)
	} else if sizes, err = d.pattern.cluster.images(ctx, env); err != nil {
		return nil, err
	}
	for _, one := range on {
		if have.Disks[d.entry(one)] != d.layout(env, one) || len(d.pattern.Targets) == 0 && sizes[one.path] != one.size {
			lacking = append(lacking, one)
		}
	}
	if len(lacking) > 0 && d.pattern.Precondition == "steady" {
		return on, nil
	}
	return lacking, nil
}

// sizes are those of the disks in the scratch folder that are there, by path.
func (d *disks) sizes(ctx context.Context, env workload.Env) map[string]parameter.Bytes {
	sizes := map[string]parameter.Bytes{}
	if len(d.pattern.Targets) > 0 {
		return sizes
	}
	argv := []string{"stat", "-c", "%s %n", "--"}
	for i := range d.pattern.Disks {
		argv = append(argv, ownDisk(env, i))
	}
	r, err := env.Machine.Run(ctx, platform.Command{Argv: argv})
	if err != nil {
		return sizes
	}
	for line := range strings.Lines(string(r.Stdout)) {
		size, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if n, err := strconv.ParseInt(size, 10, 64); err == nil {
			sizes[name] = parameter.Bytes(n)
		}
	}
	return sizes
}

// readManifest reads the manifest; one that is absent or was cut off while it was
// written says that nothing is there.
func readManifest(ctx context.Context, env workload.Env) (manifest, error) {
	var have manifest
	data, err := env.Machine.ReadFile(ctx, env.Dir+"/"+manifestName)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return have, fmt.Errorf("read the manifest in %s: %w", env.Dir, err)
	}
	if err == nil && json.Unmarshal(data, &have) != nil {
		have = manifest{}
	}
	if have.Disks == nil {
		have.Disks = map[string]layout{}
	}
	return have, nil
}

func writeManifest(ctx context.Context, env workload.Env, m manifest) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return writeFile(ctx, env.Machine, env.Dir+"/"+manifestName, data)
}

// writeFile makes a small file on the machine, through a program, because a file
// that does not exist yet cannot be written as a setting is.
func writeFile(ctx context.Context, m platform.Machine, name string, data []byte) error {
	if _, err := output(ctx, m, platform.Command{Argv: []string{"tee", "--", name}, Stdin: strings.NewReader(string(data))}); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// runProgram runs a small program to its end.
func runProgram(ctx context.Context, env workload.Env, argv ...string) error {
	if _, err := output(ctx, env.Machine, platform.Command{Argv: argv}); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
	}
	return nil
}

// fillBlock is the size of the writes that fill a disk.
const fillBlock = 1 << 20

// fill writes a disk from end to end.
func (d *disks) fill(ctx context.Context, env workload.Env, on disk) error {
	switch {
	case d.pattern.cluster != nil:
		if err := d.pattern.cluster.makeImage(ctx, env, on); err != nil {
			return err
		}
	case len(d.pattern.Targets) == 0:
		// A file that has its size already is not laid out again by fio.
		if err := runProgram(ctx, env, "truncate", "--size="+bytes(on.size), "--", on.path); err != nil {
			return err
		}
	}
	if d.pattern.Precondition == "none" {
		return nil
	}
	for _, part := range parts(on.size) {
		argv := []string{"fio", "--name=fill", "--rw=write", "--direct=" + digit(d.pattern.Direct), "--end_fsync=1", "--fallocate=none",
			"--output-format=json", "--eta=never", fmt.Sprintf("--randseed=%d", (env.Seed^number(on.path))>>1)}
		argv = slices.Concat(argv, d.pattern.fillingAt(on), part, d.pattern.filling())
		r, err := env.Machine.Run(ctx, platform.Command{Argv: d.pattern.cluster.in(argv)})
		if err != nil {
			return fmt.Errorf("fill %s: %w", on.path, err)
		}
		if r.Exit == 0 {
			continue
		}
		exit := workload.Ended("fio", r)
		if strings.Contains(exit.Stderr, "O_DIRECT") {
			return fmt.Errorf("fill %s: its file system has no direct I/O: set direct: false, or take another folder (--out): %w", on.path, exit)
		}
		return fmt.Errorf("fill %s: %w", on.path, exit)
	}
	return nil
}

// number makes the data of each disk its own.
func number(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(path.Base(name)))
	return h.Sum64()
}

// parts are the stretches of a disk that are filled one after the other: fio
// leaves out what is less than a block.
func parts(size parameter.Bytes) [][]string {
	var parts [][]string
	whole := size / fillBlock * fillBlock
	if whole > 0 {
		parts = append(parts, []string{"--bs=" + bytes(fillBlock), "--size=" + bytes(whole)})
	}
	if rest := size - whole; rest > 0 {
		parts = append(parts, []string{"--bs=" + bytes(rest), "--offset=" + bytes(whole), "--size=" + bytes(rest)})
	}
	return parts
}

// fillingAt says where a disk is that is filled, and by which engine.
func (p *pattern) fillingAt(on disk) []string {
	if p.cluster != nil {
		return append([]string{"--ioengine=" + imageEngine, "--iodepth=8"}, p.cluster.image(on.path)...) // fio knows the options of an engine only after it
	}
	return []string{"--filename=" + escape(on.path), "--ioengine=psync"}
}

func (p *pattern) filling() []string {
	if p.Precondition == "zero" {
		return []string{"--zero_buffers=1"}
	}
	argv := []string{"--refill_buffers=1"}
	if p.Verify != "none" {
		argv = append(argv, "--do_verify=0")
		argv = append(argv, p.checksums()...)
	}
	return append(argv, p.redundancy()...)
}

func report(env workload.Env, format string, args ...any) {
	if env.Log != nil {
		env.Log(format, args...)
	}
}

const (
	steadyRound  = 10 * time.Second
	steadyRounds = 25 // of SNIA PTS: after these the disks are called not steady
)

// writer returns the load of the steady preconditioning: the writes of the load proper, in a
// closed loop.
func (p *pattern) writer() *pattern {
	w := *p
	w.Read, w.Rate = 0, 0
	if p.Read == 1 {
		w.blocks.write = p.blocks.read
	}
	return &w
}

// steady writes in rounds until five of them in a row spread by at most 20 % and
// slope by at most 10 % (SNIA Solid State Storage Performance Test Specification).
func (d *disks) steady(ctx context.Context, env workload.Env) error {
	w := &disks{*d.pattern.writer()}
	var rounds []float64
	for n := range steadyRounds {
		out := measure.NewRecorder(nil)
		if err := w.Run(ctx, env, load.Stage{Length: steadyRound, Interval: time.Second, Seed: env.Seed + uint64(n)}, out); err != nil {
			return fmt.Errorf("precondition, round %d: %w", n+1, err)
		}
		intervals := out.Intervals()
		if len(intervals) == 0 {
			return fmt.Errorf("precondition, round %d: fio reported no interval", n+1)
		}
		s, err := measure.Summarise(intervals, measure.Window{End: intervals[len(intervals)-1].To.Seconds()}, "iops")
		if err != nil {
			return fmt.Errorf("precondition, round %d: %w", n+1, err)
		}
		rounds = append(rounds, s.Values["iops"])
		report(env, "preconditioning, round %d of at most %d: %.0f IOPS", n+1, steadyRounds, s.Values["iops"])
		if n >= 4 && stat.SNIASteady(rounds[n-4:]) {
			return nil
		}
	}
	return fmt.Errorf("the disks are not steady after %d rounds of %s: their last five were %.0f IOPS; more preconditioning, or a smaller working_set, may help", steadyRounds, steadyRound, rounds[len(rounds)-5:])
}

// Clean removes the disks that Prepare made, also for a load with more of them,
// and nothing else.
func (d *disks) Clean(ctx context.Context, env workload.Env) error {
	d = d.withImages(env) // of an arm with them
	have, err := readManifest(ctx, env)
	if err != nil {
		return err
	}
	if err := d.pattern.cluster.removeImages(ctx, env); err != nil {
		return err
	}
	if len(d.pattern.Targets) == 0 {
		for i := range d.pattern.Disks {
			have.Disks[ownDisk(env, i)] = layout{}
		}
	}
	argv := []string{"rm", "-f", "--"}
	for _, name := range slices.Concat(have.Files, slices.Sorted(maps.Keys(have.Disks))) {
		if !have.Disks[name].Target && path.Dir(name) == env.Dir {
			argv = append(argv, name)
		}
	}
	// The manifest goes last: until then it says what is still to be removed.
	for _, argv := range [][]string{argv, {"rm", "-f", "--", env.Dir + "/" + manifestName}} {
		if err := runProgram(ctx, env, argv...); err != nil {
			return fmt.Errorf("remove disks: %w", err)
		}
	}
	r, err := env.Machine.Run(ctx, platform.Command{Argv: []string{"test", "-d", env.Dir}})
	if err != nil || r.Exit != 0 {
		return err
	}
	return runProgram(ctx, env, "rmdir", "--ignore-fail-on-non-empty", "--", env.Dir)
}
