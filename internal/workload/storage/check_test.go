package storage

import (
	"context"
	"errors"
	"testing"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/workload"
)

func env(m platform.Machine) workload.Env {
	return workload.Env{Machine: m, Dir: "/results/scratch", Seed: 7}
}

// bench is a machine with fio and a folder on a disk with 100 GiB left.
func bench() *fake {
	return &fake{commands: map[string]platform.Result{
		"fio --version":                   prints("fio-3.33\n"),
		"fio --enghelp":                   prints("Available IO engines:\n\tmmap\n\tsync\n\tpsync\n\tlibaio\n\tio_uring\n"),
		"test -d /results/scratch":        ends(1, ""),
		"test -d /results":                prints(""),
		"test -w /results":                prints(""),
		"stat -f -c %T %a %S -- /results": prints("ext2/ext3 26214400 4096\n"),
	}}
}

func TestCheckFindsWhatIsNeeded(t *testing.T) {
	needs, err := made(t, parameter.Settings{"disks": "3", "size": "1GiB"}).Check(t.Context(), env(bench()))
	if err != nil {
		t.Fatal(err)
	}
	if needs.Disk != 3<<30 || needs.Time <= 0 || needs.Versions["fio"] != "3.33" || needs.Changes != nil {
		t.Errorf("got %+v", needs)
	}
	f := server()
	for line, r := range bench().commands {
		f.commands[line] = r
	}
	needs, err = made(t, targets("/dev/sdx", "/srv/data")).Check(t.Context(), env(f))
	if err != nil {
		t.Fatal(err)
	}
	if len(needs.Changes) != 2 || needs.Changes[0] != "overwrites /dev/sdx" || needs.Disk != 0 {
		t.Errorf("got %+v", needs)
	}
}

func TestCheckRefusesWhatIsLacking(t *testing.T) {
	fio := func(version string) func(*fake) {
		return func(f *fake) { f.commands["fio --version"] = prints(version + "\n") }
	}
	on := func(stat string) func(*fake) {
		return func(f *fake) { f.commands["stat -f -c %T %a %S -- /results"] = prints(stat) }
	}
	for _, c := range []struct {
		name     string
		settings parameter.Settings
		change   func(*fake)
		want     []string
	}{
		{"no fio", nil, func(f *fake) { delete(f.commands, "fio --version") }, []string{"fio is not installed", "apt install fio"}},
		{"fio 2", nil, fio("fio-2.99"), []string{"fio 2.99 is too old", "3.1"}},
		{"fio 3.0", nil, fio("fio-3.0"), []string{"fio 3.0 is too old"}},
		{"what fio", nil, fio("fio-git"), []string{`"git"`}},
		{"engine mistyped", parameter.Settings{"engine": "libiao"}, nil, []string{`no engine "libiao"`, `did you mean "libaio"?`}},
		{"engine unknown", parameter.Settings{"engine": "teleport"}, nil, []string{`no engine "teleport"`, "it has mmap, sync, psync"}},
		{"engine list fails", nil, func(f *fake) { f.commands["fio --enghelp"] = ends(1, "out of order") }, []string{"query the engines of fio", "out of order"}},
		{"folder not writable", nil, func(f *fake) { f.commands["test -w /results"] = ends(1, "") }, []string{"/results cannot be written to", "--out"}},
		{"sectors", parameter.Settings{"block": "512B"}, func(f *fake) {
			f.commands["stat -L -c %d %m -- /results"] = prints("2064 /results\n")
			f.commands["readlink -e -- /sys/dev/block/8:16"] = prints("/sys/devices/a/block/sdx\n")
			f.files = map[string]string{"/sys/devices/a/block/sdx/queue/logical_block_size": "4096\n"}
		}, []string{"block 512B is not a multiple of the sector size 4KiB", "direct: false"}},
		{"space that only the load will take", parameter.Settings{"size": "200GiB", "precondition": "none"}, nil, []string{"200GiB"}},
		{"too little space", parameter.Settings{"size": "200GiB"}, nil, []string{"200GiB", "100GiB left"}},
		{"nothing beside the disks", parameter.Settings{"size": "99.5GiB"}, nil, []string{"1GiB stay free"}},
		{"tmpfs", nil, on("tmpfs 26214400 4096"), []string{"tmpfs", "direct: false"}},
		{"ramfs", nil, on("ramfs 26214400 4096"), []string{"ramfs", "direct: false"}},
		{"stat out of order", nil, on("who knows"), []string{"stat printed"}},
		{"rate", parameter.Settings{"rate": "1/s", "read": "70%"}, nil, []string{"rate 1/s: 1/s of reads would be offered instead of 0.7/s", "raise storage.depth to 3"}},
		{"rate of a worker", parameter.Settings{"rate": "50000/s", "depth": "4"}, nil, []string{"50000/s by 4 workers are more than 10000/s for each"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := bench()
			if c.change != nil {
				c.change(f)
			}
			_, err := made(t, c.settings).Check(t.Context(), env(f))
			refused(t, err, c.want...)
		})
	}
}

