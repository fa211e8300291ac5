package health

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

func name(n int) string { return "osd." + strconv.Itoa(n) }

// Watch watches a cluster for what ends loads, or makes them count for nothing.
type Watch struct {
	mu      sync.Mutex
	Errors  map[int]float64 // reads that the device of each OSD failed so far; nil: not known
	pending error           // that was found and not reported
	asked   time.Time
}

// Note finds OSDs whose devices have failed reads since the last time. The first time it takes them as known.
func (h *Watch) Note(now map[int]float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	first := h.Errors == nil
	if first {
		h.Errors = map[int]float64{}
	}
	var all []string
	for n, count := range now {
		if more := count - h.Errors[n]; more > 0 && !first {
			all = append(all, fmt.Sprintf("%s could not read from its device %.0f times", name(n), more))
		}
		h.Errors[n] = count
	}
	if len(all) > 0 {
		slices.Sort(all)
		h.pending = errors.New(strings.Join(all, ", ") + ": look for I/O errors in the kernel log, and replace the device")
	}
}

// Found is what was found and not reported yet; nil for nothing.
func (h *Watch) Found() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := h.pending
	h.pending = nil
	return err
}

// Due reports whether it is time to ask the monitor, which takes a third of a second of a CPU.
func (h *Watch) Due(every time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Since(h.asked) < every {
		return false
	}
	h.asked = time.Now()
	return true
}

// FullOSDs reads the numbers of OSDs that are full from the answer to "osd dump".
func FullOSDs(dump []byte) (all []string, err error) {
	var osds struct {
		OSDs []struct {
			ID    int      `json:"osd"`
			State []string `json:"state"`
		} `json:"osds"`
	}
	if err := json.Unmarshal(dump, &osds); err != nil {
		return nil, fmt.Errorf("parse the map of OSDs: %w", err)
	}
	for _, one := range osds.OSDs {
		if slices.Contains(one.State, "full") {
			all = append(all, name(one.ID))
		}
	}
	return all, nil
}

// Full is the error for OSDs that are full, with a remedy; nil for none.
func Full(osds []string, remedy string) error {
	if len(osds) == 0 {
		return nil
	}
	is := "is"
	if len(osds) > 1 {
		is = "are"
	}
	return fmt.Errorf("%s %s full, and writes wait for space: %s", strings.Join(osds, " and "), is, remedy)
}
