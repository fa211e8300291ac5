package vm

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"plimsoll/internal/factor"
	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/provision"
	"plimsoll/internal/guest/spec"
)

// scratch is the mount point of the workloads' disk in VMs.
const scratch = spec.Scratch

func backing() factor.Factor {
	return setting{
		disk:      true,
		ownQEMU:   true,
		canonical: func(g spec.Guest) string { return g.Backing },
		read: func(ctx context.Context, r spec.Running) (string, error) {
			d, err := r.QEMU.Drive(ctx, spec.DataDisk)
			if d.Image != "" {
				return spec.ImageBacking, err
			}
			return spec.FileBacking, err
		},
		set: oneOf("backing of a disk", func(g *spec.Guest) *string { return &g.Backing }, spec.FileBacking, spec.ImageBacking),
	}.factor(factor.Factor{
		Name: "guest.backing", Example: []string{spec.FileBacking, spec.ImageBacking},
		Doc: "what a guest's disk is: a file of the host, or an image of the study's Ceph cluster, which runs on the host; read back from QEMU",
	})
}

func controller() factor.Factor {
	return setting{
		disk:  true,
		check: asGiven,
		read: func(ctx context.Context, r spec.Running) (string, error) {
			device, err := provision.DeviceOf(ctx, r.Agent, int64(r.Spec.DiskSize))
			if err != nil {
				return "", err
			}
			return provision.ControllerOf(ctx, r.Agent, device)
		},
		set: oneOf("controller", func(g *spec.Guest) *string { return &g.Controller }, string(hardware.VirtioBlk), string(hardware.VirtioSCSI), string(hardware.NVMe), string(hardware.PVSCSI), string(hardware.SATA)),
	}.factor(factor.Factor{
		Name: "guest.controller", Example: []string{"virtio-blk", "nvme"},
		Doc: "disk controller of a guest: virtio-blk, virtio-scsi or nvme; on vsphere pvscsi, nvme or sata",
	})
}

func cache() factor.Factor {
	return setting{
		disk:      true,
		ownQEMU:   true,
		canonical: func(g spec.Guest) string { return g.Cache },
		read:      readCache,
		set:       oneOf("cache mode", func(g *spec.Guest) *string { return &g.Cache }, "none", "writeback", "writethrough", "directsync", "unsafe"),
	}.factor(factor.Factor{
		Name: "guest.cache", Example: []string{"none", "writeback"},
		Doc:    "disk cache mode of a guest: none, writeback, writethrough, directsync or unsafe, which ignores flushes and can lose data",
		Unsafe: func(_, level string) bool { return level == "unsafe" },
	})
}

