package causes

import (
	"fmt"

	"plimsoll/bench/causes/scene"
)

func ofMemory() []cause {
	return []cause{
		{
			name: "memory-limit", about: "a service that reads files, in a control group with less memory than they have",
			rules: []string{"memory_limit", "memory_reclaim"}, change: limits(), metric: rate(), bites: 2, make: memoryLimit,
		},
		{
			name: "swap", about: "a service whose memory is larger than its control group's, and swap in compressed memory",
			rules: []string{"swapping", "memory_limit"}, change: append(limits(), "swap"), metric: latency(), bites: 2, make: swap,
		},
		{
			name: "killed", about: "a service that reads files, beside a job in its control group that outgrows the limit repeatedly",
			rules: []string{"out_of_memory"}, change: limits(), metric: rate(), bites: 1.3, make: killed,
		},
		{
			name: "working-set", about: "PostgreSQL with tables larger than the memory of its control group",
			rules: []string{"memory_limit", "memory_reclaim"}, change: limits(), metric: rate(), bites: 1.3, make: workingSet,
		},
		{
			name: "huge-pages", about: "random access to a large heap, without huge pages",
			rules: []string{"huge_pages"}, change: []string{"transparent_hugepage", "huge page", "hugepage"}, metric: rate(), bites: 1.15, make: hugePages,
		},
	}
}

func limits() []string { return []string{"memory.max", "memory.limit_in_bytes", "MemoryMax"} }

// inMemory is a control group with so many MiB, where the cause is made.
func inMemory(s *scene.Scene, mebibytes int) (*scene.Group, error) {
	return scene.Confined(s, "causes-memory", "memory", func(g *scene.Group) error { return g.Memory(mebibytes << 20) })
}

func memoryLimit(s *scene.Scene) (*scene.Meter, error) {
	size := s.Between(192, 384)
	file, err := s.File("catalogue", size)
	if err != nil {
		return nil, err
	}
	in := scene.Command{Argv: []string{"pages", "--file", file, count("size", size), count("threads", s.Between(1, 3))}, Reads: scene.Ours}
	if in.Group, err = inMemory(s, s.Between(48, 96)); err != nil {
		return nil, err
	}
	return scene.Figures(s.Part("search", in))
}

func killed(s *scene.Scene) (*scene.Meter, error) {
	size := s.Between(64, 96)
	file, err := s.File("catalogue", size)
	if err != nil {
		return nil, err
	}
	g, err := inMemory(s, size+s.Between(64, 128))
	if err != nil {
		return nil, err
	}
	if s.Made {
		job := fmt.Sprintf("while :; do tail /dev/zero; sleep 0.%d; done", s.Between(2, 9)) // keeps the line that never ends
		if _, err := s.Start(scene.Command{Argv: []string{"sh", "-c", job}, Group: g}); err != nil {
			return nil, err
		}
	}
	in := scene.Command{Argv: []string{"pages", "--file", file, count("size", size), count("threads", s.Between(1, 2))}, Group: g, Reads: scene.Ours}
	return scene.Figures(s.Part("search", in))
}

func swap(s *scene.Scene) (*scene.Meter, error) {
	size := s.Between(256, 512)
	if s.Made {
		if err := s.Swap(2048); err != nil {
			return nil, err
		}
	}
	g, err := inMemory(s, size*3/4)
	if err != nil {
		return nil, err
	}
	argv := []string{"pages", count("size", size), count("threads", s.Between(1, 2)), fmt.Sprintf("--pause=%dus", s.Between(100, 300))}
	return scene.Figures(s.Part("sessions", scene.Command{Argv: argv, Group: g, Reads: scene.Ours}))
}

func workingSet(s *scene.Scene) (*scene.Meter, error) {
	d := database{scale: s.Between(12, 16), settings: []string{"shared_buffers=32MB"}}
	var err error
	if d.in.Group, err = inMemory(s, s.Between(72, 96)); err != nil {
		return nil, err
	}
	port, _, err := postgresql(s, d)
	if err != nil {
		return nil, err
	}
	return pgbench(s, "127.0.0.1:"+port, "", "-S", "-c", fmt.Sprint(s.Between(4, 8)))
}

func hugePages(s *scene.Scene) (*scene.Meter, error) {
	if s.Made {
		if err := s.Set("/sys/kernel/mm/transparent_hugepage/enabled", "never"); err != nil {
			return nil, err
		}
	}
	return scene.Figures(s.Part("index", scene.Command{Argv: []string{"lookup", count("size", s.Between(512, 1024)), count("threads", s.Between(1, 2))}, Reads: scene.Ours}))
}
