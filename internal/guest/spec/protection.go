package spec

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/guest/coresched"
	"plimsoll/internal/parameter"
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
	if every, _ := g.Checkpoints(); every > 0 { // on this host too with a standby elsewhere, to which the guest may go and come back
		memory *= protectedMemory
	}
	if g.OverFabric() {
		memory += targetMemory
	}
	return memory
}

// StandbyHost is where the standby is, as settings of platform ssh; nil on this host.
func (g Guest) StandbyHost() (parameter.Settings, error) {
	if g.Standby == "" {
		return nil, nil
	}
	s := parameter.Settings{"host": g.Standby}
	if user, host, found := strings.Cut(g.Standby, "@"); found {
		s["user"], s["host"] = user, host
	}
	if host, port, err := net.SplitHostPort(s["host"]); err == nil {
		s["host"], s["port"] = host, port
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, fmt.Errorf("standby %q: %q is not a port", g.Standby, port)
		}
	}
	if s["host"] == "" || strings.HasPrefix(s["host"], "-") {
		return nil, fmt.Errorf("standby %q: must be HOST, or USER@HOST:PORT", g.Standby)
	}
	return s, nil
}

// checkProtection refuses settings that no checkpoint covers.
func (g Guest) checkProtection() error {
	if _, err := g.StandbyHost(); err != nil {
		return err
	}
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
		{g.Standby != "" && g.Pin != "" && g.Pin != Unset, "CPUs of this host are not those of the standby's: omit pin, or standby"},
		{g.Standby != "" && (g.Scheduler != "" || g.Sharing != "" && g.Sharing != string(coresched.Default)), "scheduling on this host is not that of the standby's: omit scheduler and core_scheduling, or standby"},
		{g.VirtualTime > 0, "no checkpoint covers virtual time: omit virtual_time"},
	} {
		if c.wrong {
			return fmt.Errorf("protection %s: %s", g.Protection, c.reason)
		}
	}
	return nil
}
