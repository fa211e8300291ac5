package cpu

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat"
)

const (
	// leastSoftIRQs per second: fewer cannot fill a CPU, at a few microseconds each.
	leastSoftIRQs = 1000.
	// onOneCPU is the share of a vector on one CPU that is a concentration, on two CPUs as well.
	onOneCPU = 0.75
	// leastSoftTime is the share of that CPU's time in interrupts: with less, something else fills it.
	leastSoftTime = 0.25
	// leastDropped is the rate of packets that a CPU drops for lack of room in its backlog queue.
	leastDropped = 100.
	// fullCPU is the idle share of a CPU that is at its limit.
	fullCPU = 0.1
)

// softirqOnOneCPU finds network or block soft interrupts that fill one CPU while others are
// idle, or that drop packets there. Two look-alikes stay silent: concentration on a CPU with time left, and a CPU that a
// program fills beside few soft interrupts.
var softirqOnOneCPU = diagnosis.Rule{
	Name: "softirq_on_one_cpu", Area: diagnosis.CPU,
	Doc:      "soft interrupts of the network or of block devices fill one CPU, and others are idle",
	Needs:    []string{"cpus", "softirqs"},
	Explains: []string{"hot_thread", "interface_saturated", "cpu_affinity", "rescheduling_storm", "interrupt_coalescing", "noisy_neighbour", "cpu_saturated", "too_few_workers"},
	Episodes: true,
	Check: func(e *diagnosis.Evidence) (found []diagnosis.Finding) {
		for _, vector := range []string{"NET_RX", "BLOCK"} {
			counts, work := e.Mean.SoftIRQs[vector], vector+" soft interrupts"
			at := concentrated(counts)
			if packets := processed(e); at < 0 && vector == "NET_RX" {
				// Each CPU that hands packets over counts a soft interrupt of its own.
				counts, work, at = packets, "packets received", concentrated(packets)
			}
			if at < 0 || at >= len(e.Mean.CPUs) {
				continue
			}
			total := sum(counts)
			c := e.Mean.CPUs[at]
			soft := c.SoftIRQ + c.IRQ + ksoftirqd(e, at)
			lost, handled := droppedOn(e, vector, at)
			if soft < leastSoftTime || lost < leastDropped && (c.Idle+c.IOWait > fullCPU || e.Idle() < e.IdleRoom()) {
				continue
			}
			device, change := spread(e, vector, at)
			drops := ""
			if lost >= leastDropped {
				drops = " and {dropped} packets are dropped"
			}
			found = append(found, diagnosis.Finding{
				Subject:    device,
				Says:       fmt.Sprintf("CPU %d handles {share} of the %s%s: they use {time} of its time, and it is {busy} busy, while {idle} CPUs are idle%s.", at, work, of(device), drops),
				Confidence: diagnosis.Certain,
				Impact:     min(1, max(e.Idle()/e.Online(), lost/max(lost+handled, 1e-9))),
				Evidence:   []diagnosis.Fact{diagnosis.Rate("dropped", lost), diagnosis.Share("share", counts[at]/total), diagnosis.Rate(work, total), diagnosis.Share("time", soft), diagnosis.Share("busy", 1-c.Idle-c.IOWait), diagnosis.Number("idle", e.Idle())},
				Change:     change,
				Prediction: &diagnosis.Prediction{Low: 0, High: e.Idle() / max(used(e.Mean), 1e-9), Of: "throughput", Basis: "idle CPUs / busy CPUs, if the load uses them all"},
			})
		}
		return found
	},
}

// concentrated is the CPU with nearly all of a work that could fill it; -1 if there is none.
func concentrated(counts []float64) int {
	total := sum(counts)
	if total < leastSoftIRQs {
		return -1
	}
	at := slices.Index(counts, slices.Max(counts))
	if counts[at] < onOneCPU*total {
		return -1
	}
	return at
}

// processed are the packets that each CPU takes through the protocols.
func processed(e *diagnosis.Evidence) (packets []float64) {
	if e.Mean.Network != nil {
		for _, s := range e.Mean.Network.Softnet {
			packets = append(packets, s.Processed)
		}
	}
	return packets
}

func of(device string) string {
	if device == "" {
		return ""
	}
	return " of " + device
}

// droppedOn is the rate of packets that a CPU dropped, and of those that it handled.
func droppedOn(e *diagnosis.Evidence, vector string, cpu int) (dropped, handled float64) {
	if n := e.Mean.Network; vector == "NET_RX" && n != nil && cpu < len(n.Softnet) {
		return n.Softnet[cpu].Dropped, n.Softnet[cpu].Processed
	}
	return 0, 0
}

// ksoftirqd is the CPU time of the kernel's thread for soft interrupts of a CPU.
func ksoftirqd(e *diagnosis.Evidence, cpu int) float64 {
	name := fmt.Sprintf("ksoftirqd/%d", cpu)
	for i := range e.Mean.Processes {
		if p := &e.Mean.Processes[i]; p.Name == name {
			return p.Busy()
		}
	}
	return 0
}

// spread is the change that spreads a vector over the CPUs: interrupts to several CPUs where a
// device has several, else receive packet steering.
func spread(e *diagnosis.Evidence, vector string, cpu int) (device string, change *diagnosis.Change) {
	here := interruptsOn(e, cpu)
	mask := cpuMask(onlineCPUs(e))
	if vector == "BLOCK" {
		change = &diagnosis.Change{Says: "spread the interrupts of the block device over the CPUs, and let requests complete on the CPU that issued them"}
		if d := busiestDisk(e.Mean); d != "" {
			device = d
			change.Command = "echo 2 > /sys/block/" + d + "/queue/rq_affinity"
		}
		return device, irqs(change, here)
	}
	device = busiestLink(e.Mean)
	if len(here) > 1 {
		return device, irqs(&diagnosis.Change{Says: "spread the interrupts of " + device + " over the CPUs"}, here)
	}
	return device, &diagnosis.Change{
		Says:    "let receive packet steering (RPS) spread the packets of " + device + " over all CPUs",
		Command: "for q in /sys/class/net/" + device + "/queues/rx-*; do echo " + mask + " > $q/rps_cpus; done",
		Factor:  "host.receive_packet_steering",
	}
}

// irqs adds a command that gives each of some interrupts a CPU of its own.
func irqs(change *diagnosis.Change, names []string) *diagnosis.Change {
	if len(names) > 1 {
		change.Command = "n=0; for i in " + strings.Join(names, " ") + "; do echo $((n++ % $(nproc))) > /proc/irq/$i/smp_affinity_list; done"
	}
	return change
}

// interruptsOn are the numbered interrupts that occur on one CPU mainly.
func interruptsOn(e *diagnosis.Evidence, cpu int) (names []string) {
	for _, irq := range e.Mean.IRQs {
		total := sum(irq.PerCPU)
		if irq.Name[0] >= '0' && irq.Name[0] <= '9' && cpu < len(irq.PerCPU) && total >= 100 && irq.PerCPU[cpu] >= onOneCPU*total {
			names = append(names, irq.Name)
		}
	}
	return names
}

func busiestLink(i *hoststat.Interval) (name string) {
	most := 0.
	for _, l := range i.Links {
		if l.ReceivedPackets > most {
			name, most = l.Name, l.ReceivedPackets
		}
	}
	return name
}

func busiestDisk(i *hoststat.Interval) (name string) {
	most := 0.
	for _, d := range i.Disks {
		if n := d.Reads + d.Writes; n > most {
			name, most = d.Name, n
		}
	}
	return name
}
