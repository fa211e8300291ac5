package causes

import (
	"fmt"
	"strings"

	"plimsoll/bench/causes/scene"
)

func cacheSwap(s *scene.Scene) (*scene.Meter, error) {
	in, keys := scene.Command{}, s.Between(150_000, 250_000) // of about 1.1 kB
	if s.Made {
		if err := s.Swap(2048); err != nil {
			return nil, err
		}
		g, err := inMemory(s, keys*7/10/1000)
		if err != nil {
			return nil, err
		}
		in.Group = g
	}
	address, _, err := redis(s, in, "--enable-debug-command", "local")
	if err != nil {
		return nil, err
	}
	_, port, _ := strings.Cut(address, ":")
	if _, err := s.Run("redis-cli", "-p", port, "debug", "populate", fmt.Sprint(keys), "key", "1000"); err != nil {
		return nil, err
	}
	return client(s, "redis://"+address, scene.Command{}, count("connections", s.Between(8, 24)), count("keys", keys))
}

func mappedFile(s *scene.Scene) (*scene.Meter, error) {
	const text = `import json, mmap, random, sys, time
f = open(sys.argv[1], "rb")
m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
for i in range(0, len(m), 4096):
    m[i]
pages, n, x, began = len(m) // 4096, 0, 0, time.monotonic()
while True:
    for _ in range(100):
        x += m[random.randrange(pages) * 4096]
    n += 100
    now = time.monotonic()
    if now - began >= 1:
        print(json.dumps({"rate": n / (now - began)}))
        n, began = 0, now
`
	file, err := s.File("catalogue", s.Between(192, 320))
	if err != nil {
		return nil, err
	}
	in := scene.Command{Argv: []string{file}, Reads: scene.Ours}
	if s.Made {
		if in.Group, err = inMemory(s, s.Between(48, 80)); err != nil {
			return nil, err
		}
	}
	p, err := python(s, "lookup", text, in)
	if err != nil {
		return nil, err
	}
	return p.Meter, nil
}

func defaultPages(s *scene.Scene) (*scene.Meter, error) {
	level := "always"
	if s.Made {
		level = "madvise"
	}
	if err := s.Set("/sys/kernel/mm/transparent_hugepage/enabled", level); err != nil {
		return nil, err
	}
	argv := []string{"sysbench", "memory", "--memory-access-mode=rnd", "--memory-oper=read", "--memory-scope=local", "--memory-block-size=128M", "--memory-total-size=100T", count("threads", s.Between(1, 2)), "--time=600", "--report-interval=1", "run"}
	p, err := s.Start(scene.Command{Argv: argv, Reads: scene.SysbenchMemory})
	if err != nil {
		return nil, err
	}
	return p.Meter, nil
}

func appendFsync(s *scene.Scene) (*scene.Meter, error) {
	policy := "everysec"
	if s.Made {
		policy = "always"
	}
	address, _, err := redis(s, scene.Command{}, "--appendonly", "yes", "--appendfsync", policy)
	if err != nil {
		return nil, err
	}
	return client(s, "redis://"+address, scene.Command{}, count("connections", s.Between(2, 6)), count("size", s.Between(50, 500)))
}

func walThrottle(s *scene.Scene) (*scene.Meter, error) {
	disk, err := s.Disk(512, false)
	if err != nil {
		return nil, err
	}
	dir, err := s.Mount(disk)
	if err != nil {
		return nil, err
	}
	d := database{scale: s.Between(1, 3), dir: dir + "/postgresql"}
	if s.Made {
		if d.in.Group, err = s.Group("causes-database", scene.Disks()); err != nil {
			return nil, err
		}
		if err := d.in.Group.Throttle(disk.Device, false, s.Between(100, 300)); err != nil {
			return nil, err
		}
	}
	port, _, err := postgresql(s, d)
	if err != nil {
		return nil, err
	}
	return pgbench(s, "127.0.0.1:"+port, "", "-N", "-c", fmt.Sprint(s.Between(4, 12)))
}

func fileScan(s *scene.Scene) (*scene.Meter, error) {
	disk, err := s.Disk(448, false)
	if err != nil {
		return nil, err
	}
	dir, err := s.Mount(disk)
	if err != nil {
		return nil, err
	}
	if _, err := s.Run("dd", "if=/dev/urandom", "of="+dir+"/archive", "bs=1M", fmt.Sprint("count=", s.Between(128, 256)), "conv=fsync"); err != nil {
		return nil, err
	}
	if s.Made {
		if err := disk.Queue("read_ahead_kb", "0"); err != nil {
			return nil, err
		}
	}
	const text = `import json, os, sys, time
n, began = 0, time.monotonic()
while True:
    with open(sys.argv[1], "rb", buffering=0) as f:
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        while block := f.read(1 << 16):
            n += len(block)
            now = time.monotonic()
            if now - began >= 1:
                print(json.dumps({"rate": n / (now - began)}))
                n, began = 0, now
`
	p, err := python(s, "scan", text, scene.Command{Argv: []string{dir + "/archive"}, Reads: scene.Ours})
	if err != nil {
		return nil, err
	}
	return p.Meter, nil
}

func oneWriter(s *scene.Scene) (*scene.Meter, error) {
	size := s.Between(256, 512)
	file, err := s.File("table", size)
	if err != nil {
		return nil, err
	}
	jobs := 8
	if s.Made {
		jobs = 1
	}
	return fio(s, scene.Command{}, "--filename="+file, fmt.Sprintf("--size=%dM", size), "--rw=randwrite", fmt.Sprintf("--bs=%dk", 4<<s.Between(0, 1)), "--direct=1", "--ioengine=psync", count("numjobs", jobs))
}

func uploadLoss(s *scene.Scene) (*scene.Meter, error) {
	p := scene.Path{Delay: milliseconds(s.Between(2, 6))}
	if s.Made {
		p.Loss = s.Between(10, 30)
	}
	l, err := s.Link(p)
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
	u, err := s.Part("upload", scene.Command{Argv: []string{"send", "--to", address, "--cubic", count("connections", s.Between(1, 4)), count("rate", 20<<20)}, Reads: scene.Ours})
	if err != nil {
		return nil, err
	}
	return u.Meter, nil
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
	p := scene.Path{}
	if s.Made {
		p.Delay = milliseconds(s.Between(8, 25))
	}
	l, err := s.Link(p)
	if err != nil {
		return nil, err
	}
	address := l.Far + ":6379"
	if _, err := s.Start(scene.Command{Net: l.Space, Argv: []string{"redis-server", "--port", "6379", "--bind", l.Far, "--protected-mode", "no", "--dir", s.Dir, "--save", ""}}); err != nil {
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
