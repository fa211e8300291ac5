package toolbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func echo(c *Call) error {
	_, err := fmt.Fprintln(c.Stdout, strings.Join(c.Args, " "))
	return err
}

func pwd(c *Call) error {
	dir, err := os.Getwd()
	if err == nil {
		_, err = fmt.Fprintln(c.Stdout, dir)
	}
	return err
}

// nproc prints the number of CPUs in the affinity mask.
func nproc(c *Call) error {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return fmt.Errorf("read the affinity: %w", err)
	}
	_, err := fmt.Fprintln(c.Stdout, set.Count())
	return err
}

func readlink(c *Call) error {
	set, names, err := c.options([]string{"-e"}, nil)
	if err != nil {
		return err
	}
	if _, whole := set["-e"]; !whole || len(names) != 1 {
		return refused("usage: readlink -e -- NAME")
	}
	name, err := filepath.EvalSymlinks(names[0])
	if err == nil {
		name, err = filepath.Abs(name)
	}
	if err != nil {
		return no{}
	}
	_, err = fmt.Fprintln(c.Stdout, name)
	return err
}

func test(c *Call) error {
	if len(c.Args) != 2 {
		return refused("usage: test -d NAME")
	}
	name := c.Args[1]
	info, err := os.Stat(name)
	holds := false
	switch c.Args[0] {
	case "-e":
		holds = err == nil
	case "-d":
		holds = err == nil && info.IsDir()
	case "-f":
		holds = err == nil && info.Mode().IsRegular()
	case "-w":
		holds = unix.Access(name, unix.W_OK) == nil
	case "-x":
		holds = unix.Access(name, unix.X_OK) == nil
	default:
		return refused("unsupported test %s", c.Args[0])
	}
	if !holds {
		return no{}
	}
	return nil
}

func kill(c *Call) error {
	signals := map[string]syscall.Signal{"-KILL": syscall.SIGKILL, "-TERM": syscall.SIGTERM, "-INT": syscall.SIGINT, "-0": 0}
	if len(c.Args) != 2 {
		return refused("usage: kill -TERM 123")
	}
	signal, known := signals[c.Args[0]]
	pid, err := strconv.Atoi(c.Args[1])
	if !known || err != nil || pid <= 1 {
		return refused("usage: kill -TERM 123")
	}
	if err := syscall.Kill(pid, signal); err != nil {
		return fmt.Errorf("%d: %w", pid, err)
	}
	return nil
}

// stat prints a format for files, or with -f for their file systems.
func stat(c *Call) error {
	set, names, err := c.options([]string{"-f", "-L"}, []string{"-c"})
	if err != nil {
		return err
	}
	format, given := set["-c"]
	if !given {
		return refused("usage: stat -c %%s -- NAME")
	}
	of := fileFields
	if _, system := set["-f"]; system {
		of = systemFields
	} else if _, follow := set["-L"]; !follow {
		of = func(name string) (map[byte]string, error) { return fields(name, syscall.Lstat) }
	}
	return each(names, func(name string) error {
		known, err := of(name)
		if err != nil {
			return err
		}
		var b strings.Builder
		for i := 0; i < len(format); i++ {
			if format[i] != '%' || i+1 == len(format) {
				b.WriteByte(format[i])
				continue
			}
			i++
			value, has := known[format[i]]
			if !has {
				return refused("unsupported conversion %%%c", format[i])
			}
			b.WriteString(value)
		}
		_, err = fmt.Fprintln(c.Stdout, b.String())
		return err
	})
}

func fileFields(name string) (map[byte]string, error) { return fields(name, syscall.Stat) }

func fields(name string, look func(string, *syscall.Stat_t) error) (map[byte]string, error) {
	var s syscall.Stat_t
	if err := look(name, &s); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	point, err := mountPoint(name, s.Dev)
	if err != nil {
		return nil, err
	}
	return map[byte]string{
		'n': name, 's': strconv.FormatInt(s.Size, 10), 'b': strconv.FormatInt(s.Blocks, 10), 'B': "512", 'd': strconv.FormatUint(s.Dev, 10),
		'm': point, 'u': strconv.FormatUint(uint64(s.Uid), 10), 'a': strconv.FormatUint(uint64(s.Mode&0o7777), 8),
	}, nil
}

// mountPoint returns the mount point of a file.
func mountPoint(name string, device uint64) (string, error) {
	at, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(at); err == nil {
		at = real
	}
	for at != "/" {
		var s syscall.Stat_t
		if err := syscall.Stat(filepath.Dir(at), &s); err != nil {
			return "", fmt.Errorf("%s: %w", filepath.Dir(at), err)
		}
		if s.Dev != device {
			return at, nil
		}
		at = filepath.Dir(at)
	}
	return at, nil
}

// systems are the names of file systems by magic number.
var systems = map[int64]string{
	unix.EXT4_SUPER_MAGIC: "ext2/ext3", unix.XFS_SUPER_MAGIC: "xfs", unix.TMPFS_MAGIC: "tmpfs", unix.RAMFS_MAGIC: "ramfs", unix.BTRFS_SUPER_MAGIC: "btrfs",
	unix.OVERLAYFS_SUPER_MAGIC: "overlayfs", unix.PROC_SUPER_MAGIC: "proc", unix.SYSFS_MAGIC: "sysfs",
}

func systemFields(name string) (map[byte]string, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(name, &s); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	kind, known := systems[int64(s.Type)]
	if !known {
		kind = fmt.Sprintf("UNKNOWN(0x%x)", s.Type)
	}
	size := s.Frsize
	if size == 0 {
		size = s.Bsize
	}
	return map[byte]string{'n': name, 'T': kind, 'a': strconv.FormatUint(s.Bavail, 10), 'S': strconv.FormatInt(size, 10)}, nil
}
