package causes

import (
	"fmt"
	"runtime"

	"plimsoll/bench/causes/scene"
)

func ofProcesses() []cause {
	return []cause{
		{
			name: "scripts", about: "a server beside scripts that start a program for each line",
			rules: []string{"short_lived_processes"}, change: []string{"long-running"}, names: []string{"sh ("}, metric: slowest(), bites: 2, make: scripts,
		},
		{
			name: "weight", about: "a server in a control group of little CPU weight, beside a computation",
			rules: []string{"noisy_neighbour"}, change: []string{"cpu.shares", "cpu.weight", "CPUWeight=100"}, metric: slowest(), bites: 1.5, make: weight,
		},
		{
			name: "reconnects", about: "PostgreSQL whose clients connect for each query",
			rules: []string{"short_lived_processes"}, change: []string{"pool"}, names: []string{"postgres"}, metric: rate(), bites: 2, make: reconnects,
		},
	}
}

func scripts(s *scene.Scene) (*scene.Meter, error) {
	micro := s.Between(200, 600)
	address, err := server(s, scene.Command{}, count("threads", runtime.NumCPU()), fmt.Sprintf("--work=%dus", micro))
	if err != nil {
		return nil, err
	}
	if s.Made {
		lines := []string{"date +%s", "grep -c root /etc/passwd", "expr 1 + 1", "cat /proc/loadavg"}
		script := fmt.Sprintf("while :; do %s >/dev/null; done", lines[s.Between(0, len(lines)-1)])
		for range s.Between(1, 3) * runtime.NumCPU() {
			if _, err := s.Start(scene.Command{Argv: []string{"sh", "-c", script}}); err != nil {
				return nil, err
			}
		}
	}
	return client(s, "line://"+address, scene.Command{}, count("connections", s.Between(8, 32)), count("rate", runtime.NumCPU()*200_000/micro))
}

func weight(s *scene.Scene) (*scene.Meter, error) {
	micro := s.Between(100, 400)
	g, err := scene.Confined(s, "causes-weight", "cpu", func(g *scene.Group) error { return g.Weight(s.Between(2, 10)) })
	if err != nil {
		return nil, err
	}
	address, err := server(s, scene.Command{Group: g}, count("threads", runtime.NumCPU()), fmt.Sprintf("--work=%dus", micro))
	if err != nil {
		return nil, err
	}
	if _, err := s.Part("batch", scene.Command{Argv: []string{"burn", count("threads", runtime.NumCPU())}}); err != nil {
		return nil, err
	}
	return client(s, "line://"+address, scene.Command{}, count("connections", s.Between(8, 32)), count("rate", runtime.NumCPU()*150_000/micro))
}

func reconnects(s *scene.Scene) (*scene.Meter, error) {
	port, _, err := postgresql(s, database{scale: 1})
	if err != nil {
		return nil, err
	}
	sessions := []string{"-S", "-c", fmt.Sprint(s.Between(4, 16))}
	if s.Made {
		sessions = append(sessions, "-C")
	}
	return pgbench(s, "127.0.0.1:"+port, "", sessions...)
}
