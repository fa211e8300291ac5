package causes

import (
	"fmt"
	"runtime"

	"plimsoll/bench/causes/scene"
)

func ofProcessors() []cause {
	return []cause{
		{
			name: "affinity", about: "nginx with several workers, all bound to one CPU",
			rules: []string{"cpu_affinity", "cpuset_too_small"}, change: []string{"taskset", "affinity", "Affinity"}, metric: rate(), bites: 1.3, make: affinity,
		},
		{
			name: "cpuset", about: "a server with four threads in a cpuset of one CPU",
			rules: []string{"cpuset_too_small", "cpu_affinity"}, change: []string{"cpuset", "AllowedCPUs"}, metric: latency(), bites: 1.5, make: cpuset,
		},
		{
			name: "quota", about: "nginx with a CPU quota below its demand",
			rules: []string{"cpu_quota"}, change: []string{"cfs_quota", "cpu.max", "CPUQuota"}, metric: slowest(), bites: 2, make: quota,
		},
		{
			name: "hog", about: "Redis beside a batch job with more threads than there are CPUs",
			rules: []string{"noisy_neighbour"}, change: []string{"nice", "weight", "Weight", "shares", "cpuset", "AllowedCPUs", "taskset", "move", "Move"}, names: []string{"batch"}, metric: slowest(), bites: 1.5, make: hog,
		},
		{
			name: "stall", about: "Redis that stops for a while every few seconds",
			rules: []string{"periodic_stall"}, change: []string{"period", "every", "timer", "cron", "snapshot", "trace", "stop"}, metric: slowest(), bites: 3, make: stall,
		},
		{
			name: "softirq", about: "small datagrams through a long list of filters, all on the CPU that RPS names",
			rules: []string{"softirq_on_one_cpu"}, change: []string{"rps_cpus", "smp_affinity", "queues", "RPS"}, metric: rate(), bites: 1.15, make: softirq,
		},
		{
			name: "cache", about: "an index in the cache beside a report that streams through memory",
			rules: []string{"noisy_neighbour", "cache_topology"}, change: []string{"move", "Move", "cache", "cpuset", "AllowedCPUs", "resctrl", "taskset", "weight", "quota", "nice"}, names: []string{"report"}, metric: rate(), bites: 1.15, make: cache,
		},
		{
			name: "client", about: "a load generator of one thread at a web server that could do more",
			rules: []string{"client_limit"}, change: []string{"client", "generator", "thread"}, names: []string{"client"}, metric: rate(), bites: 1.2, make: clientLimit,
		},
		{
			name: "lock", about: "a server whose threads wait for one lock most of the time",
			rules: []string{"lock_convoy"}, change: []string{"lock", "shard", "critical"}, metric: rate(), bites: 1.3, make: lock,
		},
		{
			name: "rows", about: "PostgreSQL sessions that update the same row",
			rules: []string{"lock_convoy"}, change: []string{"lock", "row", "transaction"}, names: []string{"postgres"}, metric: rate(), bites: 2, make: rows,
		},
		{
			name: "one-worker", about: "nginx with one worker that is at its limit",
			rules: []string{"too_few_workers", "hot_thread"}, change: []string{"worker"}, names: []string{"nginx"}, metric: rate(), bites: 1.3, make: oneWorker,
		},
		{
			name: "hot-thread", about: "Redis whose one thread is at its limit",
			rules: []string{"hot_thread", "too_few_workers"}, change: []string{"io-threads", "thread", "shard", "instance", "faster"}, names: []string{"redis"}, metric: latency(), bites: 2, make: hotThread,
		},
		{
			name: "too-many", about: "a computation with several times as many threads as there are CPUs",
			rules: []string{"too_many_workers"}, change: []string{"thread", "worker", "OMP_NUM_THREADS"}, names: []string{"simulate"}, metric: rate(), bites: 1.3, make: tooMany,
		},
		{
			name: "saturated", about: "a server that needs more CPU than the host has",
			rules: []string{"cpu_saturated"}, change: []string{"CPU"}, names: []string{"shop"}, metric: latency(), bites: 2, make: saturated,
		},
	}
}

func affinity(s *scene.Scene) (*scene.Meter, error) {
	cpu, err := scene.CPU(s)
	if err != nil {
		return nil, err
	}
	w := web{workers: s.Between(2, 4), connections: 1024, kibibytes: s.Between(16, 64), gzip: true}
	w.in.CPUs = scene.Either(s, fmt.Sprint(cpu), "")
	address, _, err := nginx(s, w)
	if err != nil {
		return nil, err
	}
	return client(s, "http://"+address, scene.Command{}, count("connections", s.Between(16, 64)))
}

