package memoryaccess

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// The advice about the pages of a working set: see madvise(2).
const (
	system = "system" // none
	huge   = "huge"
	base   = "base"
)

// advise gives the kernel the advice about a mapping, and returns the one that it shows to be in
// effect.
func advise(set []byte, pages string) (string, error) {
	var err error
	switch pages {
	case huge:
		err = syscall.Madvise(set, syscall.MADV_HUGEPAGE)
	case base:
		if err = syscall.Madvise(set, syscall.MADV_NOHUGEPAGE); errors.Is(err, syscall.EINVAL) {
			return base, nil // a kernel without huge pages has no other
		}
	default:
		return system, nil
	}
	if errors.Is(err, syscall.EINVAL) {
		return "", errors.New("the kernel of this machine has no transparent huge pages: leave out memory-access.pages")
	}
	if err != nil {
		return "", fmt.Errorf("advise the kernel to use %s pages: %w", pages, err)
	}
	smaps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return "", fmt.Errorf("read back the advice about pages: %w", err)
	}
	text, err := io.ReadAll(smaps)
	if err := cmp.Or(err, smaps.Close()); err != nil {
		return "", fmt.Errorf("read back the advice about pages: %w", err)
	}
	return adviceAt(string(text), uint64(uintptr(unsafe.Pointer(&set[0])))), nil
}

// adviceAt reads the advice of the mapping with an address from the text of /proc/PID/smaps,
// proc_pid_smaps(5): a line with its range, and further below its flags.
func adviceAt(smaps string, address uint64) string {
	inside := false
	for line := range strings.Lines(smaps) {
		if from, to, ok := mappedRange(line); ok {
			inside = from <= address && address < to
			continue
		}
		flags, ok := strings.CutPrefix(line, "VmFlags:")
		if !inside || !ok {
			continue
		}
		switch all := strings.Fields(flags); {
		case slices.Contains(all, "hg"):
			return huge
		case slices.Contains(all, "nh"):
			return base
		}
		return system
	}
	return ""
}

// mappedRange is the range of a line such as "7f00-7f80 rw-p 00000000 00:00 0".
func mappedRange(line string) (from, to uint64, ok bool) {
	addresses, _, _ := strings.Cut(line, " ")
	low, high, found := strings.Cut(addresses, "-")
	from, err := strconv.ParseUint(low, 16, 64)
	to, err2 := strconv.ParseUint(high, 16, 64)
	return from, to, found && err == nil && err2 == nil
}
