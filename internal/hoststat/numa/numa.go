// Package numa finds on which NUMA nodes the memory of a process lies.
//
// The kernel walks all pages of a process for /proc/PID/numa_maps, which takes seconds where they
// are many, and keeps the process from mapping memory meanwhile. A sample of its pages takes less
// than a millisecond, whatever its size.
package numa

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"unsafe"

	"plimsoll/internal/hoststat/parse"
)

const (
	mostNodes = 1024
	samples   = 1024
	// leastResident is the number of sampled pages with memory from which on their shares have an
	// error of 10 % at most, with 95 % confidence.
	leastResident = 96
)

// ParseMaps adds up /proc/PID/numa_maps: the bytes on each node.
func ParseMaps(text []byte) (memory []float64) {
	for line := range bytes.Lines(text) {
		page, counts := float64(os.Getpagesize()), map[int]float64{}
		for field := range bytes.FieldsSeq(line) {
			name, value, _ := bytes.Cut(field, []byte("="))
			n, ok := parse.Number(value)
			if !ok {
				continue
			}
			if string(name) == "kernelpagesize_kB" {
				page = n * 1024
			} else if rest, found := bytes.CutPrefix(name, []byte("N")); found {
				if node, known := parse.Number(rest); known && node < mostNodes {
					counts[int(node)] += n
				}
			}
		}
		for node, n := range counts {
			memory = append(memory, make([]float64, max(0, node+1-len(memory)))...)
			memory[node] += n * page
		}
	}
	return memory
}

// Shares is the share of the memory of a process that is on each node, by a sample of the pages in
// the regions of its /proc/PID/maps (move_pages(2)). It takes the right to trace the process.
func Shares(pid int, maps []byte) ([]float64, error) {
	pages := sample(maps)
	if len(pages) == 0 {
		return nil, fmt.Errorf("process %d has no memory", pid)
	}
	nodes := make([]int32, len(pages))
	_, _, code := syscall.Syscall6(syscall.SYS_MOVE_PAGES, uintptr(pid), uintptr(len(pages)), uintptr(unsafe.Pointer(&pages[0])), 0, uintptr(unsafe.Pointer(&nodes[0])), 0)
	if code != 0 {
		return nil, fmt.Errorf("ask for the nodes of pages of process %d: %w", pid, code)
	}
	shares, resident := make([]float64, 0, 8), 0.
	for _, node := range nodes {
		if node < 0 || node >= mostNodes {
			continue // not in memory
		}
		shares = append(shares, make([]float64, max(0, int(node)+1-len(shares)))...)
		shares[node]++
		resident++
	}
	if resident < leastResident {
		return nil, fmt.Errorf("%.0f of %d sampled pages of process %d are in memory", resident, len(pages), pid)
	}
	for node := range shares {
		shares[node] /= resident
	}
	return shares, nil
}

// sample chooses pages at random, one in each of equal parts of the regions that can be accessed.
// Interleaved memory would deceive equal distances.
func sample(maps []byte) (pages []uint64) {
	type region struct{ from, pages uint64 }
	var all []region
	total, size := uint64(0), uint64(os.Getpagesize())
	for line := range bytes.Lines(maps) { // "7f12a000-7f13b000 rw-p ..."
		addresses, rest, _ := bytes.Cut(line, []byte(" "))
		first, last, _ := bytes.Cut(addresses, []byte("-"))
		from, err := strconv.ParseUint(string(first), 16, 64)
		to, err2 := strconv.ParseUint(string(last), 16, 64)
		if err != nil || err2 != nil || to <= from || to-from > 1<<57 || !bytes.HasPrefix(rest, []byte("rw")) {
			continue
		}
		all, total = append(all, region{from, (to - from) / size}), total+(to-from)/size
	}
	if total == 0 {
		return nil
	}
	random := rand.New(rand.NewPCG(1, total))
	n, at, passed := min(samples, total), 0, uint64(0)
	for i := range n {
		part := total / n
		target := i*part + random.Uint64N(part)
		for passed+all[at].pages <= target {
			passed += all[at].pages
			at++
		}
		pages = append(pages, all[at].from+(target-passed)*size)
	}
	return pages
}
