package provision

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/platform"
)

// pmemHead is the kernel's reserved space at the start of an fsdax namespace; the file system
// follows it.
const pmemHead = 2 << 20

// MakePmem creates the file of an NVDIMM with an empty file system, unless it exists.
func MakePmem(ctx context.Context, name string, size int64) error {
	if _, err := os.Stat(name); err == nil {
		return nil
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("create the guest's NVDIMM: %w", err)
	}
	if err := errors.Join(f.Truncate(size), f.Close()); err != nil {
		return fmt.Errorf("create the guest's NVDIMM: %w", err)
	}
	if err := formatBehind(ctx, name, pmemHead, size-pmemHead); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return nil
}

// MountPmem puts the NVDIMM in fsdax mode and mounts it on a folder.
func MountPmem(ctx context.Context, far platform.Machine, folder string, dax bool) error {
	if err := enableDAX(ctx, far); err != nil {
		return fmt.Errorf("put the guest's NVDIMM in fsdax mode: %w", err)
	}
	if err := Do(ctx, far, "mkdir", "-p", "--", folder); err != nil {
		return err
	}
	argv := []string{"mount", "-t", "ext4"}
	if dax {
		argv = append(argv, "-o", "dax")
	}
	return Do(ctx, far, append(argv, "--", "/dev/pmem0", folder)...)
}

const (
	ndDevices = "/sys/bus/nd/devices/"
	ndDriver  = "/sys/bus/nd/drivers/nd_pmem/"
	pmemDAX   = "/sys/block/pmem0/queue/dax"
)

// enableDAX puts the only NVDIMM in fsdax mode, as ndctl does. The kernel keeps the mode at
// the start of the namespace.
func enableDAX(ctx context.Context, far platform.Machine) error {
	able, err := await(ctx, far, pmemDAX)
	if err != nil || able == "1" {
		return err
	}
	read := func(name string) (string, error) {
		text, err := far.ReadFile(ctx, name)
		return strings.TrimSpace(string(text)), err
	}
	seed, err := read(ndDevices + "region0/pfn_seed")
	if err != nil {
		return err
	}
	for _, w := range [][2]string{
		{ndDriver + "unbind", "namespace0.0"},
		{ndDevices + seed + "/uuid", "0b6b0f2e-6a5c-4c43-9d57-0f6a1c8e7d31"},
		{ndDevices + seed + "/mode", "ram"},
		{ndDevices + seed + "/align", fmt.Sprint(pmemHead)},
		{ndDevices + seed + "/namespace", "namespace0.0"},
		{ndDriver + "bind", seed},
	} {
		if err := far.WriteFile(ctx, w[0], []byte(w[1])); err != nil {
			return fmt.Errorf("write %s to %s: %w", w[1], w[0], err)
		}
	}
	if able, err = await(ctx, far, pmemDAX); err == nil && able != "1" {
		err = fmt.Errorf("%s is %s", pmemDAX, able)
	}
	return err
}

// await reads a file that the guest's kernel creates with a delay.
func await(ctx context.Context, far platform.Machine, name string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		text, err := far.ReadFile(ctx, name)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return strings.TrimSpace(string(text)), err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return "", fmt.Errorf("%w: the guest's kernel sees no NVDIMM", err)
		}
	}
}

// Mounted is a file system mounted in a VM.
type Mounted struct {
	Device string
	Pmem   bool // on an NVDIMM
	DAX    bool // files are mapped to the NVDIMM's memory
}

// MountedOn reads the device mounted on a folder from the VM's kernel.
func MountedOn(ctx context.Context, far platform.Machine, folder string) (m Mounted, err error) {
	text, err := far.ReadFile(ctx, "/proc/mounts")
	if err != nil {
		return m, fmt.Errorf("find the guest's disk: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 4 || f[1] != folder {
			continue
		}
		m.Device = path.Base(f[0])
		if m.Pmem = strings.HasPrefix(m.Device, "pmem"); !m.Pmem {
			return m, nil
		}
		able, err := far.ReadFile(ctx, "/sys/block/"+m.Device+"/queue/dax")
		if err != nil {
			return m, fmt.Errorf("read the DAX mode of the guest's NVDIMM: %w", err)
		}
		options := strings.Split(f[3], ",")
		m.DAX = strings.TrimSpace(string(able)) == "1" && (slices.Contains(options, "dax") || slices.Contains(options, "dax=always"))
		return m, nil
	}
	return m, fmt.Errorf("nothing is mounted on %s in the guest", folder)
}
