package network

import (
	"fmt"
	"strconv"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/network"
)

const (
	nearSpeed = 0.9   // share of the speed of a device at which packets begin to wait
	often     = 0.2   // share of the time
	framing   = 24    // bytes per Ethernet frame that counters lack: preamble, checksum, gap
	leastDrop = 0.001 // share of packets
	leastRate = 10.   // drops per second
)

// interfaceSaturated finds network devices at their speed or rate limit, and queues between a
// device and the kernel that overflow. Virtual devices report speeds that mean nothing; drops of
// single packets are normal, and unknown protocols count as drops.
var interfaceSaturated = diagnosis.Rule{
	Name: "interface_saturated", Area: diagnosis.Network,
	Doc:      "a network device is at its speed, or drops packets",
	Needs:    []string{"links"},
	Explains: []string{"bufferbloat", "tcp_retransmits"},
	Check: func(e *diagnosis.Evidence) (found []diagnosis.Finding) {
		for i := range e.Mean.Links {
			if f := atSpeed(e, &e.Mean.Links[i]); f != nil {
				found = append(found, *f)
			} else if f := dropping(e, &e.Mean.Links[i]); f != nil {
				found = append(found, *f)
			}
		}
		if f := overflowing(e); f != nil && len(e.Focus) == 0 {
			found = append(found, *f)
		}
		return found
	},
}

// atSpeed judges the use of a device against its speed, or against the rate that a token
// bucket of its queue allows.
func atSpeed(e *diagnosis.Evidence, l *hoststat.Link) *diagnosis.Finding {
	speed, shaped := deviceSpeed(e, l.Name)
	if speed == 0 {
		return nil
	}
	sum, above := 0., 0.
	for i := range e.Intervals {
		if one := link(&e.Intervals[i], l.Name); one != nil {
			if use := deviceUse(one, shaped) / speed; use >= nearSpeed {
				sum, above = sum+use*e.Intervals[i].Seconds, above+e.Intervals[i].Seconds
			}
		}
	}
	if above < often*e.Mean.Seconds || above == 0 {
		return nil
	}
	use := min(1, sum/above)
	f := &diagnosis.Finding{
		Subject:    l.Name,
		Says:       "Network device {subject} carries {use} of its {speed} for {time} of the time.",
		Confidence: diagnosis.Certain,
		Impact:     min(1, above/e.Mean.Seconds) * use / 2,
		Evidence:   []diagnosis.Fact{diagnosis.Share("use", use), diagnosis.ByteRate("speed", speed), diagnosis.Share("time", min(1, above/e.Mean.Seconds)), diagnosis.ByteRate("sent", l.SentBytes), diagnosis.ByteRate("received", l.ReceivedBytes)},
		Change:     &diagnosis.Change{Says: "add a faster or a second device, or move traffic to another time: see who sends", Command: "ss -tinp   # connections with their rates"},
	}
	if shaped {
		f.Says = "The token bucket of network device {subject} limits it to {speed}, which it reaches {time} of the time."
		f.Change = &diagnosis.Change{Says: "raise the rate limit of " + l.Name, Command: fmt.Sprintf("tc qdisc replace dev %s root fq_codel   # removes the limit", l.Name)}
	}
	return f
}

// deviceSpeed is in bytes per second; 0 if it is unknown.
func deviceSpeed(e *diagnosis.Evidence, device string) (speed float64, shaped bool) {
	if q := queueOf(e, device); q != nil && q.Rate > 0 {
		return q.Rate, true
	}
	folder := "sys/class/net/" + device + "/"
	megabits, err := strconv.ParseFloat(e.Facts.Settings[folder+"speed"], 64)
	if _, real := e.Facts.Settings[folder+"device/modalias"]; err != nil || megabits <= 0 || !real {
		return 0, false
	}
	return megabits * 1e6 / 8, false
}

