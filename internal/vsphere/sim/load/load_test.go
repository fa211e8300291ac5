package load

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/vsphere/sim/model"
)

// TestDivisionsAreFair divides random hosts: all that there is and is asked for is given, no VM has more than it may
// have or less than it is sure of, and by its shares none has more than another that could have more.
func TestDivisionsAreFair(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 3000 {
		h := Host{CPU: random.Int64N(100_000), Memory: random.Int64N(1 << 40), MHz: 1000 + random.Int64N(3000), CPUs: 16}
		var claims []claim
		var most, floors, held, kept float64
		for range 1 + random.IntN(12) {
			z := &size{vcpus: 1 + random.Int64N(16), memory: random.Int64N(1 << 38), overhead: random.Int64N(1 << 28)}
			z.cpu = cluster.Allocation{Reservation: random.Int64N(10_000) * random.Int64N(2), Limit: cluster.Unlimited, Shares: 1 + random.Int64N(8000)}
			z.mem = cluster.Allocation{Reservation: random.Int64N(1+z.memory) * random.Int64N(2), Limit: cluster.Unlimited}
			if random.IntN(4) == 0 {
				z.cpu.Limit = z.cpu.Reservation + random.Int64N(10_000)
			}
			c := claimOf(&stay{size: z}, Sample{CPU: random.Int64N(40_000), Active: random.Int64N(1 << 38), Consumed: random.Int64N(1 << 39)}, h.core())
			claims = append(claims, c)
			most, floors, held = most+c.most, floors+c.floor, held+c.consumed+float64(z.overhead)
			kept += c.kept + float64(z.overhead)
		}
		d := divide(&h, claims)
		var sum Usage
		for i := range claims {
			c := &claims[i]
			u := d.of(c)
			sum.add(&u, 1)
			lowest := c.floor
			if floors > float64(h.CPU) {
				lowest = c.floor * float64(h.CPU) / floors
			}
			if u.Used > c.most+1e-6 || u.Used < lowest-1e-6 || u.Consumed < c.kept-1 || u.Ballooned < 0 || u.Swapped < 0 || u.Ready < -1e-9 {
				t.Fatalf("round %d: %+v gets %+v", round, c, u)
			}
			if waits := (u.Ready + u.CoStop) * h.core(); math.Abs(u.Used+waits-u.Demand) > 1e-6*(1+u.Demand) {
				t.Fatalf("round %d: %v used and %v missing of %v", round, u.Used, waits, u.Demand)
			}
			for k := range claims {
				o := &claims[k]
				v := d.of(o)
				if u.Used > c.floor+1e-6 && v.Used < o.most-1e-6 && u.Used/c.weight > v.Used/o.weight+1e-6 {
					t.Fatalf("round %d: %v of %+v is more than %v of %+v", round, u.Used, c, v.Used, o)
				}
			}
		}
		if want := min(most, float64(h.CPU)); math.Abs(sum.Used-want) > 1e-6*(1+want) {
			t.Fatalf("round %d: %v MHz are used, want %v", round, sum.Used, want)
		}
		if sum.Used < float64(h.CPU)-1e-3 && sum.Ready-sum.Limited > 1e-9 {
			t.Fatalf("round %d: VMs wait on a host with free cores", round)
		}
		if math.Abs(sum.Consumed+sum.Ballooned+sum.Swapped+sum.Overhead-held) > 1e-9*held+1 {
			t.Fatalf("round %d: memory is lost", round)
		}
		if sum.Consumed+sum.Overhead > max(float64(h.Memory), kept)+1 {
			t.Fatalf("round %d: VMs hold %v of %d", round, sum.Consumed+sum.Overhead, h.Memory)
		}
		if held <= float64(h.Memory) && sum.Ballooned+sum.Swapped > 0 {
			t.Fatalf("round %d: memory is reclaimed without need", round)
		}
	}
}

// where is where VMs ran at an instant, in words.
func (l *log) where(at int64, vms int) (list []string) {
	for vm := range vms {
		l.stays(int32(vm), at, at+1, func(s stay) {
			list = append(list, fmt.Sprint(vm, " on ", l.hosts.list[s.host].Value, " with ", s.size.vcpus))
		})
	}
	return list
}

