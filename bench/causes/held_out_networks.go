package causes

import (
	"fmt"

	"plimsoll/bench/causes/scene"
)

func uploadLoss(s *scene.Scene) (*scene.Meter, error) {
	l, err := s.Link(scene.Path{Delay: milliseconds(s.Between(2, 6)), Loss: scene.Either(s, s.Between(10, 30), 0)})
	if err != nil {
		return nil, err
	}
	return upload(s, l, count("connections", s.Between(1, 4)), count("rate", 20<<20))
}

func maxClients(s *scene.Scene) (*scene.Meter, error) {
	settings := []string{}
	if s.Made {
		settings = []string{"--maxclients", fmt.Sprint(s.Between(16, 32))}
	}
	address, _, err := redis(s, scene.Command{}, settings...)
	if err != nil {
		return nil, err
	}
	clients := s.Between(80, 160)
	return client(s, "redis://"+address, scene.Command{}, count("connections", clients), count("rate", clients*s.Between(4, 10)))
}

func farCache(s *scene.Scene) (*scene.Meter, error) {
	l, err := s.Link(scene.Path{Delay: scene.Either(s, milliseconds(s.Between(8, 25)), 0)})
	if err != nil {
		return nil, err
	}
	address, _, err := redisAt(s, l.Far, scene.Command{Net: l.Space})
	if err != nil {
		return nil, err
	}
	return client(s, "redis://"+address, scene.Command{}, count("connections", s.Between(1, 6)))
}

func smallWmem(s *scene.Scene) (*scene.Meter, error) {
	l, err := s.Link(scene.Path{Delay: milliseconds(s.Between(10, 20))})
	if err != nil {
		return nil, err
	}
	if s.Made {
		if err := s.Set("/proc/sys/net/ipv4/tcp_wmem", "4096 8192 16384"); err != nil {
			return nil, err
		}
	}
	address, _, err := nginx(s, web{workers: 2, connections: 512, kibibytes: s.Between(512, 2048), listen: l.Near})
	if err != nil {
		return nil, err
	}
	return client(s, "http://"+address, scene.Command{Net: l.Space}, count("connections", s.Between(2, 6)))
}

func pythonBacklog(s *scene.Scene) (*scene.Meter, error) {
	address, err := forked(s, 8, scene.Either(s, 1, 1024), 1)
	if err != nil {
		return nil, err
	}
	return client(s, "line://"+address, scene.Command{}, "--short", "--burst", count("connections", s.Between(64, 128)), count("rate", s.Between(300, 600)))
}

func easyDatabase(s *scene.Scene) (*scene.Meter, error) {
	port, _, err := postgresql(s, database{scale: s.Between(1, 4)})
	if err != nil {
		return nil, err
	}
	return pgbench(s, "127.0.0.1:"+port, "", "-c", "4", "-R", fmt.Sprint(s.Between(20, 60)))
}

func easyFar(s *scene.Scene) (*scene.Meter, error) {
	l, err := s.Link(scene.Path{Delay: 200_000})
	if err != nil {
		return nil, err
	}
	address, _, err := nginx(s, web{workers: 2, connections: 512, kibibytes: s.Between(4, 32), listen: l.Near})
	if err != nil {
		return nil, err
	}
	return client(s, "http://"+address, scene.Command{Net: l.Space}, count("connections", 8), count("rate", s.Between(50, 300)))
}
