package hardware

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const mostQueues = 64

func (s Shape) checkDisks(Wiring) error {
	names := map[string]bool{}
	for _, d := range s.Disks {
		if err := checkName("disk", d.Name, names); err != nil {
			return err
		}
		if err := d.check(); err != nil {
			return fmt.Errorf("disk %s: %w", d.Name, err)
		}
	}
	return nil
}

func (d Disk) check() error {
	switch d.Controller {
	case VirtioBlk, VirtioSCSI:
	case NVMe:
		if d.IOThread {
			return fmt.Errorf("iothread: not supported by nvme in QEMU: omit it, or use virtio-blk or virtio-scsi")
		}
	default:
		return fmt.Errorf("controller %q is unknown: use virtio-blk, virtio-scsi or nvme", d.Controller)
	}
	if d.Queues < 0 || d.Queues > mostQueues {
		return fmt.Errorf("%d queues: must be 1 to %d, or 0 for QEMU's default", d.Queues, mostQueues)
	}
	if d.Backing != BackingNBD && (d.Size < 512 || d.Size > 1<<50 || d.Size%512 != 0) {
		return fmt.Errorf("%d bytes: must be a multiple of 512, up to 1 PiB", d.Size)
	}
	if !slices.Contains([]string{"", "none", "writeback", "writethrough", "directsync", "unsafe"}, d.Cache) {
		return fmt.Errorf("cache %q is unknown: use none, writeback, writethrough, directsync or unsafe", d.Cache)
	}
	return d.checkBacking()
}

func (d Disk) checkBacking() error {
	if !slices.Contains([]string{"", "threads", "native", "io_uring"}, d.AIO) {
		return fmt.Errorf("aio %q is unknown: use threads, native or io_uring", d.AIO)
	}
	if d.ReadOnly && (d.Backing == BackingImage || d.Backing == BackingFile && d.Path == "" || d.Controller == NVMe) {
		return fmt.Errorf("read-only: only for an existing file or NBD, with controller virtio-blk or virtio-scsi")
	}
	if d.AIO != "" && d.Backing != BackingFile {
		return fmt.Errorf("aio %s: only a file has it, not %s", d.AIO, d.Backing)
	}
	if d.Path != "" && d.Backing != BackingFile || d.Socket != "" && d.Backing != BackingNBD {
		return fmt.Errorf("a path is for the backing file, a socket for nbd; this one is %s", d.Backing)
	}
	if (d.Image != Image{}) != (d.Backing == BackingImage) {
		return fmt.Errorf("an image is for the backing image; this one is %s", d.Backing)
	}
	if unprintable(d.Path) {
		return fmt.Errorf("a file at %q: %s", d.Path, noControl)
	}
	switch d.Backing {
	case BackingFile:
		if d.AIO == "native" && !d.direct() {
			return fmt.Errorf("aio native with cache %s: Linux AIO requires O_DIRECT: use cache none or directsync, or another aio", d.Cache)
		}
	case BackingNBD:
		return checkSocket(d.Socket)
	case BackingImage:
		for _, part := range []string{d.Image.Conf, d.Image.Pool, d.Image.Name} {
			if part == "" || unprintable(part) {
				return fmt.Errorf("image %q in pool %q of %q: %s", d.Image.Name, d.Image.Pool, d.Image.Conf, noControl)
			}
		}
	default:
		return fmt.Errorf("backing %q is unknown: use file, nbd or image", d.Backing)
	}
	return nil
}

// direct reports whether the host's page cache is bypassed.
func (d Disk) direct() bool { return d.Cache == "" || d.Cache == "none" || d.Cache == "directsync" }

// Volatile reports whether the guest sees a volatile write cache, which it has to flush.
func (d Disk) Volatile() bool { return d.Cache != "writethrough" && d.Cache != "directsync" }

func (d Disk) args(i int, w Wiring) []string {
	node, args := fmt.Sprintf("disk%d", i), []string(nil)
	if d.IOThread {
		args = append(args, "-object", fmt.Sprintf("iothread,id=io%d", i))
	}
	cache := fmt.Sprintf(",cache.direct=%s,cache.no-flush=%s", onOff(d.direct()), onOff(d.Cache == "unsafe"))
	if d.ReadOnly {
		cache += ",read-only=on"
	}
	switch d.Backing {
	case BackingNBD:
		args = append(args, "-blockdev", fmt.Sprintf("driver=nbd,node-name=%s,server.type=unix,server.path=%s%s", node, quote(d.Socket), cache))
	case BackingImage:
		args = append(args, "-blockdev", fmt.Sprintf("driver=rbd,node-name=%s,conf=%s,pool=%s,image=%s,user=admin%s", node, quote(d.Image.Conf), quote(d.Image.Pool), quote(d.Image.Name), cache))
	default:
		args = append(args,
			"-blockdev", fmt.Sprintf("driver=file,node-name=file%d,filename=%s,aio=%s%s", i, quote(d.File(w)), cmp.Or(d.AIO, "threads"), cache),
			"-blockdev", fmt.Sprintf("driver=raw,node-name=%s,file=file%d%s", node, i, cache))
	}
	return append(args, d.device(i, node)...)
}

func (d Disk) device(i int, node string) []string {
	thread, write := "", ",write-cache="+onOff(d.Volatile())
	if d.IOThread {
		thread = fmt.Sprintf(",iothread=io%d", i)
	}
	queues := func(property string) string {
		if d.Queues == 0 {
			return ""
		}
		return "," + property + "=" + strconv.Itoa(d.Queues)
	}
	switch d.Controller {
	case VirtioSCSI:
		return []string{
			"-device", fmt.Sprintf("virtio-scsi-pci,id=scsi%d%s%s", i, queues("num_queues"), thread),
			"-device", fmt.Sprintf("scsi-hd,id=%s-dev,drive=%s,bus=scsi%d.0,serial=%s%s", node, node, i, d.Name, write),
		}
	case NVMe:
		return []string{"-device", fmt.Sprintf("nvme,id=%s-dev,drive=%s,serial=%s%s%s", node, node, d.Name, queues("max_ioqpairs"), write)}
	}
	return []string{"-device", fmt.Sprintf("virtio-blk-pci,id=%s-dev,drive=%s,serial=%s%s%s%s", node, node, d.Name, queues("num-queues"), thread, write)}
}

// File is the path of the file that backs the disk.
func (d Disk) File(w Wiring) string {
	if d.Path != "" {
		return d.Path
	}
	return w.file("disk", d.Name)
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// quote doubles the commas of a value, which would separate options of QEMU.
func quote(s string) string { return strings.ReplaceAll(s, ",", ",,") }