func cpuset(s *scene.Scene) (*scene.Meter, error) {
	micro := s.Between(200, 600)
	cpu, err := scene.CPU(s)
	if err != nil {
		return nil, err
	}
	g, err := scene.Confined(s, "causes-shop", "cpuset", func(g *scene.Group) error { return g.CPUs(fmt.Sprint(cpu)) })
	if err != nil {
		return nil, err
	}
	address, err := server(s, scene.Command{Group: g}, count("threads", 4), fmt.Sprintf("--work=%dus", micro))
	if err != nil {
		return nil, err
	}
	return client(s, "line://"+address, scene.Command{}, count("connections", s.Between(6, 24)), count("rate", 1_600_000/micro))
}

func quota(s *scene.Scene) (*scene.Meter, error) {
	w := web{workers: 2, connections: 1024, kibibytes: s.Between(1, 16)}
	var err error
	if w.in.Group, err = withQuota(s, s.Between(10, 25)); err != nil {
		return nil, err
	}
	address, _, err := nginx(s, w)
	if err != nil {
		return nil, err
	}
	return client(s, "http://"+address, scene.Command{}, count("connections", s.Between(16, 64)), count("rate", s.Between(20_000, 30_000)))
}

// withQuota is a control group with so many hundredths of a CPU, where the cause is made.
func withQuota(s *scene.Scene, percent int) (*scene.Group, error) {
	return scene.Confined(s, "causes-quota", "cpu", func(g *scene.Group) error { return g.Quota(percent) })
}

func hog(s *scene.Scene) (*scene.Meter, error) {
	address, _, err := redis(s, scene.Command{})
	if err != nil {
		return nil, err
	}
	if err := neighbour(s, "batch", s.Between(2, 4)); err != nil {
		return nil, err
	}
	return client(s, "redis://"+address, scene.Command{}, count("connections", s.Between(8, 32)), count("rate", s.Between(8_000, 16_000)))
}

// neighbour starts a process that uses all CPUs, with so many threads for each, where the cause is made.
func neighbour(s *scene.Scene, name string, threads int) error {
	if !s.Made {
		return nil
	}
	_, err := s.Part(name, scene.Command{Argv: []string{"burn", count("threads", threads*runtime.NumCPU())}})
	return err
}

func stall(s *scene.Scene) (*scene.Meter, error) {
	address, p, err := redis(s, scene.Command{})
	if err != nil {
		return nil, err
	}
	if s.Made {
		p.Stall(s, milliseconds(s.Between(4000, 6000)), milliseconds(s.Between(400, 900)))
	}
	return client(s, "redis://"+address, scene.Command{}, count("connections", s.Between(8, 32)), count("rate", s.Between(2_000, 6_000)))
}

func softirq(s *scene.Scene) (*scene.Meter, error) {
	l, err := s.Wire()
	if err != nil {
		return nil, err
	}
	address, rate := l.Near+":8125", s.Between(60_000, 80_000)
	m, err := scene.Figures(s.Part("metrics", scene.Command{Argv: []string{"collect", "--listen", address, count("threads", 2)}, Reads: scene.Ours}))
	if err != nil {
		return nil, err
	}
	if err := s.Wait("figures of the collector", func() bool { return m.Count() > 0 }); err != nil {
		return nil, err
	}
	const work = 2.0 // CPUs that all packets need: more than the one
	n, err := s.Kept.Number(fmt.Sprint("filters at a rate of ", rate), func() (int, error) { return filters(s, l, address, int(work*1e9)/rate) })
	if err != nil {
		return nil, err
	}
	if err := l.Rules(s, n); err != nil {
		return nil, err
	}
	if s.Made {
		cpu, err := scene.CPU(s)
		if err != nil {
			return nil, err
		}
		if err := l.Steer(cpu); err != nil {
			return nil, err
		}
	}
	_, err = s.Part("agents", scene.Command{Net: l.Space, Argv: []string{"packets", "--to", address, count("threads", 4), count("rate", rate)}})
	return m, err
}

// filters adds filters to a link until a packet takes so many nanoseconds, and returns their number.
func filters(s *scene.Scene, l *scene.Link, address string, want int) (n int, err error) {
	const first, most = 1000, 40_000
	bare := 0
	for n < most {
		cost, err := scene.Answer(s, l.Space, "toll", "--to", address)
		switch {
		case err != nil:
			return 0, err
		case cost >= want:
			return n, nil
		case n == 0:
			bare, n = cost, first
		default: // as many as are missing, and at most as many as there are
			n += min(n, max(first/4, n*(want-cost)/max(cost-bare, 1)))
		}
		if err := l.Rules(s, n); err != nil {
			return 0, err
		}
	}
	return n, nil
}

