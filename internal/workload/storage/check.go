package storage

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/workload"
)

const (
	oldestMajor = 3 // fio 3.1 is the first whose json+ bins of lat are sound
	oldestMinor = 1
	reserve     = 1 << 30 // bytes that stay free beside the disks
)

// Check looks for fio, its engine, and room for the disks or safe targets.
func (d *disks) Check(ctx context.Context, env workload.Env) (workload.Needs, error) {
	d = d.at(env)
	version, err := checkFio(ctx, env.Machine, d.pattern.engine())
	if err != nil {
		return workload.Needs{}, err
	}
	if err := errors.Join(refuseRate(&d.pattern), refuseImages(&d.pattern), d.checkThrough(ctx, env)); err != nil {
		return workload.Needs{}, err
	}
	needs := workload.Needs{Versions: map[string]string{"fio": version}}
	if len(d.pattern.Targets) > 0 {
		needs.Changes = d.pattern.changes()
		return needs, d.checkTargets(ctx, env.Machine)
	}
	if d.pattern.cluster != nil {
		needs.Served = int64(d.pattern.Size) * int64(d.pattern.Disks)
		needs.Time = timeToFill(needs.Served)
		return needs, nil
	}
	if d.pattern.Precondition != "none" || d.pattern.writes() {
		needs.Disk = max(0, int64(d.pattern.Size)*int64(d.pattern.Disks)-d.present(ctx, env))
	}
	if d.pattern.Precondition != "none" {
		needs.Time = timeToFill(needs.Disk)
	}
	return needs, d.checkFolder(ctx, env, needs.Disk)
}

// present is how many bytes the disks in the scratch folder take already, as after a
// run that was interrupted.
func (d *disks) present(ctx context.Context, env workload.Env) int64 {
	argv := []string{"stat", "-c", "%b %B", "--"}
	for i := range d.pattern.Disks {
		argv = append(argv, ownDisk(env, i))
	}
	r, err := env.Machine.Run(ctx, platform.Command{Argv: argv})
	if err != nil {
		return 0
	}
	total := int64(0)
	for line := range strings.Lines(string(r.Stdout)) {
		var blocks, size int64
		if _, err := fmt.Sscan(line, &blocks, &size); err == nil {
			total += min(blocks*size, int64(d.pattern.Size))
		}
	}
	return total
}

// sectorUnder is the size of the sectors below a folder; 0 where it cannot be read.
func sectorUnder(ctx context.Context, m platform.Machine, dir string) parameter.Bytes {
	device, err := platform.DeviceUnder(ctx, m, dir)
	if err != nil {
		return 0
	}
	return sectorOf(ctx, m, device.Folder+"/queue")
}

func sectorOf(ctx context.Context, m platform.Machine, queue string) parameter.Bytes {
	data, err := m.ReadFile(ctx, queue+"/logical_block_size")
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 32)
	if err != nil {
		return 0
	}
	return parameter.Bytes(n)
}

// refuseSector finds a block that direct I/O cannot read or write.
func refuseSector(p *pattern, sector parameter.Bytes, where string) error {
	for _, size := range p.blocks.sizes() {
		if sector > 0 && size%sector != 0 {
			return fmt.Errorf("block %s is not a multiple of the sector size %s below %s, as direct I/O needs: use a larger block, or set direct: false", size, sector, where)
		}
	}
	return nil
}

// changes says what happens to the targets.
func (p *pattern) changes() []string {
	var changes []string
	for _, t := range p.Targets {
		if p.writes() || p.Precondition != "none" {
			changes = append(changes, "overwrites "+t)
		}
	}
	return changes
}

