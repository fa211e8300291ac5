package cpu

import (
	"strconv"

	"plimsoll/internal/diagnosis"
)

const (
	// mostPerPacket is the number of packets per interrupt from which on coalescing works.
	mostPerPacket = 2.
	// leastDeviceInterrupts per second: at 2 to 5 us each they use a tenth of a CPU.
	leastDeviceInterrupts = 30e3
	// leastInterruptTime is the CPU time in interrupts, in CPUs, from which on they hurt.
	leastInterruptTime = 0.3
	// mostDeferral is the delay of packets by deferred interrupts that a local network notices.
	mostDeferral = 100e-6
)

// interruptCoalescing finds network devices with an interrupt for nearly every packet, at a rate
// that costs CPU time, and devices that defer packets for long. Low rates look alike: there, an
// interrupt per packet is right.
var interruptCoalescing = diagnosis.Rule{
	Name: "interrupt_coalescing", Area: diagnosis.Network,
	Doc:   "a network device interrupts for nearly every packet, or defers packets for long",
	Needs: []string{"cpus", "irqs", "links"},
	Check: func(e *diagnosis.Evidence) (found []diagnosis.Finding) {
		inIRQ := 0.
		for _, c := range e.Mean.CPUs {
			inIRQ += c.IRQ + c.SoftIRQ
		}
		link := busiestWire(e)
		if link == "" {
			return nil
		}
		if f, ok := deferred(e, link); ok {
			return []diagnosis.Finding{f}
		}
		count, packets := networkInterrupts(e), 0.
		for _, l := range e.Mean.Links {
			if l.Name == link {
				packets = l.ReceivedPackets
			}
		}
		if count < leastDeviceInterrupts || packets > mostPerPacket*count || inIRQ < leastInterruptTime {
			return nil
		}
		return []diagnosis.Finding{{
			Subject:    link,
			Says:       "{subject} interrupts {interrupts} for {packets} packets received, and interrupts use {time} CPUs.",
			Confidence: diagnosis.Possible,
			Impact:     min(1, inIRQ/max(used(e.Mean), 1e-9)/2),
			Evidence:   []diagnosis.Fact{diagnosis.Rate("interrupts", count), diagnosis.Rate("packets", packets), diagnosis.Number("time", inIRQ)},
			Change: &diagnosis.Change{
				Says: "let " + link + " coalesce interrupts", Command: "ethtool -C " + link + " adaptive-rx on || ethtool -C " + link + " rx-usecs 20", Factor: "host.interrupt_coalescing",
			},
		}}
	},
}

// deferred judges a device that waits for a timer before it handles packets.
func deferred(e *diagnosis.Evidence, link string) (diagnosis.Finding, bool) {
	at := "sys/class/net/" + link + "/"
	timeout, err := strconv.ParseFloat(e.Facts.Settings[at+"gro_flush_timeout"], 64)
	hard, err2 := strconv.ParseFloat(e.Facts.Settings[at+"napi_defer_hard_irqs"], 64)
	if err != nil || err2 != nil || hard == 0 || timeout*1e-9*hard < mostDeferral {
		return diagnosis.Finding{}, false
	}
	return diagnosis.Finding{
		Subject:    link,
		Says:       "{subject} may defer packets by {deferral}: gro_flush_timeout times napi_defer_hard_irqs.",
		Confidence: diagnosis.Possible,
		Impact:     0.05,
		Evidence:   []diagnosis.Fact{diagnosis.Seconds("deferral", timeout*1e-9*hard)},
		Change: &diagnosis.Change{
			Says: "lower gro_flush_timeout of " + link, Command: "echo 20000 > /sys/class/net/" + link + "/gro_flush_timeout", Factor: "host.gro_flush_timeout",
		},
	}, true
}

// busiestWire is the busiest network device with interrupts, so not the loopback.
func busiestWire(e *diagnosis.Evidence) (name string) {
	most := 100.
	for _, l := range e.Mean.Links {
		if l.Name != "lo" && l.ReceivedPackets > most {
			name, most = l.Name, l.ReceivedPackets
		}
	}
	return name
}

// networkInterrupts is the rate of interrupts of network devices, by the names that drivers give them.
func networkInterrupts(e *diagnosis.Evidence) (count float64) {
	names := []string{"eth", "ens", "eno", "enp", "mlx", "ixgbe", "i40e", "ice-", "bnxt", "vmxnet", "TxRx", "input", "ena", "gve", "xen-net"}
	for _, irq := range e.Mean.IRQs {
		for _, name := range names {
			if containsWord(irq.Device, name) {
				count += sum(irq.PerCPU)
				break
			}
		}
	}
	return count
}
