package causes

import (
	"runtime"
	"time"

	"plimsoll/bench/causes/scene"
)

func milliseconds(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// healthy are hosts without trouble.
func healthy() []cause {
	return []cause{
		{name: "idle", about: "a host without a workload", metric: rate(), make: func(*scene.Scene) (*scene.Meter, error) { return nil, nil }},
		{name: "easy-web", about: "nginx at an easy rate", metric: rate(), make: easyWeb},
		{name: "easy-cache", about: "Redis at an easy rate", metric: rate(), make: easyCache},
		{name: "easy-disk", about: "a few direct reads per second", metric: rate(), make: easyDisk},
		{name: "busy", about: "a build on all CPUs, and nothing else", rules: []string{"cpu_saturated", "noisy_neighbour"}, names: []string{"build"}, only: true, metric: rate(), make: busy},
	}
}

func easyWeb(s *scene.Scene) (*scene.Meter, error) {
	address, _, err := nginx(s, web{workers: 4, connections: 1024, kibibytes: s.Between(1, 16)})
	if err != nil {
		return nil, err
	}
	return client(s, "http://"+address, scene.Command{}, count("connections", s.Between(16, 64)), count("rate", s.Between(500, 2000)))
}

func easyCache(s *scene.Scene) (*scene.Meter, error) {
	address, _, err := redis(s, scene.Command{})
	if err != nil {
		return nil, err
	}
	return client(s, "redis://"+address, scene.Command{}, count("connections", s.Between(8, 32)), count("rate", s.Between(500, 2000)))
}

func easyDisk(s *scene.Scene) (*scene.Meter, error) {
	return fioOnFile(s, s.Between(128, 256), "--rw=randread", "--bs=8k", "--direct=1", "--ioengine=psync", count("rate_iops", s.Between(100, 400)))
}

func busy(s *scene.Scene) (*scene.Meter, error) {
	_, err := s.Part("build", scene.Command{Argv: []string{"burn", count("threads", runtime.NumCPU()+s.Between(1, 4))}})
	return nil, err
}
