package qemu

import (
	"fmt"

	"plimsoll/internal/guest/view"
)

// cpuList reads a list of CPUs that has at least one.
func cpuList(s string) ([]int, error) {
	l, err := view.List(s)
	if err == nil && len(l) == 0 {
		err = fmt.Errorf("no CPU is given: give a list such as 0-3,8")
	}
	return l, err
}