// readCache compares the write cache that the VM sees with QEMU's. An NVMe drive reports a
// write cache in every mode.
func readCache(ctx context.Context, r spec.Running) (string, error) {
	d, err := r.QEMU.Drive(ctx, spec.DataDisk)
	if err != nil {
		return "", err
	}
	name, err := provision.DeviceOf(ctx, r.Agent, int64(r.Spec.DiskSize))
	if err != nil {
		return "", err
	}
	text, err := r.Agent.ReadFile(ctx, "/sys/block/"+name+"/queue/write_cache")
	if err != nil {
		return "", fmt.Errorf("read the guest's disk: %w", err)
	}
	shown := strings.TrimSpace(string(text))
	switch {
	case (shown == "write back") != d.Volatile && r.Spec.Controller != string(hardware.NVMe):
		return fmt.Sprintf("%s, where QEMU has a write cache: %t", shown, d.Volatile), nil
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

func aio() factor.Factor {
	return setting{
		disk:      true,
		ownQEMU:   true,
		canonical: func(g spec.Guest) string { return g.AIO },
		read:      func(_ context.Context, r spec.Running) (string, error) { return r.QEMU.AIO() },
		set:       oneOf("AIO mode", func(g *spec.Guest) *string { return &g.AIO }, "threads", "native", "io_uring"),
	}.factor(factor.Factor{
		Name: "guest.aio", Example: []string{"threads", "native"},
		Doc: "QEMU AIO mode of a guest's disk: threads, native (Linux AIO) or io_uring; read back from QEMU's process on the host",
	})
}

func ioThread() factor.Factor {
	return setting{
		disk:      true,
		ownQEMU:   true,
		canonical: func(g spec.Guest) string { return strconv.FormatBool(g.IOThread) },
		read: func(ctx context.Context, r spec.Running) (string, error) {
			d, err := r.QEMU.Drive(ctx, spec.DataDisk)
			return strconv.FormatBool(d.IOThread), err
		},
		set: func(g *spec.Guest, level string) error {
			if level != "true" && level != "false" {
				return fmt.Errorf("%q: must be true or false", level)
			}
			g.IOThread = level == "true"
			return nil
		},
	}.factor(factor.Factor{
		Name: "guest.iothread", Example: []string{"false", "true"},
		Doc: "dedicated IOThread of a guest's disk; read back from QEMU",
	})
}

func queues() factor.Factor {
	return setting{
		disk:      true,
		canonical: func(g spec.Guest) string { return strconv.Itoa(g.Queues) },
		read: func(ctx context.Context, r spec.Running) (string, error) {
			name, err := provision.DeviceOf(ctx, r.Agent, int64(r.Spec.DiskSize))
			if err != nil {
				return "", err
			}
			all, err := provision.Ask(ctx, r.Agent, "ls", "--", "/sys/block/"+name+"/mq")
			return strconv.Itoa(len(strings.Fields(all))), err
		},
		set: number("queues", 64, func(g *spec.Guest) *int { return &g.Queues }),
	}.factor(factor.Factor{
		Name: "guest.queues", Example: []string{"1", "2"},
		Doc: "queues of a guest's disk controller, counted in the guest; its kernel uses at most one per vCPU",
	})
}

func ioFilter() factor.Factor {
	return setting{
		disk:    true,
		ownQEMU: true,
		canonical: func(g spec.Guest) string {
			r, _ := spec.ParseRoute(g.IOFilter) // validated before
			return r.String()
		},
		read: func(ctx context.Context, r spec.Running) (string, error) {
			d, err := r.QEMU.Drive(ctx, spec.DataDisk)
			if err != nil {
				return "", err
			}
			if d.Driver != "nbd" || r.Disk == nil || !strings.Contains(d.Source, r.Disk.Socket()) {
				return spec.NoServer, nil
			}
			route, err := r.Disk.Route()
			return route.String(), err
		},
		set: func(g *spec.Guest, level string) error {
			g.IOFilter = level
			_, err := spec.ParseRoute(level)
			return err
		},
	}.factor(factor.Factor{
		Name: "guest.io_filter", Example: []string{"none", "null"},
		Doc: "I/O path between a guest's disk and its file: none, nbd (no filter), filters such as null, daemon:null, delay:1ms and stats, or nbdkit with one of its filters",
	})
}

func storage() factor.Factor {
	return setting{
		ownQEMU:   true,
		canonical: func(g spec.Guest) string { return g.Storage },
		read: func(ctx context.Context, r spec.Running) (string, error) {
			m, err := provision.MountedOn(ctx, r.Agent, scratch)
			switch {
			case m.DAX:
				return spec.OnDAX, err
			case m.Pmem:
				return spec.OnPmem, err
			}
			return spec.OnDisk, err
		},
		set: oneOf("place to write to", func(g *spec.Guest) *string { return &g.Storage }, spec.OnDisk, spec.OnPmem, spec.OnDAX),
	}.factor(factor.Factor{
		Name: "guest.storage", Example: []string{spec.OnDisk, spec.OnDAX},
		Doc: "storage for workloads in a guest: disk, pmem (an NVDIMM through the page cache) or dax (an NVDIMM with DAX); the setting pmem is its size",
	})
}