func TestCheckPasses(t *testing.T) {
	for name, c := range map[string]struct {
		settings parameter.Settings
		change   func(*fake)
	}{
		"defaults":              {},
		"the oldest":            {change: func(f *fake) { f.commands["fio --version"] = prints("fio-3.1\n") }},
		"a build from source":   {change: func(f *fake) { f.commands["fio --version"] = prints("fio-3.36-12-gabc-dirty\n") }},
		"the next major":        {change: func(f *fake) { f.commands["fio --version"] = prints("fio-4.0\n") }},
		"tmpfs with page cache": {parameter.Settings{"direct": "false"}, func(f *fake) { f.commands["stat -f -c %T %a %S -- /results"] = prints("tmpfs 26214400 4096\n") }},
		"a rate":                {parameter.Settings{"rate": "1000/s", "read": "70%"}, nil},
	} {
		f := bench()
		if c.change != nil {
			c.change(f)
		}
		if _, err := made(t, c.settings).Check(t.Context(), env(f)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// After a run that was interrupted, what is there is not asked for again.
func TestCheckCountsWhatIsThere(t *testing.T) {
	f := bench()
	f.commands["stat -c %b %B -- /results/scratch/disk-01 /results/scratch/disk-02"] = platform.Result{Exit: 1, Stdout: []byte("2097152 512\n")}
	needs, err := made(t, parameter.Settings{"disks": "2", "size": "1GiB"}).Check(t.Context(), env(f))
	if err != nil || needs.Disk != 1<<30 {
		t.Errorf("got %+v, %v", needs, err)
	}
	if needs, err = made(t, parameter.Settings{"read": "100%", "precondition": "none"}).Check(t.Context(), env(bench())); err != nil || needs.Disk != 0 {
		t.Errorf("a load that writes nothing: got %+v, %v", needs, err)
	}
}

func TestSectorsOfTargets(t *testing.T) {
	f := server()
	f.files["/sys/dev/block/8:16/queue/logical_block_size"] = "4096\n"
	s := targets("/dev/sdx")
	s["block"] = "4KiB/50:4608B/50"
	refused(t, made(t, s).checkTargets(t.Context(), f), "block 4608B", "/dev/sdx")
	s["direct"] = "false"
	if err := made(t, s).checkTargets(t.Context(), f); err != nil {
		t.Error(err)
	}
	// A partition has the queue of its disk.
	delete(f.files, "/sys/dev/block/8:16/queue/logical_block_size")
	f.files["/sys/dev/block/8:16/../queue/logical_block_size"] = "4096\n"
	s["direct"] = "true"
	refused(t, made(t, s).checkTargets(t.Context(), f), "block 4608B")
}

func TestACancelledCheckDoesNotBlameFio(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := made(t, nil).Check(ctx, env(bench())); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
