// Package layout is the notation of vCPU topologies in studies: spread, auto, or numbers such
// as 2x4.
package layout

import (
	"fmt"
	"strconv"
	"strings"

	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/view"
)

// Layout is a number of sockets, dies of each, cores of each and threads of each.
type Layout struct{ Sockets, Dies, Cores, Threads int }

// Count is the number of vCPUs.
func (l Layout) Count() int { return l.Sockets * l.Dies * l.Cores * l.Threads }

// String is its shortest notation.
func (l Layout) String() string {
	switch {
	case l.Dies > 1:
		return fmt.Sprintf("%dx%dx%dx%d", l.Sockets, l.Dies, l.Cores, l.Threads)
	case l.Threads > 1:
		return fmt.Sprintf("%dx%dx%d", l.Sockets, l.Cores, l.Threads)
	}
	return fmt.Sprintf("%dx%d", l.Sockets, l.Cores)
}

// parse reads numbers: SOCKETSxCORES, SOCKETSxCORESxTHREADS or SOCKETSxDIESxCORESxTHREADS.
func parse(text string) (Layout, error) {
	wrong := fmt.Errorf("topology %q: must be spread, auto or numbers such as 2x4, which is 2 sockets of 4 cores", text)
	var n []int
	for part := range strings.SplitSeq(text, "x") {
		v, err := strconv.Atoi(part)
		if err != nil || v < 1 || v > 255 {
			return Layout{}, wrong
		}
		n = append(n, v)
	}
	switch len(n) {
	case 2:
		return Layout{n[0], 1, n[1], 1}, nil
	case 3:
		return Layout{n[0], 1, n[1], n[2]}, nil
	case 4:
		return Layout{n[0], n[1], n[2], n[3]}, nil
	}
	return Layout{}, wrong
}

// Check validates the notation of a setting.
func Check(text string) error {
	switch text {
	case "", string(hardware.Spread), string(hardware.Auto):
		return nil
	}
	_, err := parse(text)
	return err
}

// Apply sets the topology of a guest with a known number of vCPUs; an empty text is spread.
func Apply(c *hardware.CPU, text string) error {
	switch text {
	case "", string(hardware.Spread):
		c.Topology = hardware.Spread
		return nil
	case string(hardware.Auto):
		c.Topology = hardware.Auto
		return nil
	}
	l, err := parse(text)
	if err != nil {
		return err
	}
	if l.Count() != c.Count {
		return fmt.Errorf("topology %s has %d vCPUs, and the guest has %d", text, l.Count(), c.Count)
	}
	c.Topology, c.Sockets, c.Dies, c.Cores, c.Threads = hardware.Explicit, l.Sockets, l.Dies, l.Cores, l.Threads
	return nil
}

// Of is the layout of an arranged shape.
func Of(c hardware.CPU) Layout {
	return Layout{max(1, c.Sockets), max(1, c.Dies), max(1, c.Cores), max(1, c.Threads)}
}

// Seen is the topology that a guest reports.
func Seen(v view.Topology) Layout {
	sockets := max(1, v.Sockets())
	dies := max(1, v.Dies()/sockets)
	cores := max(1, v.Cores()/sockets/dies)
	return Layout{sockets, dies, cores, max(1, len(v.CPUs)/max(1, v.Cores()))}
}
