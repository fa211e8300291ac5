package collect

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// deciding are the facts of a testbed that decide how fast it is, apart from the mitigations. Programs are those that generate a load;
// the version of a service is what a study may be about.
var deciding = []string{
	"machine.model", "machine.virtualisation",
	"cpu.model", "cpu.sockets", "cpu.cores", "cpu.threads", "cpu.simultaneous_multithreading", "cpu.frequency.governor",
	memorySize, "storage.model", "kernel.release",
	"software.fio", "software.compiler", "software.source",
}

const (
	mitigations = "cpu.vulnerability."
	memorySize  = "memory.size"
)

// Deciding are the facts by which testbeds are told apart: those that decide how fast they are, without what differs from boot to
// boot.
func (t TestbedRecord) Deciding() []Fact {
	var facts []Fact
	for _, f := range t {
		if slices.Contains(deciding, f.Name) || strings.HasPrefix(f.Name, mitigations) {
			facts = append(facts, Fact{f.Name, steady(f)})
		}
	}
	return facts
}

// steady is the value of a fact without what differs from boot to boot.
func steady(f Fact) string {
	if strings.HasPrefix(f.Value, NotReadable) {
		return strings.TrimSuffix(NotReadable, ": ")
	}
	if n, err := strconv.ParseFloat(strings.TrimSuffix(f.Value, " B"), 64); err == nil && f.Name == memorySize {
		return installed(n)
	}
	return f.Value
}

// installed is the memory of a machine of which the kernel reports less, by an amount that differs: to the next GiB, of a small machine to
// the next 128 MiB.
func installed(bytes float64) string {
	const mib, gib = 1 << 20, 1 << 30
	if bytes < 4*gib {
		return strconv.FormatFloat(128*math.Ceil(bytes/(128*mib)), 'f', 0, 64) + " MiB"
	}
	return strconv.FormatFloat(math.Ceil(bytes/gib), 'f', 0, 64) + " GiB"
}
