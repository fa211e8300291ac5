// Package memcheck detects memory corruption by live migration. It runs in a guest, writes known
// content to memory while the guest migrates, and verifies it afterwards, both pages written
// before and pages written meanwhile.
package memcheck

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Command is the subcommand of plimsoll that is the memcheck.
const Command = "memcheck"

// order is the input of a memory check, as JSON.
type order struct {
	Bytes int64  `json:"bytes"` // of memory to allocate
	Seed  uint64 `json:"seed"`  // of its content
}

// Word is a line of output: one after the allocation, and one at the end.
type Word struct {
	Pages int   `json:"pages"`
	Wrong int   `json:"wrong"` // of them, in the last word
	Wrote int64 `json:"wrote"` // page writes after the first
}

const (
	pageSize = 4096
	// This many pages are written at this interval: some 6 MB/s.
	atOnce = 16
	pause  = 10 * time.Millisecond
	most   = 1 << 30
)

// Serve writes memory until stop is closed, and then verifies it.
func Serve(stop <-chan struct{}, in io.Reader, out io.Writer) error {
	var o order
	if err := json.NewDecoder(in).Decode(&o); err != nil {
		return fmt.Errorf("read how much memory to keep: %w", err)
	}
	if o.Bytes < pageSize || o.Bytes > most {
		return errors.New("a memory check uses 4 KiB to 1 GiB of memory")
	}
	k := newKept(int(o.Bytes/pageSize), o.Seed)
	answer := json.NewEncoder(out)
	if err := answer.Encode(Word{Pages: len(k.written)}); err != nil {
		return fmt.Errorf("report the allocated memory: %w", err)
	}
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			for range atOnce {
				k.write()
			}
		case <-stop:
			if err := answer.Encode(Word{Pages: len(k.written), Wrong: k.wrong(), Wrote: k.wrote}); err != nil {
				return fmt.Errorf("report the state of the memory: %w", err)
			}
			return nil
		}
	}
}

// kept is memory in which each word is a function of its offset and the write count of its
// page.
type kept struct {
	memory  []uint64
	written []uint32 // times, by page
	seed    uint64
	wrote   int64
	next    int
}

const words = pageSize / 8

func newKept(pages int, seed uint64) *kept {
	k := &kept{memory: make([]uint64, pages*words), written: make([]uint32, pages), seed: seed}
	for page := range k.written {
		k.fill(page)
	}
	return k
}

// word is the content at an offset of a page.
func (k *kept) word(page, place int) uint64 {
	z := k.seed + uint64(page)<<32 + uint64(k.written[page])<<16 + uint64(place)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	return z ^ z>>27
}

func (k *kept) fill(page int) {
	for i := range words {
		k.memory[page*words+i] = k.word(page, i)
	}
}

// write rewrites the next page. The step is coprime to all smaller numbers of pages, so that all
// pages are written, neighbours far apart.
func (k *kept) write() {
	const step = 1_000_003
	k.next = (k.next + step) % len(k.written)
	k.written[k.next]++
	k.wrote++
	k.fill(k.next)
}

// wrong counts corrupted pages.
func (k *kept) wrong() (pages int) {
	for page := range k.written {
		for i := range words {
			if k.memory[page*words+i] != k.word(page, i) {
				pages++
				break
			}
		}
	}
	return pages
}
