package causes

import (
	"fmt"
	"os"
	"runtime"
	"slices"

	"plimsoll/bench/causes/scene"
)

// heldOut are causes that no rule was tuned on. Who writes rules neither reads nor runs them.
func heldOut() []cause {
	return slices.Concat(otherProcessors(), otherMemory(), otherStorage(), otherNetworks())
}

func otherProcessors() []cause {
	return []cause{
		{
			name: "database-affinity", about: "PostgreSQL with all its processes bound to one CPU",
			rules: []string{"cpu_affinity", "cpuset_too_small"}, change: []string{"taskset", "affinity", "Affinity"}, metric: rate(), bites: 1.3, make: databaseAffinity,
		},
		{
			name: "cache-quota", about: "Memcached with a CPU quota below its demand",
			rules: []string{"cpu_quota"}, change: []string{"cfs_quota", "cpu.max", "CPUQuota"}, metric: slowest(), bites: 3, make: cacheQuota,
		},
		{
			name: "encoder", about: "nginx beside an encoder on all CPUs",
			rules: []string{"noisy_neighbour"}, change: []string{"nice", "weight", "Weight", "shares", "cpuset", "AllowedCPUs", "taskset", "move", "Move"}, names: []string{"encoder"}, metric: rate(), bites: 1.3, make: encoder,
		},
		{
			name: "table-lock", about: "PostgreSQL sessions that lock the same table in turn",
			rules: []string{"lock_convoy"}, change: []string{"lock"}, names: []string{"postgres"}, metric: rate(), bites: 2, make: tableLock,
		},
		{
			name: "few-workers", about: "a server of two processes that wait for something else in each request",
			rules: []string{"too_few_workers", "listen_queue"}, change: []string{"worker", "process"}, metric: latency(), bites: 3, make: fewWorkers,
		},
		{
			name: "web-stall", about: "nginx that stops for a while every few seconds",
			rules: []string{"periodic_stall"}, change: []string{"period", "every", "timer", "cron", "snapshot", "trace", "stop"}, metric: slowest(), bites: 3, make: webStall,
		},
		{
			name: "python-thread", about: "a server in Python whose one thread is at its limit",
			rules: []string{"hot_thread", "too_few_workers"}, change: []string{"thread", "worker", "process", "instance", "shard", "faster"}, names: []string{"report", "python"}, metric: latency(), bites: 2, make: pythonThread,
		},
	}
}

func otherMemory() []cause {
	return []cause{
		{
			name: "cache-swap", about: "Redis with more data than its control group has memory, and swap",
			rules: []string{"swapping", "memory_limit"}, change: append(limits(), "swap"), metric: rate(), bites: 1.5, make: cacheSwap,
		},
		{
			name: "mapped-file", about: "a program in Python that maps a file, in a control group with less memory",
			rules: []string{"memory_limit", "memory_reclaim"}, change: limits(), metric: rate(), bites: 2, make: mappedFile,
		},
		{
			name: "default-pages", about: "random access to a large block that does not ask for huge pages",
			rules: []string{"huge_pages"}, change: []string{"transparent_hugepage", "huge page", "hugepage"}, metric: rate(), bites: 1.1, make: defaultPages,
		},
	}
}

func otherStorage() []cause {
	return []cause{
		{
			name: "append-fsync", about: "Redis that forces each write to the disk",
			rules: []string{"fsync_storm"}, change: []string{"appendfsync", "everysec", "group", "batch", "sync"}, metric: rate(), bites: 1.5, make: appendFsync,
		},
		{
			name: "wal-throttle", about: "PostgreSQL in a control group with a limit on writes per second",
			rules: []string{"io_throttle"}, change: []string{"blkio.throttle", "io.max", "IOWriteIOPSMax"}, metric: rate(), bites: 2, make: walThrottle,
		},
		{
			name: "file-scan", about: "a program in Python that reads a file on a device without read-ahead",
			rules: []string{"read_ahead"}, change: []string{"read_ahead_kb", "setra"}, metric: rate(), bites: 1.5, make: fileScan,
		},
		{
			name: "one-writer", about: "a single direct writer on a device that takes many writes at once",
			rules: []string{"queue_depth_low"}, change: []string{"iodepth", "depth", "outstanding", "concurren", "parallel"}, metric: rate(), bites: 1.5, make: oneWriter,
		},
	}
}

