package scene

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// CPUs are those that this process may use, which are those of all processes of a scene.
func CPUs() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("read the CPUs that this process may use: %w", err)
	}
	var allowed []int
	for cpu := 0; len(allowed) < set.Count(); cpu++ {
		if set.IsSet(cpu) {
			allowed = append(allowed, cpu)
		}
	}
	return allowed, nil
}

// CPU is one of them, which the seed decides.
func CPU(s *Scene) (int, error) {
	allowed, err := CPUs()
	if err != nil {
		return 0, err
	}
	return allowed[s.Between(0, len(allowed)-1)], nil
}

// Caches are sizes of the first CPU's caches for data, in bytes.
type Caches struct {
	Own  int // the largest below the last level
	Last int // the last level
}

// usual are caches of a server, for machines that do not say what they have, as many virtual ones.
var usual = Caches{Own: 1 << 20, Last: 32 << 20}

// ReadCaches reads them from a tree such as that of /sys.
func ReadCaches(sys fs.FS) (Caches, error) {
	const folder = "devices/system/cpu/cpu0/cache"
	found, err := fs.Glob(sys, folder+"/index*")
	if err != nil {
		return Caches{}, err
	}
	sizes := map[int]int{}
	for _, index := range found {
		text := map[string]string{}
		for _, name := range []string{"level", "type", "size"} {
			content, err := fs.ReadFile(sys, path.Join(index, name))
			if err != nil {
				return Caches{}, fmt.Errorf("read a cache's %s: %w", name, err)
			}
			text[name] = strings.TrimSpace(string(content))
		}
		if text["type"] == "Instruction" {
			continue
		}
		level, err1 := strconv.Atoi(text["level"])
		kibibytes, err2 := strconv.Atoi(strings.TrimSuffix(text["size"], "K"))
		if err1 != nil || err2 != nil {
			return Caches{}, fmt.Errorf("%s has the level %q and the size %q", index, text["level"], text["size"])
		}
		sizes[level] = kibibytes << 10
	}
	last := 0
	for level := range sizes {
		last = max(last, level)
	}
	c := Caches{Own: sizes[last-1], Last: sizes[last]}
	if c.Own == 0 || c.Last <= c.Own {
		return usual, nil
	}
	return c, nil
}

// HostCaches are those of this host.
func HostCaches() (Caches, error) { return ReadCaches(os.DirFS("/sys")) }
