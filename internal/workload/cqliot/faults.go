package cqliot

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"plimsoll/internal/measure"
)

// faults counts the operations that failed with an answer, by kind.
type faults struct {
	kinds map[string]int64
	first string // of them, in full
}

// mostKinds limits the kinds of failures; further kinds are counted as others.
const mostKinds = 8

func (f *faults) note(kind, why string) {
	if f.kinds == nil {
		f.kinds, f.first = map[string]int64{}, why
	}
	f.count(kind, 1)
}

func (f *faults) count(kind string, n int64) {
	if _, known := f.kinds[kind]; !known && len(f.kinds) >= mostKinds {
		kind = "other"
	}
	f.kinds[kind] += n
}

func (f *faults) add(other faults) {
	if other.kinds == nil {
		return
	}
	if f.kinds == nil {
		f.kinds, f.first = map[string]int64{}, other.first
	}
	for _, kind := range slices.Sorted(maps.Keys(other.kinds)) {
		f.count(kind, other.kinds[kind])
	}
}

// explain describes why operations failed: without a node to go to, by a lost connection,
// or by a timeout. It is empty where none failed.
func (f *faults) explain(failed, timedOut int64) string {
	answered := int64(0)
	for _, n := range f.kinds {
		answered += n
	}
	var parts []string
	for _, kind := range slices.SortedFunc(maps.Keys(f.kinds), func(a, b string) int { return cmp.Or(cmp.Compare(f.kinds[b], f.kinds[a]), strings.Compare(a, b)) }) {
		parts = append(parts, fmt.Sprintf("%d %s", f.kinds[kind], kind))
	}
	if timedOut > 0 {
		parts = append(parts, fmt.Sprintf("%d not answered within the timeout", timedOut))
	}
	if lost := failed - timedOut - answered; lost > 0 {
		parts = append(parts, fmt.Sprintf("%d without a connection, or on one that ended", lost))
	}
	if len(parts) == 0 {
		return ""
	}
	text := fmt.Sprintf("%d operations failed: %s", max(failed, answered+timedOut), strings.Join(parts, ", "))
	if _, told := f.kinds[f.first]; f.first != "" && !told {
		text += "; the first with: " + strings.Join(strings.Fields(f.first), " ")
	}
	return text
}

// failedOf counts the failed operations of a load, and those of them that timed out.
func failedOf(out *measure.Recorder) (failed, timedOut int64) {
	for _, in := range out.Intervals() {
		for _, s := range in.Samples {
			failed, timedOut = failed+s.Errors, timedOut+s.TimedOut
		}
	}
	return failed, timedOut
}