func otherNetworks() []cause {
	return []cause{
		{
			name: "upload-loss", about: "an upload over a link that loses packets",
			rules: []string{"tcp_retransmits"}, change: []string{"loss", "lose", "drop", "cable", "link", "bbr", "congestion"}, metric: rate(), bites: 2, make: uploadLoss,
		},
		{
			name: "maxclients", about: "Redis with fewer maxclients than there are clients",
			rules: []string{"connection_limit"}, change: []string{"maxclients"}, metric: failures(), bites: 2, make: maxClients,
		},
		{
			name: "far-cache", about: "a client that waits for each answer of a distant Redis",
			rules: []string{"network_delay"}, change: []string{"close", "near", "pipelin", "batch", "round trip", "connections", "concurren"}, metric: rate(), bites: 3, make: farCache,
		},
		{
			name: "small-wmem", about: "downloads from nginx over a long link with a small tcp_wmem",
			rules: []string{"socket_buffers"}, change: []string{"tcp_wmem", "wmem"}, metric: latency(), bites: 2, make: smallWmem,
		},
		{
			name: "python-backlog", about: "a server in Python that listens with a queue of 1",
			rules: []string{"listen_queue"}, change: []string{"backlog", "somaxconn"}, metric: slowest(), bites: 3, make: pythonBacklog,
		},
		{name: "easy-database", about: "PostgreSQL at an easy rate", metric: rate(), make: easyDatabase},
		{name: "easy-far", about: "nginx at an easy rate over a good link", metric: rate(), make: easyFar},
	}
}

func databaseAffinity(s *scene.Scene) (*scene.Meter, error) {
	d := database{scale: s.Between(1, 4)}
	if s.Made {
		d.in.CPUs = fmt.Sprint(s.Between(0, runtime.NumCPU()-1))
	}
	port, _, err := postgresql(s, d)
	if err != nil {
		return nil, err
	}
	return pgbench(s, "127.0.0.1:"+port, "select sum(abalance), count(*) from pgbench_accounts where aid < 3000;\n", "-c", fmt.Sprint(s.Between(6, 16)))
}

func cacheQuota(s *scene.Scene) (*scene.Meter, error) {
	in := scene.Command{}
	if s.Made {
		g, err := s.Group("causes-sessions", "cpu")
		if err != nil {
			return nil, err
		}
		if err := g.Quota(s.Between(5, 9)); err != nil {
			return nil, err
		}
		in.Group = g
	}
	address, _, err := memcached(s, 4, in)
	if err != nil {
		return nil, err
	}
	return client(s, "memcached://"+address, scene.Command{}, count("connections", s.Between(16, 64)), count("rate", s.Between(22_000, 30_000)), count("threads", 2))
}

func encoder(s *scene.Scene) (*scene.Meter, error) {
	address, _, err := nginx(s, web{workers: 3, connections: 1024, kibibytes: s.Between(16, 64), gzip: true})
	if err != nil {
		return nil, err
	}
	if s.Made {
		if _, err := s.Part("encoder", scene.Command{Argv: []string{"burn", count("threads", s.Between(2, 3)*runtime.NumCPU())}}); err != nil {
			return nil, err
		}
	}
	return client(s, "http://"+address, scene.Command{}, count("connections", s.Between(8, 24)))
}

func tableLock(s *scene.Scene) (*scene.Meter, error) {
	port, _, err := postgresql(s, database{scale: 1, settings: []string{"fsync=off"}})
	if err != nil {
		return nil, err
	}
	script := fmt.Sprintf("\\set aid random(1, 100000)\nbegin;\nupdate pgbench_accounts set abalance = abalance + 1 where aid = :aid;\n\\sleep %d ms\ncommit;\n", s.Between(1, 4))
	if s.Made {
		script = "begin;\nlock table pgbench_history in exclusive mode;\n" + script[len("\\set aid random(1, 100000)\nbegin;\n"):]
		script = "\\set aid random(1, 100000)\n" + script
	}
	return pgbench(s, "127.0.0.1:"+port, script, "-c", fmt.Sprint(s.Between(12, 32)))
}

