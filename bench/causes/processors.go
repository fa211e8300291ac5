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
	w := web{workers: s.Between(2, 4), connections: 1024, kibibytes: s.Between(16, 64), gzip: true}
	if s.Made {
		w.in.CPUs = fmt.Sprint(s.Between(0, runtime.NumCPU()-1))
	}
	address, _, err := nginx(s, w)
	if err != nil {
		return nil, err
	}
	return client(s, "http://"+address, scene.Command{}, count("connections", s.Between(16, 64)))
}

func cpuset(s *scene.Scene) (*scene.Meter, error) {
	micro := s.Between(200, 600)
	in := scene.Command{}
	if s.Made {
		g, err := s.Group("causes-shop", "cpuset")
		if err != nil {
			return nil, err
		}
		if err := g.CPUs(fmt.Sprint(s.Between(0, runtime.NumCPU()-1))); err != nil {
			return nil, err
		}
		in.Group = g
	}
	address, _, err := server(s, "shop", in, count("threads", 4), fmt.Sprintf("--work=%dus", micro))
	if err != nil {
		return nil, err
	}
	return client(s, "line://"+address, scene.Command{}, count("connections", s.Between(6, 24)), fmt.Sprintf("--rate=%d", 1_600_000/micro))
}

func quota(s *scene.Scene) (*scene.Meter, error) {
	w := web{workers: 2, connections: 1024, kibibytes: s.Between(1, 16)}
	if s.Made {
		g, err := s.Group("causes-web", "cpu")
		if err != nil {
			return nil, err
		}
		if err := g.Quota(s.Between(10, 25)); err != nil {
			return nil, err
		}
		w.in.Group = g
	}
	address, _, err := nginx(s, w)
	if err != nil {
		return nil, err
	}
	return client(s, "http://"+address, scene.Command{}, count("connections", s.Between(16, 64)), fmt.Sprintf("--rate=%d", s.Between(20_000, 30_000)))
}

func hog(s *scene.Scene) (*scene.Meter, error) {
	address, _, err := redis(s, scene.Command{})
	if err != nil {
		return nil, err
	}
	if s.Made {
		if _, err := s.Part("batch", scene.Command{Argv: []string{"burn", count("threads", s.Between(2, 4)*runtime.NumCPU())}}); err != nil {
			return nil, err
		}
	}
	return client(s, "redis://"+address, scene.Command{}, count("connections", s.Between(8, 32)), fmt.Sprintf("--rate=%d", s.Between(8_000, 16_000)))
}

func stall(s *scene.Scene) (*scene.Meter, error) {
	address, p, err := redis(s, scene.Command{})
	if err != nil {
		return nil, err
	}
	if s.Made {
		p.Stall(s, milliseconds(s.Between(4000, 6000)), milliseconds(s.Between(400, 900)))
	}
	return client(s, "redis://"+address, scene.Command{}, count("connections", s.Between(8, 32)), fmt.Sprintf("--rate=%d", s.Between(2_000, 6_000)))
}

func softirq(s *scene.Scene) (*scene.Meter, error) {
	l, err := s.Wire()
	if err != nil {
		return nil, err
	}
	if err := l.Rules(s, 3000); err != nil {
		return nil, err
	}
	if s.Made {
		if err := l.Steer(s.Between(0, runtime.NumCPU()-1)); err != nil {
			return nil, err
		}
	}
	address := l.Near + ":8125"
	p, err := s.Part("metrics", scene.Command{Argv: []string{"collect", "--listen", address, count("threads", 2)}, Reads: scene.Ours})
	if err != nil {
		return nil, err
	}
	_, err = s.Part("agents", scene.Command{Net: l.Space, Argv: []string{"packets", "--to", address, count("threads", 4), count("rate", s.Between(120_000, 160_000))}})
	return p.Meter, err
}

func cache(s *scene.Scene) (*scene.Meter, error) {
	p, err := s.Part("index", scene.Command{Argv: []string{"lookup", count("size", s.Between(8, 20))}, Reads: scene.Ours})
	if err != nil {
		return nil, err
	}
	if s.Made {
		if _, err := s.Part("report", scene.Command{Argv: []string{"thrash", count("size", 512), count("threads", s.Between(2, 3))}}); err != nil {
			return nil, err
		}
	}
	return p.Meter, nil
}

func clientLimit(s *scene.Scene) (*scene.Meter, error) {
	address, _, err := nginx(s, web{workers: 4, connections: 1024})
	if err != nil {
		return nil, err
	}
	threads := 3
	if s.Made {
		threads = 1
	}
	return client(s, "http://"+address, scene.Command{}, count("connections", s.Between(16, 64)), count("threads", threads))
}

func lock(s *scene.Scene) (*scene.Meter, error) {
	micro := s.Between(50, 200)
	hold := 0
	if s.Made {
		hold = micro * s.Between(8, 10) / 10
	}
	address, _, err := server(s, "shop", scene.Command{}, count("threads", s.Between(12, 32)), fmt.Sprintf("--work=%dus", micro), fmt.Sprintf("--hold=%dus", hold))
	if err != nil {
		return nil, err
	}
	return client(s, "line://"+address, scene.Command{}, count("connections", s.Between(24, 48)))
}

func rows(s *scene.Scene) (*scene.Meter, error) {
	port, _, err := postgresql(s, database{scale: 1, settings: []string{"fsync=off"}})
	if err != nil {
		return nil, err
	}
	last := 100_000
	if s.Made {
		last = 1
	}
	script := fmt.Sprintf("\\set aid random(1, %d)\nbegin;\nupdate pgbench_accounts set abalance = abalance + 1 where aid = :aid;\n\\sleep %d ms\ncommit;\n", last, s.Between(1, 5))
	return pgbench(s, "127.0.0.1:"+port, script, "-c", fmt.Sprint(s.Between(12, 32)))
}

func oneWorker(s *scene.Scene) (*scene.Meter, error) {
	w := web{workers: 3, connections: 1024, kibibytes: s.Between(16, 64), gzip: true}
	if s.Made {
		w.workers = 1
	}
	address, _, err := nginx(s, w)
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
	argv := []string{count("connections", s.Between(16, 48)), count("threads", 2), "--heavy"}
	if !s.Made {
		argv = append(argv, "--rate=1000")
	}
	return client(s, "redis://"+address, scene.Command{}, argv...)
}

func tooMany(s *scene.Scene) (*scene.Meter, error) {
	threads := runtime.NumCPU()
	if s.Made {
		threads *= s.Between(3, 8)
	}
	p, err := s.Part("simulate", scene.Command{Argv: []string{"phases", count("threads", threads), fmt.Sprintf("--work=%dus", s.Between(1000, 3000))}, Reads: scene.Ours})
	if err != nil {
		return nil, err
	}
	return p.Meter, nil
}

func saturated(s *scene.Scene) (*scene.Meter, error) {
	micro := s.Between(500, 1500)
	address, _, err := server(s, "shop", scene.Command{}, count("threads", runtime.NumCPU()), fmt.Sprintf("--work=%dus", micro))
	if err != nil {
		return nil, err
	}
	rate := runtime.NumCPU() * 200_000 / micro
	if s.Made {
		rate *= s.Between(6, 8)
	}
	return client(s, "line://"+address, scene.Command{}, count("connections", s.Between(24, 64)), count("rate", rate))
}
