package generate

// Purposes of hash, which separate the sequences of random numbers. They never change: a seed
// gives the same bytes with every release.
const (
	forNoise = iota + 1
	forGroup
	forBurst
	forGroupBurst
	forHolding
	forStream = iota + 2
	forPlace
)

// peakQuarter is the time between the start and the peak of a daily sine, in minutes.
const peakQuarter = minutesPerDay / 4

// weekStart is the start of the weekly sine, which peaks on Wednesday noon.
const weekStart = 2*minutesPerDay + minutesPerDay/2 - minutesPerWeek/4

// level is a VM's CPU demand as a share of its size, before the total load is set; one is all.
func (t *trace) level(i int, minute int64) int64 {
	m := &t.vms[i]
	k := m.kind
	mean := k.mean * m.busy / 1000
	day := t.tables.day[(minute+minutesPerDay-k.peak*60+peakQuarter)%minutesPerDay]
	week := t.tables.week[(minute+minutesPerWeek-weekStart)%minutesPerWeek/weekStep]
	season := one + (k.daily*day+k.weekly*week)/1000
	chance := k.noise * t.tables.noise(t.spec.Seed, uint64(i)<<8|forNoise, minute)
	if k.common > 0 {
		chance += k.common * t.tables.noise(t.spec.Seed, uint64(m.group)<<8|forGroup, minute)
	}
	return mean * max(0, season+chance/1000) >> 16
}

// burst is extra demand for some minutes: a burst of the VM, and one of the whole application.
func (t *trace) burst(i int, minute int64) int64 {
	m := &t.vms[i]
	own := t.pulse(uint64(i)<<8|forBurst, m.kind.bursts, minute)
	common := t.pulse(uint64(m.group)<<8|forGroupBurst, m.kind.bursts/4, minute)
	return m.kind.height * max(own, common) / 1000
}

// pulse is the height of a burst, at most one; 0 between bursts. Bursts begin in some hours
// and last from three to forty minutes.
func (t *trace) pulse(id uint64, often, minute int64) int64 {
	hour := minute / 60
	for _, h := range []int64{hour, hour - 1} {
		if h < 0 {
			continue
		}
		x := hash(t.spec.Seed, id, uint64(h))
		if int64(x%1000) >= often {
			continue
		}
		start, length := h*60+int64(x>>10%60), 3+int64(x>>20%38)
		if minute >= start && minute < start+length {
			return one/2 + int64(x>>32&0x7fff)
		}
	}
	return 0
}

// sample is the demand of a VM at a minute.
func (t *trace) sample(i int, minute int64) sample {
	m := &t.vms[i]
	level := t.level(i, minute)
	part := min(max(level*t.scale>>16+t.burst(i, minute), one/500), one)
	size := int64(m.vm.VCPUs) * t.core
	busy := part * int64(m.vm.VCPUs) // busy vCPUs, in fractions of one

	mean := max(1, m.kind.mean*m.busy/1000)
	warm := m.kind.active * (3*one/4 + min(level*one/mean, 3*one)/4) / 1000 // memory follows CPU demand slowly
	holds := m.kind.holds*one/1000 + one/8*int64(hash(t.spec.Seed, uint64(i), forHolding)%1000)/1000
	active := m.vm.Memory >> 16 * min(warm, one*95/100)
	return sample{
		CPU:      size * part >> 16,
		Active:   active,
		Consumed: max(active, m.vm.Memory>>16*min(holds, one)),
		Dirty:    busy * m.kind.dirty >> 16 << 20,
		Link:     busy * m.kind.link >> 16 * 1_000_000,
	}
}
