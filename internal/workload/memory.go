package workload

import (
	"context"
	"fmt"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

// CheckMemory refuses a load whose threads allocate a working set each and together more
// than three quarters of the machine's available memory. The load is named for the hint.
func CheckMemory(ctx context.Context, machine platform.Machine, load string, threads int, each parameter.Bytes) error {
	text, err := machine.ReadFile(ctx, "/proc/meminfo")
	if err != nil {
		return nil // a machine without the figure may have enough
	}
	want := int64(each) * int64(threads)
	if has, known := platform.Meminfo(text, "MemAvailable"); known && want > has/4*3 {
		return fmt.Errorf("%d threads with a working set of %s each take %s, and the machine has %s of memory left: lower %s.working_set or %s.threads, or give it more memory",
			threads, each, parameter.Bytes(want), parameter.Bytes(has>>20<<20), load, load)
	}
	return nil
}
