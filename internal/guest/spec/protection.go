package spec

import (
	"fmt"
	"strings"
	"time"
)

// ByCheckpoints begins the level of a protection, before its interval.
const ByCheckpoints = "checkpoint:"

const (
	shortestInterval = 10 * time.Millisecond
	longestInterval  = 10 * time.Second
	// protectedMemory is the memory that a protected VM takes, as a multiple of its own: that of its standby, and a copy to compare with.
	protectedMemory = 3
)

// Checkpoints is the interval of the checkpoints of a protected VM, and 0 without protection.
func (g Guest) Checkpoints() (every time.Duration, err error) {
	if g.Protection == "" || g.Protection == Unset {
		return 0, nil
	}
	text, is := strings.CutPrefix(g.Protection, ByCheckpoints)
	if every, err = time.ParseDuration(text); !is || err != nil || every < shortestInterval || every > longestInterval {
		return 0, fmt.Errorf("protection %q: must be none, or checkpoint:INTERVAL with %s to %s, as in checkpoint:100ms", g.Protection, shortestInterval, longestInterval)
	}
	return every, nil
}

// MostMemory is the memory in bytes that a VM takes of its host, without that of QEMU itself.
func (g Guest) MostMemory() int64 {
	memory := int64(g.Memory)
	if HugePages[g.HugePages] != 0 {
		memory = 0 // the host has set huge pages aside already
	}
	if every, _ := g.Checkpoints(); every > 0 {
		memory *= protectedMemory
	}
	if g.OverFabric() {
		memory += targetMemory
	}
	return memory
}

// checkProtection refuses settings that no checkpoint covers.
func (g Guest) checkProtection() error {
	if every, err := g.Checkpoints(); err != nil || every == 0 {
		return nil
	}
	r, err := ParseRoute(g.IOFilter)
	for _, c := range []struct {
		wrong  bool
		reason string
	}{
		{err == nil && r.Server != OwnServer, "its disk must be behind plimsoll's NBD server: set io_filter: nbd and cache: writeback, in arms without protection too"},
		{g.Pmem > 0, "no checkpoint covers an NVDIMM: omit pmem"},
		{g.Nodes > 1, "no checkpoint covers the memory of several NUMA nodes: omit nodes"},
		{HugePages[g.HugePages] != 0, "no checkpoint covers huge pages: omit huge_pages"},
		{g.HostNodes != "" && g.HostNodes != Unset, "no checkpoint covers memory on chosen nodes of the host: omit host_nodes"},
		{g.VirtualTime > 0, "no checkpoint covers virtual time: omit virtual_time"},
	} {
		if c.wrong {
			return fmt.Errorf("protection %s: %s", g.Protection, c.reason)
		}
	}
	return nil
}
