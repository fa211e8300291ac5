package causes

import (
	"errors"
	"fmt"
	"runtime"

	"plimsoll/bench/causes/scene"
)

func ofStorage() []cause {
	return []cause{
		{
			name: "read-ahead", about: "a sequential reader on a device without read-ahead",
			rules: []string{"read_ahead"}, change: []string{"read_ahead_kb", "setra"}, metric: rate(), bites: 1.5, make: readAhead,
		},
		{
			name: "scheduler", about: "random reads of processes with two priorities on a fast device with the scheduler bfq",
			rules: []string{"io_scheduler"}, change: []string{"scheduler"}, metric: rate(), bites: 1.3, make: scheduler,
		},
		{
			name: "queue-depth", about: "a reader with one outstanding read on a device that serves many",
			rules: []string{"queue_depth_low"}, change: []string{"iodepth", "depth", "outstanding", "concurren", "parallel"}, metric: rate(), bites: 1.5, make: queueDepth,
		},
		{
			name: "fsync", about: "writers that force each small record to the disk",
			rules: []string{"fsync_storm"}, change: []string{"group", "batch", "commit", "sync"}, metric: rate(), bites: 2, make: fsyncStorm,
		},
		{
			name: "throttle", about: "a reader in a control group with a limit on its reads per second",
			rules: []string{"io_throttle"}, change: []string{"blkio.throttle", "io.max", "IOReadIOPSMax", "IOReadBandwidthMax"}, metric: rate(), bites: 2, make: throttle,
		},
		{
			name: "disk-hog", about: "a service beside a backup that uses the same disk",
			rules: []string{"noisy_neighbour", "disk_neighbour"}, change: []string{"ionice", "io.max", "io.weight", "blkio", "IOWeight", "throttle", "move", "Move"}, names: []string{"backup"}, metric: rate(), bites: 1.3, make: diskHog,
		},
		{
			name: "dirty-pages", about: "a writer on a host that allows few dirty pages",
			rules: []string{"writeback_stall"}, change: []string{"dirty_"}, metric: latency(), bites: 2, make: dirtyPages,
		},
		{
			name: "page-cache", about: "a benchmark of a disk that reads from the page cache",
			rules: []string{"page_cache_as_disk"}, change: []string{"direct", "O_DIRECT", "larger"}, metric: fiction(), bites: 1.4, make: pageCache,
		},
		{
			name: "checkpoints", about: "PostgreSQL with a small max_wal_size under updates",
			rules: []string{"checkpoint_backlog", "write_amplification"}, change: []string{"max_wal_size", "checkpoint"}, metric: rate(), bites: 1.2, make: checkpoints,
		},
	}
}

// fiction is a rate that is higher than the device's.
func fiction() metric {
	return metric{"rate", func(s scene.Sample) float64 { return s.Rate }, true}
}

func readAhead(s *scene.Scene) (*scene.Meter, error) {
	d, err := s.Disk(s.Between(192, 384))
	if err != nil {
		return nil, err
	}
	if s.Made {
		if err := d.Queue("read_ahead_kb", "0"); err != nil {
			return nil, err
		}
	}
	return scene.Figures(s.Part("scan", scene.Command{Argv: []string{"read", "--file", d.Device}, Reads: scene.Ours}))
}

func scheduler(s *scene.Scene) (*scene.Meter, error) {
	d, err := s.Disk(s.Between(256, 512))
	if err != nil {
		return nil, err
	}
	if err := d.Queue("scheduler", scene.Either(s, "bfq", "none")); err != nil {
		return nil, err
	}
	reads := []string{"--filename=" + d.Device, "--rw=randread", "--bs=4k", "--direct=1", "--ioengine=psync"}
	// bfq leaves the device idle between the reads of a process that is served before others
	if _, err := fio(s, scene.Command{}, append(reads, "--prioclass=2", "--prio=0", count("numjobs", 4))...); err != nil {
		return nil, err
	}
	return fio(s, scene.Command{}, append(reads, "--prioclass=2", "--prio=7", count("numjobs", s.Between(2, 4)))...)
}

func queueDepth(s *scene.Scene) (*scene.Meter, error) {
	return fioOnFile(s, s.Between(256, 512), "--rw=randread", fmt.Sprintf("--bs=%dk", 4<<s.Between(0, 2)), "--direct=1", "--ioengine=libaio", count("iodepth", scene.Either(s, 1, 16)))
}

func fsyncStorm(s *scene.Scene) (*scene.Meter, error) {
	argv := []string{"journal", "--file", s.Path("journal"), count("threads", s.Between(2, 8)), fmt.Sprintf("--size=%g", float64(s.Between(1, 16))/4096)}
	if !s.Made {
		argv = append(argv, "--short")
	}
	return scene.Figures(s.Part("orders", scene.Command{Argv: argv, Reads: scene.Ours}))
}