// python starts a script, under a name that the kernel shows.
func python(s *scene.Scene, name, text string, in scene.Command) (*scene.Process, error) {
	if err := os.WriteFile(s.Path(name+".py"), []byte(text), 0o644); err != nil {
		return nil, err
	}
	in.Argv = append([]string{"/usr/bin/python3", "-u", s.Path(name + ".py")}, in.Argv...)
	return s.Start(in)
}

// preforked is a server of processes that each accept a connection, answer its line and close it.
const preforked = `import os, socket, sys, time
port, processes, backlog, wait, rounds = (int(x) for x in sys.argv[1:])
l = socket.socket()
l.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
l.bind(("127.0.0.1", port))
l.listen(backlog)
for _ in range(processes - 1):
    if os.fork() == 0:
        break
while True:
    c, _ = l.accept()
    try:
        c.recv(100)
        time.sleep(wait / 1000)
        x = 0
        for i in range(rounds):
            x += i * i
        c.send(b"done\n")
    except OSError:
        pass
    c.close()
`

// forked starts it, with so many processes, a listen queue, and the milliseconds that a request waits.
func forked(s *scene.Scene, processes, backlog, wait int) (address string, err error) {
	port, err := scene.Port()
	if err != nil {
		return "", err
	}
	p, err := python(s, "shop", preforked, scene.Command{Argv: []string{fmt.Sprint(port), fmt.Sprint(processes), fmt.Sprint(backlog), fmt.Sprint(wait), "2000"}})
	if err != nil {
		return "", err
	}
	return scene.Local(port), s.Listening(p, scene.Local(port))
}

func fewWorkers(s *scene.Scene) (*scene.Meter, error) {
	wait, processes := s.Between(10, 30), 16
	if s.Made {
		processes = 2
	}
	address, err := forked(s, processes, 256, wait)
	if err != nil {
		return nil, err
	}
	return client(s, "line://"+address, scene.Command{}, "--short", count("connections", s.Between(24, 64)), count("rate", 4000/wait))
}

func pythonBacklog(s *scene.Scene) (*scene.Meter, error) {
	backlog := 1024
	if s.Made {
		backlog = 1
	}
	address, err := forked(s, 8, backlog, 1)
	if err != nil {
		return nil, err
	}
	return client(s, "line://"+address, scene.Command{}, "--short", "--burst", count("connections", s.Between(64, 128)), count("rate", s.Between(300, 600)))
}

func webStall(s *scene.Scene) (*scene.Meter, error) {
	address, p, err := nginx(s, web{workers: 2, connections: 1024, kibibytes: s.Between(1, 16)})
	if err != nil {
		return nil, err
	}
	if s.Made {
		p.Stall(s, milliseconds(s.Between(3000, 5000)), milliseconds(s.Between(300, 800)))
	}
	return client(s, "http://"+address, scene.Command{}, count("connections", s.Between(8, 32)), count("rate", s.Between(1000, 4000)))
}

func pythonThread(s *scene.Scene) (*scene.Meter, error) {
	port, err := scene.Port()
	if err != nil {
		return nil, err
	}
	const text = `import selectors, socket, sys
l = socket.socket()
l.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
l.bind(("127.0.0.1", int(sys.argv[1])))
l.listen(128)
ready = selectors.DefaultSelector()
ready.register(l, selectors.EVENT_READ)
while True:
    for key, _ in ready.select():
        if key.fileobj is l:
            c, _ = l.accept()
            ready.register(c, selectors.EVENT_READ)
            continue
        if not key.fileobj.recv(1000):
            ready.unregister(key.fileobj)
            key.fileobj.close()
            continue
        x = 0
        for i in range(int(sys.argv[2])):
            x += i * i
        key.fileobj.send(b"done\n")
`
	p, err := python(s, "report", text, scene.Command{Argv: []string{fmt.Sprint(port), fmt.Sprint(s.Between(5000, 15000))}})
	if err != nil {
		return nil, err
	}
	if err := s.Listening(p, scene.Local(port)); err != nil {
		return nil, err
	}
	argv := []string{count("connections", s.Between(8, 24))}
	if !s.Made {
		argv = append(argv, "--rate=100")
	}
	return client(s, "line://"+scene.Local(port), scene.Command{}, argv...)
}
