package apply

import (
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/migrate"
	"plimsoll/internal/cluster/place"
	"plimsoll/internal/live"
)

// clock estimates the remaining time of a plan: from the memory and the links of the moves,
// corrected by the duration of those made.
type clock struct {
	seconds             []float64 // estimates, by change
	over                []bool
	least               float64 // of the whole plan, with the maximum number of concurrent moves
	began               time.Time
	estimated, measured float64
}

func newClock(p Plan, most map[string]int) clock {
	vms, hosts := map[string]cluster.VMID{}, map[string]cluster.HostID{}
	for v := range p.Seen.VMs {
		vms[p.Seen.VMs[v].Name] = cluster.VMID(v)
	}
	for h := range p.Seen.Hosts {
		hosts[p.Seen.Hosts[h].Name] = cluster.HostID(h)
	}
	k := clock{seconds: make([]float64, len(p.Changes)), over: make([]bool, len(p.Changes)), began: time.Now()}
	for i, c := range p.Changes {
		k.seconds[i] = 1
		v, known := vms[c.VM]
		from, here := hosts[c.From]
		to, there := hosts[c.To]
		if c.Action == live.Move && known && here && there {
			k.seconds[i] = max(1, float64(migrate.CopyTime(p.Seen, place.Step{VM: v, From: from, To: to})))
		}
	}
	k.least = least(p.Changes, k.seconds, most)
	return k
}

// least is the duration of changes if each host makes its maximum number of concurrent moves.
func least(changes []Change, seconds []float64, most map[string]int) float64 {
	alone, longest, busy := 0., 0., map[string]float64{}
	for i := range changes {
		c := &changes[i]
		if !c.places() {
			alone += seconds[i]
			continue
		}
		longest = max(longest, seconds[i])
		for _, host := range []string{c.From, c.To} {
			if moves := most[host]; moves > 0 {
				busy[host] += seconds[i] / float64(moves)
				longest = max(longest, busy[host])
			}
		}
	}
	return alone + longest
}

// took enters the duration of a change.
func (k *clock) took(i int, seconds float64) {
	k.over[i] = true
	k.estimated += k.seconds[i]
	k.measured += seconds
}

// left estimates the time of the unfinished changes, with the concurrency so far.
func (k *clock) left() time.Duration {
	if k.estimated == 0 { // none has ended
		return time.Duration(k.least * float64(time.Second))
	}
	sum := 0.
	for i, s := range k.seconds {
		if !k.over[i] {
			sum += s
		}
	}
	sum *= k.measured / k.estimated
	if passed := time.Since(k.began).Seconds(); k.measured > passed && passed > 0 {
		sum *= passed / k.measured
	}
	return time.Duration(sum * float64(time.Second))
}
