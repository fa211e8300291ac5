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
	l, err := s.Link(scene.Path{Delay: milliseconds(s.Between(2, 8)), Loss: scene.Either(s, s.Between(20, 60), 0)})
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
	l, err := s.Link(scene.Path{Delay: scene.Either(s, milliseconds(s.Between(10, 30)), 0)})
	if err != nil {
		return nil, err
	}
	address, err := distant(s, l)
	if err != nil {
		return nil, err
	}
	return client(s, "line://"+address, scene.Command{}, count("connections", s.Between(1, 4)))
}

func bufferbloat(s *scene.Scene) (*scene.Meter, error) {
	p := scene.Path{Delay: milliseconds(s.Between(2, 6)), Rate: s.Between(5, 12) << 20, Queue: scene.Either(s, s.Between(2000, 4000), 24)}
	l, err := s.Link(p)
	if err != nil {
		return nil, err
	}
	address, err := distant(s, l)
	if err != nil {
		return nil, err
	}
	if _, err := upload(s, l, count("connections", s.Between(1, 3))); err != nil {
		return nil, err
	}
	return client(s, "line://"+address, scene.Command{}, count("connections", s.Between(2, 6)), count("rate", s.Between(20, 60)))
}

func buffers(s *scene.Scene) (*scene.Meter, error) {
	l, err := s.Link(scene.Path{Delay: milliseconds(s.Between(5, 15))})
	if err != nil {
		return nil, err
	}
	return upload(s, l, count("connections", s.Between(1, 3)), count("buffer", scene.Either(s, s.Between(4, 16)<<10, 0)))
}

// distant is the address of a server of ours at the far end of a link.
func distant(s *scene.Scene, l *scene.Link) (address string, err error) {
	address = l.Far + ":7000"
	p, err := s.Part("shop", scene.Command{Net: l.Space, Argv: []string{"serve", "--listen", address, count("threads", 2), "--work=100us"}})
	if err != nil {
		return "", err
	}
	return address, s.Listening(p, address)
}

// upload sends over a link to a receiver at its far end.
func upload(s *scene.Scene, l *scene.Link, more ...string) (*scene.Meter, error) {
	address := l.Far + ":7001"
	p, err := s.Part("mirror", scene.Command{Net: l.Space, Argv: []string{"receive", "--listen", address}})
	if err != nil {
		return nil, err
	}
	if err := s.Listening(p, address); err != nil {
		return nil, err
	}
	argv := append([]string{"send", "--to", address, "--cubic"}, more...)
	return scene.Figures(s.Part("upload", scene.Command{Argv: argv, Reads: scene.Ours}))
}

func listenQueue(s *scene.Scene) (*scene.Meter, error) {
	address, err := server(s, scene.Command{}, count("threads", 2), "--work=200us", "--short", count("backlog", scene.Either(s, 1, 1024)))
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
	return crowded(s, web{workers: 2, connections: scene.Either(s, s.Between(32, 48), 1024)})
}

func files(s *scene.Scene) (*scene.Meter, error) {
	return crowded(s, web{workers: 2, connections: 1024, files: scene.Either(s, s.Between(40, 60), 0)})
}
