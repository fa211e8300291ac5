package desktop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/platform"
)

var errMemory = errors.New("memory: the kernel killed processes of the sessions for lack of it")

// leastMemory is the share of memory that a load leaves available: with less the kernel may kill whatever it chooses.
const leastMemory = .04

// watchMemory ends the load before memory runs out. The function that it returns ends the watch.
func (w *day) watchMemory() (stop func()) {
	ctx, cancel := context.WithCancel(w.ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			text, err := os.ReadFile("/proc/meminfo")
			if err != nil {
				return
			}
			if err := enoughMemory(text); err != nil {
				w.cancel(err)
				return
			}
		}
	}()
	return func() { cancel(); <-over }
}

// enoughMemory reads /proc/meminfo.
func enoughMemory(text []byte) error {
	left, known := platform.Meminfo(text, "MemAvailable")
	all, also := platform.Meminfo(text, "MemTotal")
	if known && also && float64(left) < leastMemory*float64(all) {
		return fmt.Errorf("memory: %d MiB of %d MiB were left, so that the sessions were ended before the kernel kills processes", left>>20, all>>20)
	}
	return nil
}

// exhausted is the error of a load that ran out of memory.
func (w *day) exhausted() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.starved {
		return errMemory
	}
	return nil
}

// memoryKills counts the processes that the kernel has killed for lack of memory, also of a control group; 0 where it does not
// say.
func memoryKills() int64 {
	text, _ := os.ReadFile("/proc/vmstat")
	return parseKills(string(text))
}

func parseKills(text string) int64 {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, "oom_kill "); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			return n
		}
	}
	return 0
}

// pressures are how long some process has waited for each resource since the machine started (Linux,
// Documentation/accounting/psi.rst); empty where the kernel does not say.
func pressures() map[string]time.Duration {
	all := map[string]time.Duration{}
	for _, resource := range []string{"cpu", "memory", "io"} {
		text, err := os.ReadFile("/proc/pressure/" + resource)
		if err != nil {
			continue
		}
		if total, ok := parsePressure(string(text)); ok {
			all[resource] = total
		}
	}
	return all
}

// parsePressure is the total of the line "some".
func parsePressure(text string) (time.Duration, bool) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "some" {
			continue
		}
		for _, field := range fields[1:] {
			if value, ok := strings.CutPrefix(field, "total="); ok {
				micros, err := strconv.ParseInt(value, 10, 53)
				return time.Duration(micros) * time.Microsecond, err == nil && micros >= 0
			}
		}
	}
	return 0, false
}
