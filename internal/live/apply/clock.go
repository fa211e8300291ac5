package apply

import (
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/migrate"
	"plimsoll/internal/cluster/place"
	"plimsoll/internal/live"
)

// clock estimates how long the rest of a plan takes: by the memory and the links of the moves,
// corrected by what the moves so far took.
type clock struct {
	seconds             []float64 // as estimated, by change
	estimated, measured float64
}

func newClock(p Plan) clock {
	vms, hosts := map[string]cluster.VMID{}, map[string]cluster.HostID{}
	for v := range p.Seen.VMs {
		vms[p.Seen.VMs[v].Name] = cluster.VMID(v)
	}
	for h := range p.Seen.Hosts {
		hosts[p.Seen.Hosts[h].Name] = cluster.HostID(h)
	}
	k := clock{seconds: make([]float64, len(p.Changes))}
	for i, c := range p.Changes {
		k.seconds[i] = 1
		v, known := vms[c.VM]
		from, here := hosts[c.From]
		to, there := hosts[c.To]
		if c.Action == live.Move && known && here && there {
			k.seconds[i] = max(1, float64(migrate.CopyTime(p.Seen, place.Step{VM: v, From: from, To: to})))
		}
	}
	return k
}

// took enters how long a change took.
func (k *clock) took(i int, seconds float64) {
	k.estimated += k.seconds[i]
	k.measured += seconds
}

// left estimates the time of the changes from one on.
func (k *clock) left(i int) time.Duration {
	sum := 0.
	for _, s := range k.seconds[i:] {
		sum += s
	}
	if k.estimated > 0 {
		sum *= k.measured / k.estimated
	}
	return time.Duration(sum * float64(time.Second))
}