// deviceUse is the busier direction in bytes per second on the wire.
func deviceUse(l *hoststat.Link, shaped bool) float64 {
	sent, received := l.SentBytes+framing*l.SentPackets, l.ReceivedBytes+framing*l.ReceivedPackets
	if shaped {
		return sent
	}
	return max(sent, received)
}

// dropping judges packets that a device or its queue dropped.
func dropping(e *diagnosis.Evidence, l *hoststat.Link) *diagnosis.Finding {
	queue := 0.
	q := queueOf(e, l.Name)
	if q != nil && !managed(q.Kind) { // those drop to keep the queue short
		queue = q.Drops
	}
	sent := max(queue, l.SendDrops+l.SendErrors)
	lost, of, what := sent, l.SentPackets, "to send"
	if received := l.ReceiveDrops + l.ReceiveErrors; received > sent {
		lost, of, what = received, l.ReceivedPackets, "that arrive"
	}
	if lost < leastRate || lost < leastDrop*(of+lost) || l.Name == "lo" {
		return nil
	}
	if what == "to send" && e.Mean.Network != nil && bloated(e) != nil { // the end of a queue that is too long already
		return nil
	}
	f := &diagnosis.Finding{
		Subject:    l.Name,
		Says:       "Network device {subject} drops {share} of the packets " + what + ", {dropped}.",
		Confidence: diagnosis.Likely,
		Impact:     min(1, 5*lost/(of+lost)),
		Evidence:   []diagnosis.Fact{diagnosis.Rate("dropped", lost), diagnosis.Share("share", lost/(of+lost)), diagnosis.Rate("packets", of)},
		Change:     &diagnosis.Change{Says: "lengthen the ring of " + l.Name, Command: fmt.Sprintf("ethtool -g %[1]s; ethtool -G %[1]s rx 4096 tx 4096", l.Name)},
	}
	if _, real := e.Facts.Settings["sys/class/net/"+l.Name+"/device/modalias"]; !real {
		f.Change = &diagnosis.Change{Says: "lengthen the queue of virtual device " + l.Name + ", or give the program that reads from it more CPU time", Command: fmt.Sprintf("ip link set dev %s txqueuelen 5000", l.Name)}
	}
	if what == "to send" && queue > 0 {
		f.Confidence = diagnosis.Certain
		f.Change = queueChange(q)
	}
	return f
}

// overflowing judges the queues between devices and the kernel, of which there is one per CPU.
func overflowing(e *diagnosis.Evidence) *diagnosis.Finding {
	if e.Mean.Network == nil {
		return nil
	}
	dropped, processed := 0., 0.
	for _, s := range e.Mean.Network.Softnet {
		dropped, processed = dropped+s.Dropped, processed+s.Processed
	}
	if dropped < leastRate || dropped < leastDrop*(dropped+processed) {
		return nil
	}
	most := max(1000, setting(e, "proc/sys/net/core/netdev_max_backlog", 0))
	return &diagnosis.Finding{
		Says:       "The kernel drops {share} of received packets, {dropped}, because the input queue of a CPU is full.",
		Confidence: diagnosis.Certain,
		Impact:     min(1, 5*dropped/(dropped+processed)),
		Evidence:   []diagnosis.Fact{diagnosis.Rate("dropped", dropped), diagnosis.Share("share", dropped/(dropped+processed)), diagnosis.Rate("packets", processed), diagnosis.Number("longest queue", most)},
		Change:     &diagnosis.Change{Says: "lengthen the input queues, and spread packets over CPUs", Command: fmt.Sprintf("sysctl -w net.core.netdev_max_backlog=%.0f", 4*most)},
	}
}

func link(i *hoststat.Interval, name string) *hoststat.Link {
	for n := range i.Links {
		if i.Links[n].Name == name {
			return &i.Links[n]
		}
	}
	return nil
}

func queueOf(e *diagnosis.Evidence, device string) *network.Queue {
	if e.Mean.Network == nil {
		return nil
	}
	for i := range e.Mean.Network.Queues {
		if q := &e.Mean.Network.Queues[i]; q.Device == device {
			return q
		}
	}
	return nil
}