func cache(s *scene.Scene) (*scene.Meter, error) {
	caches, err := scene.HostCaches()
	if err != nil {
		return nil, err
	}
	threads := min(max(runtime.NumCPU()-1, 1), 8)
	report := []string{count("threads", threads), count("stream", max(2*caches.Last/threads>>20, 64))}
	kibibytes, err := s.Kept.Number("the size of the index", func() (int, error) {
		least, most := float64(caches.Own)*1.5/(1<<20), caches.Last/2>>20
		return scene.Answer(s, "", append([]string{"survey", fmt.Sprintf("--size=%g", least), count("limit", most)}, report...)...)
	})
	if err != nil {
		return nil, err
	}
	m, err := scene.Figures(s.Part("index", scene.Command{Argv: []string{"lookup", fmt.Sprintf("--size=%g", float64(kibibytes*s.Between(90, 110))/102_400)}, Reads: scene.Ours}))
	if err == nil && s.Made {
		_, err = s.Part("report", scene.Command{Argv: append([]string{"thrash"}, report...)})
	}
	return m, err
}

func clientLimit(s *scene.Scene) (*scene.Meter, error) {
	address, _, err := nginx(s, web{workers: 4, connections: 1024})
	if err != nil {
		return nil, err
	}
	return client(s, "http://"+address, scene.Command{}, count("connections", s.Between(16, 64)), count("threads", scene.Either(s, 1, 3)))
}

func lock(s *scene.Scene) (*scene.Meter, error) {
	micro := s.Between(300, 900)
	hold := scene.Either(s, micro*s.Between(8, 10)/10, 0)
	address, err := server(s, scene.Command{}, count("threads", s.Between(12, 32)), fmt.Sprintf("--work=%dus", micro), fmt.Sprintf("--hold=%dus", hold))
	if err != nil {
		return nil, err
	}
	return client(s, "line://"+address, scene.Command{}, count("connections", s.Between(24, 48)))
}

func rows(s *scene.Scene) (*scene.Meter, error) {
	return updates(s, scene.Either(s, 1, 100_000), s.Between(1, 5), "")
}

// updates has PostgreSQL sessions each update one of so many rows, and hold its lock for some milliseconds, in
// transactions with a first statement where one is given.
func updates(s *scene.Scene, rows, milli int, first string) (*scene.Meter, error) {
	port, _, err := postgresql(s, database{scale: 1, settings: []string{"fsync=off"}})
	if err != nil {
		return nil, err
	}
	script := fmt.Sprintf("\\set aid random(1, %d)\nbegin;\n%supdate pgbench_accounts set abalance = abalance + 1 where aid = :aid;\n\\sleep %d ms\ncommit;\n", rows, first, milli)
	return pgbench(s, "127.0.0.1:"+port, script, "-c", fmt.Sprint(s.Between(12, 32)))
}

func oneWorker(s *scene.Scene) (*scene.Meter, error) {
	address, _, err := nginx(s, web{workers: scene.Either(s, 1, 3), connections: 1024, kibibytes: s.Between(16, 64), gzip: true})
	if err != nil {
		return nil, err
	}
	return client(s, "http://"+address, scene.Command{}, count("connections", s.Between(16, 64)))
}

func hotThread(s *scene.Scene) (*scene.Meter, error) {
	address, _, err := redis(s, scene.Command{})
	if err != nil {
		return nil, err
	}
	return client(s, "redis://"+address, scene.Command{}, count("connections", s.Between(16, 48)), count("threads", 2), "--heavy", count("rate", scene.Either(s, 0, 300)))
}

func tooMany(s *scene.Scene) (*scene.Meter, error) {
	threads := runtime.NumCPU() * scene.Either(s, s.Between(3, 8), 1)
	return scene.Figures(s.Part("simulate", scene.Command{Argv: []string{"phases", count("threads", threads), fmt.Sprintf("--work=%dus", s.Between(1000, 3000))}, Reads: scene.Ours}))
}

func saturated(s *scene.Scene) (*scene.Meter, error) {
	micro := s.Between(500, 1500)
	address, err := server(s, scene.Command{}, count("threads", runtime.NumCPU()), fmt.Sprintf("--work=%dus", micro))
	if err != nil {
		return nil, err
	}
	rate := runtime.NumCPU() * 200_000 / micro * scene.Either(s, s.Between(6, 8), 1)
	return client(s, "line://"+address, scene.Command{}, count("connections", s.Between(24, 64)), count("rate", rate))
}