func checkFio(ctx context.Context, m platform.Machine, engine string) (string, error) {
	r, err := m.Run(ctx, platform.Command{Argv: []string{"fio", "--version"}})
	if ctx.Err() != nil {
		return "", fmt.Errorf("find fio: %w", context.Cause(ctx))
	}
	if err != nil || r.Exit != 0 {
		return "", errors.New("fio is not installed on this host: apt install fio (or dnf install fio)")
	}
	version := strings.TrimPrefix(strings.TrimSpace(string(r.Stdout)), "fio-")
	major, rest, _ := strings.Cut(version, ".")
	minor := strings.FieldsFunc(rest, func(c rune) bool { return c < '0' || c > '9' })
	a, err := strconv.Atoi(major)
	if err != nil {
		return "", fmt.Errorf("cannot parse fio's version %q", version)
	}
	b := 0
	if len(minor) > 0 {
		b, _ = strconv.Atoi(minor[0])
	}
	if a < oldestMajor || a == oldestMajor && b < oldestMinor {
		return "", fmt.Errorf("fio %s is too old: version %d.%d or newer is needed, for its latency bins", version, oldestMajor, oldestMinor)
	}
	return version, checkEngine(ctx, m, engine, version)
}

func checkEngine(ctx context.Context, m platform.Machine, engine, version string) error {
	help, err := output(ctx, m, platform.Command{Argv: []string{"fio", "--enghelp"}})
	if err != nil {
		return fmt.Errorf("query the engines of fio: %w", err)
	}
	var engines []string
	for line := range strings.Lines(help) {
		if name, found := strings.CutPrefix(line, "\t"); found {
			engines = append(engines, strings.TrimSpace(name))
		}
	}
	if slices.Contains(engines, engine) {
		return nil
	}
	if near := parameter.Nearest(engine, engines); near != "" {
		return fmt.Errorf("fio %s on this host has no engine %q; did you mean %q?", version, engine, near)
	}
	return fmt.Errorf("fio %s on this host has no engine %q; it has %s", version, engine, strings.Join(engines, ", "))
}

// checkFolder looks at the file system that will hold the disks.
func (d *disks) checkFolder(ctx context.Context, env workload.Env, need int64) error {
	dir := env.Dir
	for {
		r, err := env.Machine.Run(ctx, platform.Command{Argv: []string{"test", "-d", dir}})
		if err != nil {
			return fmt.Errorf("find the scratch folder: %w", err)
		}
		if r.Exit == 0 || dir == "/" {
			break
		}
		dir = path.Dir(dir)
	}
	r, err := env.Machine.Run(ctx, platform.Command{Argv: []string{"test", "-w", dir}})
	if ctx.Err() != nil {
		return fmt.Errorf("inspect the scratch folder: %w", context.Cause(ctx))
	}
	if err != nil || r.Exit != 0 {
		return fmt.Errorf("the folder %s cannot be written to: name another with --out", dir)
	}
	kind, free, err := fileSystem(ctx, env.Machine, dir)
	if err != nil {
		return err
	}
	if d.pattern.Direct && (kind == "tmpfs" || kind == "ramfs") {
		return fmt.Errorf("%s is on %s, which has no direct I/O: name a folder on a disk with --out, or set direct: false", dir, kind)
	}
	if d.pattern.Direct {
		if err := refuseSector(&d.pattern, sectorUnder(ctx, env.Machine, dir), dir); err != nil {
			return err
		}
	}
	if free < need+reserve {
		return fmt.Errorf("the disks take %s and %s stay free beside them, but %s has %s left: reduce them (storage.size, storage.disks) or name another folder with --out",
			parameter.Bytes(need), parameter.Bytes(reserve), dir, parameter.Bytes(free>>20<<20))
	}
	return nil
}

// fileSystem is the kind of the file system of a folder and the bytes left in it.
func fileSystem(ctx context.Context, m platform.Machine, dir string) (kind string, free int64, err error) {
	printed, err := ask(ctx, m, "stat", "-f", "-c", "%T %a %S", "--", dir)
	if err != nil {
		return "", 0, fmt.Errorf("query the file system of %s: %w", dir, err)
	}
	var blocks, size int64
	if _, err := fmt.Sscan(printed, &kind, &blocks, &size); err != nil {
		return "", 0, fmt.Errorf("query the file system of %s: stat printed %q", dir, printed)
	}
	return kind, blocks * size, nil
}
