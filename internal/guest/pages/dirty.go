package pages

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Bits of an entry of /proc/PID/pagemap (Documentation/admin-guide/mm/pagemap.rst and soft-dirty.rst of Linux).
const (
	entrySize = 8
	softDirty = 1 << 55 // written since the bits were cleared
	present   = 1 << 63
)

// clearSoftDirty is what /proc/PID/clear_refs is told.
const clearSoftDirty = "4"

// marked are the soft-dirty bits of the mapping that a process has of a file.
type marked struct {
	pagemap, clear *os.File
	first          int64 // entry of the first page
}

// Track has Take look at those pages only that a process has written since the last call, by the kernel's soft-dirty bits. The process must
// map the whole source once, and nobody else may write to it. It is false, and all pages are compared, where the kernel lacks these
// bits, or may lose them because it swaps.
func (c *Copy) Track(pid int) (tracked bool, err error) {
	if !marks() || swaps() {
		return false, nil
	}
	start, err := mappedAt(pid, c.source)
	if err != nil {
		return false, err
	}
	b := &marked{first: start / Size}
	if b.pagemap, err = os.Open(fmt.Sprintf("/proc/%d/pagemap", pid)); err != nil {
		return false, err
	}
	if b.clear, err = os.OpenFile(fmt.Sprintf("/proc/%d/clear_refs", pid), os.O_WRONLY, 0); err != nil {
		return false, errors.Join(err, b.pagemap.Close())
	}
	c.marked, c.whole = b, true
	return true, nil
}

// marks reports whether this kernel marks the pages that were written, by trying.
var marks = sync.OnceValue(func() bool {
	page, err := unix.Mmap(-1, 0, Size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return false
	}
	defer unix.Munmap(page) //nolint:errcheck // it was mapped
	f, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // only read
	is := func() bool {
		var entry [entrySize]byte
		_, err := f.ReadAt(entry[:], int64(uintptr(unsafe.Pointer(&page[0])))/Size*entrySize)
		return err == nil && binary.NativeEndian.Uint64(entry[:])&softDirty != 0
	}
	page[0] = 1
	if os.WriteFile("/proc/self/clear_refs", []byte(clearSoftDirty), 0) != nil || is() {
		return false
	}
	page[0] = 2
	return is()
})

// swaps reports whether this host has swap space. The bits of a page of shared memory end when it is swapped out.
func swaps() bool {
	text, err := os.ReadFile("/proc/swaps")
	return err != nil || bytes.Count(text, []byte("\n")) > 1 // after its heading
}

// mappedAt is the address at which a process has mapped a file.
func mappedAt(pid int, f *os.File) (start int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	inode := info.Sys().(*syscall.Stat_t).Ino
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		var end, offset int64
		var flags, device string
		var number uint64
		if n, _ := fmt.Sscanf(line, "%x-%x %s %x %s %d", &start, &end, &flags, &offset, &device, &number); n < 6 || number != inode || offset != 0 {
			continue
		}
		if end-start != info.Size() {
			return 0, fmt.Errorf("process %d has mapped %d of %d bytes of a guest's memory", pid, end-start, info.Size())
		}
		return start, nil
	}
	return 0, fmt.Errorf("process %d has not mapped the memory of its guest", pid)
}

// take reads which pages may have been written since the last call, and clears their bits.
func (b *marked) take(n int) (written bitset, err error) {
	written = newBitset(n)
	buffer := make([]byte, min(n, 64<<10)*entrySize)
	for first := 0; first < n; {
		part := buffer[:min(len(buffer), (n-first)*entrySize)]
		if _, err := b.pagemap.ReadAt(part, (b.first+int64(first))*entrySize); err != nil {
			return nil, fmt.Errorf("read which pages of a guest were written: %w", err)
		}
		for ; len(part) > 0; part = part[entrySize:] {
			if e := binary.NativeEndian.Uint64(part); e&softDirty != 0 || e&present == 0 {
				written.set(first)
			}
			first++
		}
	}
	if _, err := b.clear.WriteString(clearSoftDirty); err != nil {
		return nil, fmt.Errorf("forget which pages of a guest were written: %w", err)
	}
	return written, nil
}

func (b *marked) close() error { return errors.Join(b.pagemap.Close(), b.clear.Close()) }
