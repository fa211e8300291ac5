package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/stat"
	"plimsoll/internal/workload"
)

// manifest says what lies in the scratch folder, so that the next load that
// needs the same finds it.
type manifest struct {
	Disks    int             `json:"disks"`
	Targets  string          `json:"targets,omitempty"`
	Size     parameter.Bytes `json:"size"`
	Fill     string          `json:"fill"`
	Compress parameter.Share `json:"compress"`
	Dedup    parameter.Share `json:"dedup"`
	Seed     uint64          `json:"seed"`
	Verify   string          `json:"verify,omitempty"` // the checksums that the data carries
	Steady   string          `json:"steady,omitempty"` // the pattern that the disks are steady under
}

const manifestName = "manifest.json"

func (d *disks) manifest(env workload.Env) manifest {
	m := manifest{Disks: d.Disks, Size: d.Size, Fill: d.Precondition, Compress: d.Compress, Dedup: d.Dedup, Seed: env.Seed, Targets: strings.Join(d.Targets, "\n")}
	if d.Precondition == "steady" {
		m.Steady = strings.Join(d.access(), " ")
	}
	if d.Verify != "none" {
		m.Verify = strings.Join(d.checksums(), " ")
	}
	return m
}

// Prepare lays out the disks and brings them into the state that the study
// asks for.
func (d *disks) Prepare(ctx context.Context, env workload.Env) error {
	if len(d.Targets) > 0 {
		// What a target holds may have changed since the study was checked.
		if err := d.checkTargets(ctx, env.Machine); err != nil {
			return err
		}
	}
	if err := d.run(ctx, env, "mkdir", "-p", "--", env.Dir); err != nil {
		return err
	}
	have, want := manifest{}, d.manifest(env)
	name := env.Dir + "/" + manifestName
	data, err := env.Machine.ReadFile(ctx, name)
	if err == nil && json.Unmarshal(data, &have) == nil && have == want {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read what lies in %s: %w", env.Dir, err)
	}
	// From here until all is done the disks hold neither what they did nor what
	// is wanted, and those that are more than wanted are still to be removed.
	if err := d.writeManifest(ctx, env, manifest{Disks: max(have.Disks, want.Disks), Fill: "unfinished"}); err != nil {
		return err
	}
	if err := d.removeFrom(ctx, env, want.Disks, have); err != nil {
		return err
	}
	if err := d.fill(ctx, env); err != nil {
		return err
	}
	if d.Precondition == "steady" {
		if err := d.steady(ctx, env); err != nil {
			return err
		}
	}
	return d.writeManifest(ctx, env, want)
}

func (d *disks) writeManifest(ctx context.Context, env workload.Env, m manifest) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return d.write(ctx, env.Machine, env.Dir+"/"+manifestName, data)
}

// removeFrom removes the disks of plimsoll's own from a number on, as far as
// the manifest says that there are any.
func (d *disks) removeFrom(ctx context.Context, env workload.Env, first int, have manifest) error {
	if have.Targets != "" || have.Disks <= first {
		return nil
	}
	argv := []string{"rm", "-f", "--"}
	for i := first; i < have.Disks; i++ {
		argv = append(argv, ownDisk(env, i))
	}
	return d.run(ctx, env, argv...)
}

