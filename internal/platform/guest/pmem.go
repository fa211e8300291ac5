package guest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"plimsoll/internal/guest/furnish"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/platform"
)

// Where workloads write.
const (
	onDisk = "disk" // the disk, on its controller
	onPmem = "pmem" // the NVDIMM as a block device, through the page cache
	onDAX  = "dax"  // the NVDIMM, with files mapped straight to its memory
)

const (
	pmemImage = "pmem.img"
	// pmemHead is what the kernel keeps for itself at the beginning of a namespace that
	// takes DAX; the file system follows it.
	pmemHead  = 2 << 20
	leastPmem = 32 << 20
)

// persistent is the NVDIMM of the settings.
func (s Settings) persistent() ([]qemu.Persistent, error) {
	if s.Pmem == 0 {
		if s.Storage == onPmem || s.Storage == onDAX {
			return nil, fmt.Errorf("storage: %s needs an NVDIMM: set its size, as in pmem: 1GiB", s.Storage)
		}
		return nil, nil
	}
	if s.Pmem < leastPmem {
		return nil, fmt.Errorf("pmem: %s has no room for a file system: take 32MiB or more", s.Pmem)
	}
	return []qemu.Persistent{{Name: "pmem", Kind: qemu.NVDIMM, Size: int64(s.Pmem)}}, nil
}

// makePmem makes the file of the NVDIMM with an empty file system, where there is none.
// It stays from boot to boot.
func (m *machine) makePmem(ctx context.Context) (string, error) {
	name := filepath.Join(m.home.Path, pmemImage)
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", fmt.Errorf("make the guest's NVDIMM: %w", err)
	}
	size := int64(m.settings.Pmem)
	if err := errors.Join(f.Truncate(size), f.Close()); err != nil {
		return "", fmt.Errorf("make the guest's NVDIMM: %w", err)
	}
	if err := furnish.FormatBehind(ctx, name, pmemHead, size-pmemHead); err != nil {
		return "", errors.Join(err, os.Remove(name))
	}
	return name, nil
}

// attachPmem makes the NVDIMM fit for DAX and mounts it.
func attachPmem(ctx context.Context, far platform.Machine, storage string) error {
	if err := forDAX(ctx, far); err != nil {
		return fmt.Errorf("make the guest's NVDIMM fit for DAX: %w", err)
	}
	if err := furnish.Do(ctx, far, "mkdir", "-p", "--", scratch); err != nil {
		return err
	}
	argv := []string{"mount", "-t", "ext4"}
	if storage == onDAX {
		argv = append(argv, "-o", "dax")
	}
	return furnish.Do(ctx, far, append(argv, "--", "/dev/pmem0", scratch)...)
}

const (
	ndDevices = "/sys/bus/nd/devices/"
	ndDriver  = "/sys/bus/nd/drivers/nd_pmem/"
	pmemDAX   = "/sys/block/pmem0/queue/dax"
)

// forDAX turns the only NVDIMM into a namespace that takes DAX, as ndctl does. That lasts:
// the kernel writes it into the head of the namespace.
func forDAX(ctx context.Context, far platform.Machine) error {
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

// await reads a file that the guest's kernel makes soon.
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

// storageSeen is where workloads write, as the guest's kernel has it.
func storageSeen(ctx context.Context, far platform.Machine) (string, error) {
	device, options, err := mounted(ctx, far, scratch)
	if err != nil || !strings.HasPrefix(device, "pmem") {
		return onDisk, err
	}
	able, err := far.ReadFile(ctx, "/sys/block/"+device+"/queue/dax")
	if err != nil {
		return "", fmt.Errorf("ask the guest's NVDIMM: %w", err)
	}
	for o := range strings.SplitSeq(options, ",") {
		if (o == "dax" || o == "dax=always") && strings.TrimSpace(string(able)) == "1" {
			return onDAX, nil
		}
	}
	return onPmem, nil
}