// TestTheLogKeepsThePast notes random changes, and compares with a list of all of them.
func TestTheLogKeepsThePast(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	ref := func(kind string, i int) reference { return reference{Type: kind, Value: fmt.Sprint(kind, i)} }
	const vms, step = 20, slot
	l := newLog(0)
	var instants []int64
	var past [][]string
	now := map[int]model.Seen{}
	told := func() (list []string) {
		for vm := range vms {
			if s, is := now[vm]; is && s.On && s.Size != nil {
				list = append(list, fmt.Sprint(vm, " on ", s.Host.Value, " with ", s.Size.VCPUs))
			}
		}
		return list
	}
	for i := range vms { // number them
		s := model.Seen{VM: ref("vm", i), Host: ref("host", 0), Pool: ref("pool", 0), Size: &cluster.VM{VCPUs: 1}}
		l.note(0, s, true)
		now[i] = s
	}
	for at := int64(step); at < 400*step; at += step {
		for range random.IntN(4) {
			i := random.IntN(vms)
			s := model.Seen{VM: ref("vm", i), Host: ref("host", random.IntN(4)), Pool: ref("pool", random.IntN(2)), On: random.IntN(3) > 0, Size: &cluster.VM{VCPUs: 1 + random.IntN(2)}}
			if random.IntN(10) == 0 {
				s.Size, s.On = nil, false
			}
			l.note(at+random.Int64N(step/2), s, false)
			now[i] = s
		}
		instants, past = append(instants, at+step-1), append(past, told())
	}
	check := func(when string) {
		for k, at := range instants {
			if got := l.where(at, vms); at >= l.from && !slices.Equal(got, past[k]) {
				t.Fatalf("%s: at %d %v, want %v", when, at, got, past[k])
			}
			var on []string
			for h := range l.hosts.list {
				for _, s := range l.staysOn(int32(h), at, at+1) {
					on = append(on, fmt.Sprint(s.vm))
				}
			}
			if at >= l.from && len(on) != len(past[k]) {
				t.Fatalf("%s: at %d hosts have %v, want %v", when, at, on, past[k])
			}
		}
	}
	check("all")
	had := l.changes
	for range 3 {
		l.cut()
		check("shorter")
	}
	if l.changes >= had/3 || l.from == 0 {
		t.Errorf("%d changes are left of %d", l.changes, had)
	}
	for vm := range vms {
		if n := now[vm]; l.lives[vm].gone != (n.Size == nil) {
			t.Errorf("VM %d: %+v", vm, n)
		}
	}
}

// VMs that went long ago are forgotten, and those that are there are not.
func TestTheLogForgetsVMsThatWent(t *testing.T) {
	l := newLog(0)
	l.most = 1000
	ref := func(kind string, i int) reference { return reference{Type: kind, Value: fmt.Sprint(kind, i)} }
	here := model.Seen{VM: ref("vm", -1), Host: ref("host", 0), Pool: ref("pool", 0), On: true, Size: &cluster.VM{VCPUs: 3}}
	l.note(1, here, false)
	for i := range 20_000 {
		s := model.Seen{VM: ref("vm", i), Host: ref("host", i%3), Pool: ref("pool", 0), On: true, Size: &cluster.VM{VCPUs: 1}}
		at := int64(i+1) * 10 * slot
		l.note(at, s, false)
		s.Size, s.On = nil, false
		l.note(at+5*slot, s, false)
	}
	if len(l.lives) > 2000 || len(l.vms.number) > 2000 || len(l.vms.list) != len(l.lives) {
		t.Errorf("%d VMs are kept, with %d names", len(l.lives), len(l.vms.number))
	}
	now := int64(20_000) * 10 * slot
	if on := l.staysOn(0, now+9*slot, now+10*slot); len(on) != 1 || on[0].size.vcpus != 3 {
		t.Errorf("at the end %+v run on the first host", on)
	}
	if on := l.staysOn(1, now+slot, now+2*slot); len(on) != 1 || l.vms.list[on[0].vm] != ref("vm", 19_999) {
		t.Errorf("the last VM is not known: %+v", on)
	}
}
