package causes

import (
	"plimsoll/bench/causes/scene"
)

func ofNetworks() []cause {
	return []cause{
		{
			name: "loss", about: "downloads from nginx over a link that loses packets",
			rules: []string{"tcp_retransmits"}, change: []string{"loss", "lose", "drop", "cable", "link", "bbr", "congestion"}, metric: latency(), bites: 1.5, make: loss,
		},
		{
			name: "delay", about: "a client that waits for each answer, far from its server",
			rules: []string{"network_delay"}, change: []string{"close", "near", "pipelin", "batch", "round trip", "connections", "concurren"}, metric: rate(), bites: 3, make: delay,
		},
		{
			name: "bufferbloat", about: "requests behind a transfer that fills the long queue of a slow device",
			rules: []string{"bufferbloat"}, change: []string{"fq", "codel", "cake", "queue", "qdisc", "limit", "bbr"}, metric: latency(), bites: 3, make: bufferbloat,
		},
		{
			name: "buffers", about: "a transfer over a long link with small socket buffers",
			rules: []string{"socket_buffers"}, change: []string{"tcp_wmem", "tcp_rmem", "wmem", "rmem", "SO_SNDBUF", "SO_RCVBUF", "buffer"}, metric: rate(), bites: 2, make: buffers,
		},
		{
			name: "listen-queue", about: "a server with a listen queue of 1 under short connections",
			rules: []string{"listen_queue"}, change: []string{"backlog", "somaxconn"}, metric: slowest(), bites: 3, make: listenQueue,
		},
		{
			name: "connections", about: "nginx with fewer worker_connections than there are clients",
			rules: []string{"connection_limit"}, change: []string{"worker_connections"}, metric: failures(), bites: 2, make: connections,
		},
		{
			name: "files", about: "nginx whose limit of open files is lower than the number of clients",
			rules: []string{"file_limit"}, change: []string{"nofile", "NOFILE", "ulimit"}, metric: failures(), bites: 2, make: files,
		},
	}
}

func loss(s *scene.Scene) (*scene.Meter, error) {
	p := scene.Path{Delay: milliseconds(s.Between(2, 8))}
	if s.Made {
		p.Loss = s.Between(20, 60)
	}
	l, err := s.Link(p)
	if err != nil {
		return nil, err
	}
	address, _, err := nginx(s, web{workers: 2, connections: 512, kibibytes: s.Between(128, 512), listen: l.Near})
	if err != nil {
		return nil, err
	}
	return client(s, "http://"+address, scene.Command{Net: l.Space}, count("connections", s.Between(4, 12)), count("rate", s.Between(10, 30)))
}

func delay(s *scene.Scene) (*scene.Meter, error) {
	p := scene.Path{}
	if s.Made {
		p.Delay = milliseconds(s.Between(10, 30))
	}
	l, err := s.Link(p)
	if err != nil {
		return nil, err
	}
	address := l.Far + ":7000"
	if _, err := s.Part("shop", scene.Command{Net: l.Space, Argv: []string{"serve", "--listen", address, count("threads", 2), "--work=100us"}}); err != nil {
		return nil, err
	}
	return client(s, "line://"+address, scene.Command{}, count("connections", s.Between(1, 4)))
}

func bufferbloat(s *scene.Scene) (*scene.Meter, error) {
	p := scene.Path{Delay: milliseconds(s.Between(2, 6)), Rate: s.Between(5, 12) << 20, Queue: 24}
	if s.Made {
		p.Queue = s.Between(2000, 4000)
	}
	l, err := s.Link(p)
	if err != nil {
		return nil, err
	}
	far := l.Far + ":7001"
	if _, err := s.Part("mirror", scene.Command{Net: l.Space, Argv: []string{"receive", "--listen", far}}); err != nil {
		return nil, err
	}
	address := l.Far + ":7000"
	if _, err := s.Part("shop", scene.Command{Net: l.Space, Argv: []string{"serve", "--listen", address, count("threads", 2), "--work=100us"}}); err != nil {
		return nil, err
	}
	if err := s.Pause(warm / 4); err != nil {
		return nil, err
	}
	if _, err := s.Part("upload", scene.Command{Argv: []string{"send", "--to", far, "--cubic", count("connections", s.Between(1, 3))}}); err != nil {
		return nil, err
	}
	return client(s, "line://"+address, scene.Command{}, count("connections", s.Between(2, 6)), count("rate", s.Between(20, 60)))
}

func buffers(s *scene.Scene) (*scene.Meter, error) {
	l, err := s.Link(scene.Path{Delay: milliseconds(s.Between(5, 15))})
	if err != nil {
		return nil, err
	}
	address := l.Far + ":7001"
	if _, err := s.Part("mirror", scene.Command{Net: l.Space, Argv: []string{"receive", "--listen", address}}); err != nil {
		return nil, err
	}
	if err := s.Pause(warm / 4); err != nil {
		return nil, err
	}
	argv := []string{"send", "--to", address, "--cubic", count("connections", s.Between(1, 3))}
	if s.Made {
		argv = append(argv, count("buffer", s.Between(4, 16)<<10))
	}
	p, err := s.Part("upload", scene.Command{Argv: argv, Reads: scene.Ours})
	if err != nil {
		return nil, err
	}
	return p.Meter, nil
}

func listenQueue(s *scene.Scene) (*scene.Meter, error) {
	backlog := 1024
	if s.Made {
		backlog = 1
	}
	address, _, err := server(s, "shop", scene.Command{}, count("threads", 2), "--work=200us", "--short", count("backlog", backlog))
	if err != nil {
		return nil, err
	}
	return client(s, "line://"+address, scene.Command{}, "--short", count("connections", s.Between(64, 128)), count("rate", s.Between(400, 1200)), "--burst")
}

// crowded has more clients at an nginx than it can have connections or files.
func crowded(s *scene.Scene, w web) (*scene.Meter, error) {
	address, _, err := nginx(s, w)
	if err != nil {
		return nil, err
	}
	clients := s.Between(150, 300)
	return client(s, "http://"+address, scene.Command{}, count("connections", clients), count("rate", clients*s.Between(4, 10)))
}

func connections(s *scene.Scene) (*scene.Meter, error) {
	w := web{workers: 2, connections: 1024}
	if s.Made {
		w.connections = s.Between(32, 48)
	}
	return crowded(s, w)
}

func files(s *scene.Scene) (*scene.Meter, error) {
	w := web{workers: 2, connections: 1024}
	if s.Made {
		w.files = s.Between(40, 60)
	}
	return crowded(s, w)
}
