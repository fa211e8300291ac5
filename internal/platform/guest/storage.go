package guest

import (
	"context"
	"os"
	"path/filepath"

	"plimsoll/internal/guest/furnish"
	"plimsoll/internal/guest/qemu"
)

const (
	// dataName is the name of the disk that workloads write to, and its serial number.
	dataName = "data"
	// diskSocket is where a server of that disk listens, in the guest's folder.
	diskSocket = "disk.sock"
)

// dataDisk is the disk that workloads write to, with its file in a folder.
func (s Settings) dataDisk(folder string) qemu.Disk {
	d := qemu.Disk{
		Name: dataName, Size: int64(s.Disk), Controller: qemu.Controller(s.Controller), Backing: qemu.BackingFile, Path: filepath.Join(folder, dataImage),
		Cache: s.Cache, AIO: s.AIO, IOThread: s.IOThread, Queues: s.Queues,
	}
	if r, err := parseRoute(s.IOFilter); err == nil && r.server != noServer {
		d.Backing, d.Path, d.AIO, d.Socket = qemu.BackingNBD, "", "", filepath.Join(folder, diskSocket)
	}
	return d
}

// storage makes ready what workloads write to and adds it to the guest that is to boot.
func (m *machine) storage(ctx context.Context, shape *qemu.Shape) (data qemu.Disk, err error) {
	data = m.settings.dataDisk(m.home.Path)
	image := filepath.Join(m.home.Path, dataImage)
	if _, err := os.Stat(image); err != nil {
		if err := furnish.MakeDisk(ctx, image, data.Size); err != nil {
			return data, err
		}
	}
	if len(shape.Persistent) > 0 {
		if shape.Persistent[0].Path, err = m.makePmem(ctx); err != nil {
			return data, err
		}
	}
	r, err := parseRoute(m.settings.IOFilter)
	if err != nil {
		return data, err
	}
	m.server, err = serveDisk(ctx, r, m.depot.agent, filepath.Join(m.home.Path, diskSocket), image)
	shape.Disks = append(shape.Disks, data)
	return data, err
}

// unserve ends the server of the disk, whose client is gone.
func (m *machine) unserve() {
	if m.server != nil {
		m.server.stop()
		m.server = nil
	}
}

// attachStorage mounts what workloads write to. Where there are two such places, a study
// that has made its folder in one of them finds it in the other as well.
func (m *machine) attachStorage(ctx context.Context, data qemu.Disk) (err error) {
	if s := m.settings.Storage; s == onPmem || s == onDAX {
		err = attachPmem(ctx, m.far, s)
	} else {
		err = furnish.Mount(ctx, m.far, data.Size, scratch)
	}
	if err != nil || m.settings.Pmem == 0 {
		return err
	}
	return furnish.Do(ctx, m.far, "mkdir", "-p", "--", m.bed.Scratch())
}
