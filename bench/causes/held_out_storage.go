package causes

import (
	"fmt"
	"strings"

	"plimsoll/bench/causes/scene"
)

func cacheSwap(s *scene.Scene) (*scene.Meter, error) {
	keys := s.Between(150_000, 250_000) // of about 1.1 kB
	if s.Made {
		if err := s.Swap(2048); err != nil {
			return nil, err
		}
	}
	g, err := inMemory(s, keys*6/10/1000)
	if err != nil {
		return nil, err
	}
	address, _, err := redis(s, scene.Command{Group: g}, "--enable-debug-command", "local")
	if err != nil {
		return nil, err
	}
	_, port, _ := strings.Cut(address, ":")
	if _, err := s.Run("redis-cli", "-p", port, "debug", "populate", fmt.Sprint(keys), "key", "1000"); err != nil {
		return nil, err
	}
	return client(s, "redis://"+address, scene.Command{}, count("connections", s.Between(8, 24)), count("rate", s.Between(150, 250)), count("keys", keys), count("batch", 64))
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
	g, err := inMemory(s, s.Between(48, 80))
	if err != nil {
		return nil, err
	}
	return scene.Figures(python(s, "lookup", text, scene.Command{Argv: []string{file}, Group: g, Reads: scene.Ours}))
}

func defaultPages(s *scene.Scene) (*scene.Meter, error) {
	if err := s.Set("/sys/kernel/mm/transparent_hugepage/enabled", scene.Either(s, "madvise", "always")); err != nil {
		return nil, err
	}
	const text = `import json, operator, random, sys, time
n = int(sys.argv[1]) << 17
block, places = [None] * n, range(n)
picks = [operator.itemgetter(*random.choices(places, k=20000)) for _ in range(50)]
done, began, used = 0, time.monotonic(), time.thread_time()
while True:
    for pick in picks:
        pick(block)
        done += 20000
        now = time.monotonic()
        if now - began >= 1:
            print(json.dumps({"rate": done / (time.thread_time() - used)})) # per second of CPU time
            done, began, used = 0, now, time.thread_time()
`
	return scene.Figures(python(s, "report", text, scene.Command{Argv: []string{fmt.Sprint(s.Between(256, 512))}, Reads: scene.Ours}))
}

func appendFsync(s *scene.Scene) (*scene.Meter, error) {
	address, _, err := redis(s, scene.Command{}, "--appendonly", "yes", "--appendfsync", scene.Either(s, "always", "everysec"))
	if err != nil {
		return nil, err
	}
	return client(s, "redis://"+address, scene.Command{}, count("connections", s.Between(2, 6)), count("size", s.Between(50, 500)))
}

func walThrottle(s *scene.Scene) (*scene.Meter, error) {
	disk, dir, err := s.Volume(512)
	if err != nil {
		return nil, err
	}
	g, err := scene.Confined(s, "causes-database", scene.Disks(), func(g *scene.Group) error { return g.Throttle(disk.Device, false, s.Between(100, 300)) })
	if err != nil {
		return nil, err
	}
	port, _, err := postgresql(s, database{scale: s.Between(1, 3), dir: dir + "/postgresql", in: scene.Command{Group: g}})
	if err != nil {
		return nil, err
	}
	return pgbench(s, "127.0.0.1:"+port, "", "-N", "-c", fmt.Sprint(s.Between(4, 12)))
}

func fileScan(s *scene.Scene) (*scene.Meter, error) {
	disk, dir, err := s.Volume(448)
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
	return scene.Figures(python(s, "scan", text, scene.Command{Argv: []string{dir + "/archive"}, Reads: scene.Ours}))
}

func oneWriter(s *scene.Scene) (*scene.Meter, error) {
	return fioOnFile(s, s.Between(256, 512), "--rw=randwrite", fmt.Sprintf("--bs=%dk", 4<<s.Between(0, 1)), "--direct=1", "--ioengine=psync", count("numjobs", scene.Either(s, 1, 8)))
}
