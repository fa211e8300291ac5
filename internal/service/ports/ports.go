// Package ports finds free TCP ports of a machine.
package ports

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/platform"
)

const (
	lowest  = 10000 // ports of well-known services are below it
	highest = 65535
)

// Free finds distinct free TCP ports of the machine, outside its ephemeral range. Another
// process may take one before its use.
func Free(ctx context.Context, m platform.Machine, n int) ([]int, error) {
	if n == 0 {
		return nil, nil
	}
	taken := map[int]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := m.ReadFile(ctx, table)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		collect(string(text), taken)
	}
	text, err := m.ReadFile(ctx, "/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("find a free port: %w", err)
	}
	low, high := portRange(string(text))
	var ports []int
	for range 100 * n {
		p := low + rand.N(high-low+1)
		if taken[p] || slices.Contains(ports, p) {
			continue
		}
		if ports = append(ports, p); len(ports) == n {
			return ports, nil
		}
	}
	return nil, fmt.Errorf("find a free port: nearly all from %d to %d are taken", low, high)
}

// collect collects the local ports of a table such as /proc/net/tcp: in hexadecimal after
// the address, in each line after the first.
func collect(table string, taken map[int]bool) {
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		_, port, _ := strings.Cut(f[1], ":")
		if n, err := strconv.ParseUint(port, 16, 16); err == nil {
			taken[int(n)] = true
		}
	}
}

// portRange is the larger of the ranges below and above the ephemeral ports.
func portRange(text string) (low, high int) {
	f := strings.Fields(text)
	if len(f) != 2 {
		return lowest, highest
	}
	first, err1 := strconv.Atoi(f[0])
	last, err2 := strconv.Atoi(f[1])
	const few = 1000
	switch {
	case err1 != nil, err2 != nil:
		return lowest, highest
	case first-lowest >= highest-last && first-lowest >= few:
		return lowest, min(first-1, highest)
	case highest-last >= few:
		return max(last+1, lowest), highest
	}
	return lowest, highest // all ports are ephemeral: use them nevertheless
}