// write makes a small file on the machine, through a program, because a file
// that does not exist yet cannot be written as a setting is.
func (d *disks) write(ctx context.Context, m platform.Machine, name string, data []byte) error {
	r, err := m.Run(ctx, platform.Command{Argv: []string{"tee", "--", name}, Stdin: strings.NewReader(string(data))})
	if err == nil && r.Exit != 0 {
		err = errors.New(strings.TrimSpace(string(r.Stderr)))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// run runs a small program to its end.
func (d *disks) run(ctx context.Context, env workload.Env, argv ...string) error {
	r, err := env.Machine.Run(ctx, platform.Command{Argv: argv})
	if err == nil && r.Exit != 0 {
		err = fmt.Errorf("%s", strings.TrimSpace(string(r.Stderr)))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
	}
	return nil
}

// fillBlock is the size of the writes that fill a disk.
const fillBlock = 1 << 20

// fill writes every disk from end to end.
func (d *disks) fill(ctx context.Context, env workload.Env) error {
	if d.Precondition == "none" && len(d.Targets) > 0 {
		return nil
	}
	for i, path := range d.paths(env) {
		if len(d.Targets) == 0 {
			// A file that has its size already is not laid out anew by fio.
			if err := d.run(ctx, env, "truncate", "--size="+bytes(d.Size), "--", path); err != nil {
				return err
			}
		}
		if d.Precondition == "none" {
			continue
		}
		d.log(env, "filling disk %d of %d with %s data", i+1, d.Disks, map[bool]string{true: "zero", false: "random"}[d.Precondition == "zero"])
		for _, part := range d.parts() {
			argv := []string{"fio", "--name=fill", "--filename=" + escape(path), "--rw=write", "--ioengine=psync",
				"--direct=" + digit(d.Direct), "--end_fsync=1", "--fallocate=none", "--output-format=json", "--eta=never",
				fmt.Sprintf("--randseed=%d", env.Seed>>1+uint64(i))}
			argv = append(append(argv, part...), d.filling()...)
			r, err := env.Machine.Run(ctx, platform.Command{Argv: argv})
			if err != nil {
				return fmt.Errorf("fill %s: %w", path, err)
			}
			if r.Exit != 0 {
				return fmt.Errorf("fill %s: %w", path, &workload.ExitError{Program: "fio", Exit: r.Exit, Signal: r.Signal, Stderr: strings.TrimSpace(string(r.Stderr))})
			}
		}
	}
	return nil
}

// parts are the stretches of a disk that are filled one after the other: fio
// leaves out what is less than a block.
func (d *disks) parts() [][]string {
	if len(d.Targets) > 0 {
		return [][]string{{"--bs=" + bytes(fillBlock)}}
	}
	var parts [][]string
	whole := d.Size / fillBlock * fillBlock
	if whole > 0 {
		parts = append(parts, []string{"--bs=" + bytes(fillBlock), "--size=" + bytes(whole)})
	}
	if rest := d.Size - whole; rest > 0 {
		parts = append(parts, []string{"--bs=" + bytes(rest), "--offset=" + bytes(whole), "--size=" + bytes(rest)})
	}
	return parts
}

func (d *disks) filling() []string {
	if d.Precondition == "zero" {
		return []string{"--zero_buffers=1"}
	}
	argv := []string{"--refill_buffers=1"}
	if d.Verify != "none" {
		argv = append(argv, "--do_verify=0")
		argv = append(argv, d.checksums()...)
	}
	if d.Compress > 0 {
		argv = append(argv, "--buffer_compress_percentage="+percent(d.Compress))
	}
	if d.Dedup > 0 {
		argv = append(argv, "--dedupe_percentage="+percent(d.Dedup))
	}
	return argv
}

func (d *disks) log(env workload.Env, format string, args ...any) {
	if env.Log != nil {
		env.Log(format, args...)
	}
}

const (
	steadyRound  = 10 * time.Second
	steadyRounds = 25 // of SNIA PTS: after these the disks are called not steady
)

// steady runs the load in rounds until five of them in a row spread by at most
// 20 % and slope by at most 10 % (SNIA Solid State Storage Performance Test
// Specification).
func (d *disks) steady(ctx context.Context, env workload.Env) error {
	var rounds []float64
	for n := range steadyRounds {
		out := measure.NewRecorder(nil)
		if err := d.Run(ctx, env, load.Stage{Length: steadyRound, Interval: time.Second, Seed: env.Seed + uint64(n)}, out); err != nil {
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
		d.log(env, "preconditioning, round %d of at most %d: %.0f IOPS", n+1, steadyRounds, s.Values["iops"])
		if n >= 4 && stat.SNIASteady(rounds[n-4:]) {
			return nil
		}
	}
	return fmt.Errorf("the disks are not steady after %d rounds of %s: their last five were %.0f IOPS; more preconditioning, or a smaller working_set, may help", steadyRounds, steadyRound, rounds[len(rounds)-5:])
}

// Clean removes the disks that Prepare made, also for a load with more of them,
// and nothing else.
func (d *disks) Clean(ctx context.Context, env workload.Env) error {
	var have manifest
	data, err := env.Machine.ReadFile(ctx, env.Dir+"/"+manifestName)
	switch {
	case err == nil:
		if err := json.Unmarshal(data, &have); err != nil {
			have = manifest{} // cut off while it was written: our own disks are what there can be
		}
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("read what lies in %s: %w", env.Dir, err)
	}
	if len(d.Targets) == 0 {
		have.Disks, have.Targets = max(have.Disks, d.Disks), ""
	}
	if err := d.removeFrom(ctx, env, 0, have); err != nil {
		return fmt.Errorf("remove disks: %w", err)
	}
	if err := d.run(ctx, env, "rm", "-f", "--", env.Dir+"/"+manifestName); err != nil {
		return fmt.Errorf("remove disks: %w", err)
	}
	r, err := env.Machine.Run(ctx, platform.Command{Argv: []string{"test", "-d", env.Dir}})
	if err != nil || r.Exit != 0 {
		return err
	}
	return d.run(ctx, env, "rmdir", "--ignore-fail-on-non-empty", "--", env.Dir)
}
