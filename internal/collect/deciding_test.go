package collect

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Names, firmware and services do not tell testbeds apart, nor does the memory that a kernel keeps for itself.
func TestDecidingFacts(t *testing.T) {
	bed := TestbedRecord{
		{"machine.name", "db1"}, {"machine.model", "R740"}, {"cpu.microcode", "0x1"}, {"cpu.vulnerability.meltdown", "Mitigation: PTI"},
		{"cpu.frequency.governor", NotReadable + "no /sys/6.1.0"}, {"memory.size", "67108864000 B"}, {"software.postgres", "15.3"}, {"software.fio", "3.33"},
	}
	want := []Fact{
		{"machine.model", "R740"}, {"cpu.vulnerability.meltdown", "Mitigation: PTI"}, {"cpu.frequency.governor", "not readable"}, {"memory.size", "63 GiB"}, {"software.fio", "3.33"},
	}
	if diff := cmp.Diff(want, bed.Deciding()); diff != "" {
		t.Error(diff)
	}
	small := TestbedRecord{{"memory.size", "2040109465 B"}}
	if got := small.Deciding(); len(got) != 1 || got[0].Value != "2048 MiB" {
		t.Errorf("a small machine: %v", got)
	}
}
