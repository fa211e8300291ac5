package guest

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"

	"plimsoll/internal/factor"
	"plimsoll/internal/guest/furnish"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/platform"
)

func controllerFactor() factor.Factor {
	return part{
		check: same,
		see: one(func(ctx context.Context, r live) (string, error) {
			device, err := dataDevice(ctx, r)
			if err != nil {
				return "", err
			}
			if c, ok := furnish.ControllerOf(device); ok {
				return string(c), nil
			}
			return device, nil
		}),
		set: func(s *Settings, level string) error {
			for _, c := range []qemu.Controller{qemu.VirtioBlk, qemu.VirtioSCSI, qemu.NVMe} {
				if string(c) == level {
					s.Controller = level
					return nil
				}
			}
			return fmt.Errorf("%q is no controller: want virtio-blk, virtio-scsi or nvme", level)
		},
	}.factor(factor.Factor{Name: "guest.controller", Doc: "disk controller of a guest: virtio-blk, virtio-scsi or nvme", Example: []string{"virtio-blk", "nvme"}})
}

func cacheFactor() factor.Factor {
	return part{
		canon: func(s Settings) string { return s.Cache },
		see:   one(cacheSeen),
		set:   among("cache mode", func(s *Settings) *string { return &s.Cache }, "none", "writeback", "writethrough", "directsync", "unsafe"),
	}.factor(factor.Factor{
		Name: "guest.cache", Example: []string{"none", "writeback"},
		Doc: "disk cache mode of a guest: none, writeback, writethrough, directsync or unsafe",
	})
}

// cacheSeen takes from the guest whether it is told of a write cache, and from QEMU what
// the guest cannot see. A guest is told of one by every NVMe drive.
func cacheSeen(ctx context.Context, r live) (string, error) {
	d, err := r.vm.Drive(ctx, dataName)
	if err != nil {
		return "", err
	}
	name, err := dataDevice(ctx, r)
	if err != nil {
		return "", err
	}
	text, err := r.far.ReadFile(ctx, "/sys/block/"+name+"/queue/write_cache")
	if err != nil {
		return "", fmt.Errorf("read the guest's disk: %w", err)
	}
	told := strings.TrimSpace(string(text)) == "write back"
	if told != d.Volatile && r.settings.Controller != string(qemu.NVMe) {
		return fmt.Sprintf("%s, where QEMU has a write cache: %t", strings.TrimSpace(string(text)), d.Volatile), nil
	}
	switch {
	case d.NoFlush:
		return "unsafe", nil
	case d.Direct && d.Volatile:
		return "none", nil
	case d.Direct:
		return "directsync", nil
	case d.Volatile:
		return "writeback", nil
	}
	return "writethrough", nil
}

func aioFactor() factor.Factor {
	return part{
		canon: func(s Settings) string { return s.AIO },
		see:   one(func(_ context.Context, r live) (string, error) { return r.vm.AIO() }),
		set:   among("way of I/O", func(s *Settings) *string { return &s.AIO }, "threads", "native", "io_uring"),
	}.factor(factor.Factor{
		Name: "guest.aio", Example: []string{"threads", "native"},
		Doc: "QEMU AIO mode of a guest's disk: threads, native (Linux AIO) or io_uring; read back from QEMU's process on the host",
	})
}

func ioThreadFactor() factor.Factor {
	return part{
		canon: func(s Settings) string { return strconv.FormatBool(s.IOThread) },
		see: one(func(ctx context.Context, r live) (string, error) {
			d, err := r.vm.Drive(ctx, dataName)
			return strconv.FormatBool(d.IOThread), err
		}),
		set: func(s *Settings, level string) error {
			if level != "true" && level != "false" {
				return fmt.Errorf("%q: want true or false", level)
			}
			s.IOThread = level == "true"
			return nil
		},
	}.factor(factor.Factor{
		Name: "guest.iothread", Example: []string{"false", "true"},
		Doc: "dedicated IOThread of a guest's disk; read back from QEMU",
	})
}

func queuesFactor() factor.Factor {
	return part{
		canon: func(s Settings) string { return strconv.Itoa(s.Queues) },
		see: one(func(ctx context.Context, r live) (string, error) {
			name, err := dataDevice(ctx, r)
			if err != nil {
				return "", err
			}
			all, err := r.far.Run(ctx, platform.Command{Argv: []string{"ls", "--", "/sys/block/" + name + "/mq"}})
			if err != nil {
				return "", fmt.Errorf("count the queues of the guest's disk: %w", err)
			}
			return strconv.Itoa(len(strings.Fields(string(all.Stdout)))), nil
		}),
		set: func(s *Settings, level string) error {
			n, err := strconv.Atoi(level)
			if err != nil || n < 1 || n > 64 {
				return fmt.Errorf("%q is no number of queues: want 1 to 64", level)
			}
			s.Queues = n
			return nil
		},
	}.factor(factor.Factor{
		Name: "guest.queues", Example: []string{"1", "2"},
		Doc: "queues of a guest's disk controller, counted in the guest; its kernel uses at most one per vCPU",
	})
}

func ioFilterFactor() factor.Factor {
	return part{
		canon: func(s Settings) string {
			r, _ := parseRoute(s.IOFilter) // judged before
			return r.String()
		},
		see: one(func(ctx context.Context, r live) (string, error) {
			d, err := r.vm.Drive(ctx, dataName)
			if err != nil {
				return "", err
			}
			if d.Driver != "nbd" || r.server == nil || !strings.Contains(d.Source, r.server.socket) {
				return noServer, nil
			}
			seen, err := r.server.seen()
			return seen.String(), err
		}),
		set: func(s *Settings, level string) error {
			s.IOFilter = level
			_, err := parseRoute(level)
			return err
		},
	}.factor(factor.Factor{
		Name: "guest.io_filter", Example: []string{"none", "null"},
		Doc: "I/O path between a guest's disk and its file: none, nbd (a server without filters), filters such as null, daemon:null, delay:1ms and stats, or nbdkit with one of its filters",
	})
}

func storageFactor() factor.Factor {
	return part{
		canon: func(s Settings) string { return s.Storage },
		see:   one(func(ctx context.Context, r live) (string, error) { return storageSeen(ctx, r.far) }),
		set:   among("place to write to", func(s *Settings) *string { return &s.Storage }, onDisk, onPmem, onDAX),
	}.factor(factor.Factor{
		Name: "guest.storage", Example: []string{onDisk, onDAX},
		Doc: "storage for workloads in a guest: disk, pmem (an NVDIMM through the page cache) or dax (an NVDIMM with DAX); the setting pmem is its size",
	})
}

// dataDevice is the name of the guest's device for the disk that workloads write to.
func dataDevice(ctx context.Context, r live) (string, error) {
	return furnish.DeviceOf(ctx, r.far, r.settings.dataDisk("").Size)
}

// mounted is the device that is mounted on a folder, and with which options.
func mounted(ctx context.Context, far platform.Machine, folder string) (device, options string, err error) {
	text, err := far.ReadFile(ctx, "/proc/mounts")
	if err != nil {
		return "", "", fmt.Errorf("find the guest's disk: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 3 && f[1] == folder {
			return path.Base(f[0]), f[3], nil
		}
	}
	return "", "", fmt.Errorf("nothing is mounted on %s in the guest", folder)
}