func throttle(s *scene.Scene) (*scene.Meter, error) {
	d, err := s.Disk(s.Between(256, 512))
	if err != nil {
		return nil, err
	}
	g, err := scene.Confined(s, "causes-disk", scene.Disks(), func(g *scene.Group) error { return g.Throttle(d.Device, true, s.Between(500, 2000)) })
	if err != nil {
		return nil, err
	}
	return fio(s, scene.Command{Group: g}, "--filename="+d.Device, "--rw=randread", "--bs=8k", "--direct=1", "--ioengine=libaio", count("iodepth", s.Between(4, 16)))
}

func diskHog(s *scene.Scene) (*scene.Meter, error) {
	size := s.Between(128, 256)
	file, err := s.File("orders", size)
	if err != nil {
		return nil, err
	}
	if s.Made {
		backup, err := s.File("archive", 512)
		if err != nil {
			return nil, err
		}
		argv := []string{"--name=copy", "--filename=" + backup, "--size=512M", "--rw=write", "--bs=1M", "--direct=1", "--ioengine=libaio", "--time_based", "--runtime=600", "--thread", count("iodepth", s.Between(16, 64))}
		if _, err := s.Named("backup", "fio", scene.Command{Argv: argv}); err != nil {
			return nil, err
		}
	}
	return fio(s, scene.Command{}, "--filename="+file, fmt.Sprintf("--size=%dM", size), "--rw=randread", "--bs=8k", "--direct=1", "--ioengine=psync", count("numjobs", s.Between(2, 4)))
}

func dirtyPages(s *scene.Scene) (*scene.Meter, error) {
	if s.Made {
		for file, value := range map[string]int{"dirty_background_bytes": 1 << 20, "dirty_bytes": s.Between(2, 6) << 20} {
			if err := s.Dirty(file, value); err != nil {
				return nil, err
			}
		}
	}
	return scene.Figures(s.Part("ingest", scene.Command{Argv: []string{"write", "--file", s.Path("log"), count("size", 512), count("rate", s.Between(600, 1200)<<20)}, Reads: scene.Ours}))
}

func pageCache(s *scene.Scene) (*scene.Meter, error) {
	size := s.Between(128, 256)
	file, err := s.File("table", size)
	if err != nil {
		return nil, err
	}
	if s.Made {
		if err := scene.Remember(file); err != nil {
			return nil, err
		}
	}
	direct := scene.Either(s, 0, 1)
	m, err := fio(s, scene.Command{}, "--filename="+file, fmt.Sprintf("--size=%dM", size), "--rw=randread", "--bs=16k", count("direct", direct), count("invalidate", direct), "--ioengine=psync", count("numjobs", s.Between(1, 2)))
	if err != nil {
		return nil, err
	}
	if err := s.Wait("figures of fio", func() bool { return m.Count() > 0 }); err != nil {
		return nil, err
	}
	const nearly = 0.99
	if share, err := scene.Remembered(file); err != nil || s.Made != (share > nearly) {
		return nil, errors.Join(err, fmt.Errorf("the page cache holds %.2f of the file", share))
	}
	return m, nil
}

// checkpoints has statements that each update rows in many pages, so that the work of a row is small beside the image of
// its page, which goes to the log after each checkpoint. Each session has rows of its own, and waits for no lock.
func checkpoints(s *scene.Scene) (*scene.Meter, error) {
	const scale, rowsOfPage = 20, 49
	sessions := s.Between(2, 4) * runtime.NumCPU()
	d := database{scale: scale, fill: 80, settings: []string{"shared_buffers=2GB", "synchronous_commit=off", "wal_init_zero=off", "min_wal_size=32MB", "max_wal_size=" + scene.Either(s, "32MB", "4GB")}}
	port, _, err := postgresql(s, d)
	if err != nil {
		return nil, err
	}
	// the log has all images of the first checkpoint before anything is measured
	if _, err := psql(s, port, fmt.Sprintf("update pgbench_accounts set abalance = 0 where aid %% %d = 0", rowsOfPage)); err != nil {
		return nil, err
	}
	rows := scale * 100_000 / sessions
	script := fmt.Sprintf("update pgbench_accounts as a set abalance = abalance + 1 from (select distinct 1 + :client_id * %[1]d + floor(random() * %[1]d)::int as aid from generate_series(1, %[2]d)) as chosen where a.aid = chosen.aid;\n", rows, s.Between(80, 120))
	return pgbench(s, "127.0.0.1:"+port, script, "-c", fmt.Sprint(sessions), "-j", "2")
}

// fio starts fio with one job on a file or device.
func fio(s *scene.Scene, in scene.Command, more ...string) (*scene.Meter, error) {
	in.Argv = append([]string{"fio", "--minimal", "--status-interval=1", "--name=job", "--time_based", "--runtime=600", "--group_reporting", "--thread"}, more...)
	in.Reads = scene.Fio()
	return scene.Figures(s.Start(in))
}

// fioOnFile is fio on a file of a size in MiB.
func fioOnFile(s *scene.Scene, mebibytes int, more ...string) (*scene.Meter, error) {
	file, err := s.File("table", mebibytes)
	if err != nil {
		return nil, err
	}
	return fio(s, scene.Command{}, append([]string{"--filename=" + file, fmt.Sprintf("--size=%dM", mebibytes)}, more...)...)
}
