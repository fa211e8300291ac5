package causes

import (
	"fmt"
	"os"

	"plimsoll/bench/causes/scene"
)

func databaseAffinity(s *scene.Scene) (*scene.Meter, error) {
	cpu, err := scene.CPU(s)
	if err != nil {
		return nil, err
	}
	port, _, err := postgresql(s, database{scale: s.Between(1, 4), in: scene.Command{CPUs: scene.Either(s, fmt.Sprint(cpu), "")}})
	if err != nil {
		return nil, err
	}
	return pgbench(s, "127.0.0.1:"+port, "select sum(abalance), count(*) from pgbench_accounts where aid < 3000;\n", "-c", fmt.Sprint(s.Between(6, 16)))
}

func cacheQuota(s *scene.Scene) (*scene.Meter, error) {
	g, err := withQuota(s, s.Between(5, 9))
	if err != nil {
		return nil, err
	}
	address, _, err := memcached(s, 4, scene.Command{Group: g})
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
	if err := neighbour(s, "encoder", s.Between(2, 3)); err != nil {
		return nil, err
	}
	return client(s, "http://"+address, scene.Command{}, count("connections", s.Between(8, 24)))
}

func tableLock(s *scene.Scene) (*scene.Meter, error) {
	return updates(s, 100_000, s.Between(1, 4), scene.Either(s, "lock table pgbench_history in exclusive mode;\n", ""))
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
	wait := s.Between(10, 30)
	address, err := forked(s, scene.Either(s, 2, 16), 256, wait)
	if err != nil {
		return nil, err
	}
	return client(s, "line://"+address, scene.Command{}, "--short", count("connections", s.Between(24, 64)), count("rate", 4000/wait))
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
	return client(s, "line://"+scene.Local(port), scene.Command{}, count("connections", s.Between(8, 24)), count("rate", scene.Either(s, 0, 100)))
}
