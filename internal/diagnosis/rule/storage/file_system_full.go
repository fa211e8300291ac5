package storage

import (
	"fmt"
	"strings"

	"plimsoll/internal/diagnosis"
)

const (
	leastFree  = 0.05     // share of space or inodes
	plenty     = 10 << 30 // bytes free that are enough for a while, whatever their share
	tinySystem = 2 << 30  // bytes: boot and firmware partitions are made to be full
	soon       = 3600     // seconds
	fullOrSoon = 0.5      // impact: writes fail
	nearlyFull = 0.05
	noneLeft   = 0.005
)

// fileSystemFull finds file systems without room for more. Large ones with a small share free, and
// read-only and boot partitions look alike.
var fileSystemFull = diagnosis.Rule{
	Name: "file_system_full", Area: diagnosis.Storage,
	Doc:   "a file system has no room or no inodes left, or soon none",
	Needs: []string{"filesystems"},
	Check: func(e *diagnosis.Evidence) (found []diagnosis.Finding) {
		for _, f := range e.Mean.Files {
			if f.Size < tinySystem || strings.HasPrefix(f.Mount, "/boot") || f.Type == "vfat" || f.Type == "iso9660" {
				continue
			}
			free, what := f.Free/f.Size, "space"
			left := f.Free / max(1, growth(e, f.Mount))
			low := free < leastFree && (f.Free < plenty || left < soon)
			if inodes := f.InodesFree / max(1, f.Inodes); f.Inodes > 0 && inodes < leastFree {
				free, what, low, left = inodes, "inodes", true, soon
			}
			if !low {
				continue
			}
			one := diagnosis.Finding{
				Subject:    f.Mount,
				Confidence: diagnosis.Certain,
				Impact:     nearlyFull,
				Says:       fmt.Sprintf("File system {subject} on %s has {free} of its %s free ({space}).", f.Device, what),
				Evidence:   []diagnosis.Fact{diagnosis.Share("free", free), diagnosis.Bytes("space", f.Free)},
				Change:     &diagnosis.Change{Says: "delete or move files, or grow the file system", Command: "du --one-file-system --max-depth=2 " + f.Mount + " | sort -n | tail"},
			}
			if what == "inodes" {
				one.Change.Command = "du --inodes --one-file-system --max-depth=2 " + f.Mount + " | sort -n | tail"
			}
			if left < soon {
				one.Says += " At the rate of the last minute it is full in {full in}."
				one.Evidence = append(one.Evidence, diagnosis.Seconds("full in", left))
			}
			if free < noneLeft || left < soon {
				one.Impact = fullOrSoon
			}
			found = append(found, one)
		}
		return found
	},
}

// growth is the rate at which a file system fills, in bytes per second, over the series.
func growth(e *diagnosis.Evidence, mount string) float64 {
	free := func(n int) (float64, bool) {
		for _, f := range e.Intervals[n].Files {
			if f.Mount == mount {
				return f.Free, true
			}
		}
		return 0, false
	}
	last := len(e.Intervals) - 1
	if last < 1 {
		return 0
	}
	first, known := free(0)
	now, still := free(last)
	if !known || !still {
		return 0
	}
	return (first - now) / max(1, e.Intervals[last].At-e.Intervals[0].At)
}
