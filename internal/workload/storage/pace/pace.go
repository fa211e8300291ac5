// Package pace shares an open loop out among workers of fio, each of which has one operation outstanding at most, and adds the wait for a worker to the
// response times. It is pure.
package pace

import (
	"fmt"
	"math"
	"strconv"
)

// Load is what is to be offered.
type Load struct {
	Rate  float64 // operations per second, in total
	Read  float64 // share of reads
	Disks int
	Least int // workers of a disk, if there are so many operations per second
	Most  int
	Each  float64 // operations per second of a worker, from Least to Most
}

// Group is workers of a disk with equal rates.
type Group struct {
	First, Workers int // number of the first on its disk, from 0
	// Reads and Writes are operations per second of each worker: whole numbers, or those of one worker at fixed intervals.
	Reads, Writes float64
	Fixed         bool // intervals; Poisson arrivals without
}

const (
	within     = .01  // of what is asked: the largest error of a rate
	rounded    = .005 // of the rate of a direction: the largest remainder that is left out
	fastest    = 10e3 // operations per second of a worker: fio's times are whole microseconds
	microsteps = 1e6  // of a second
	fine       = 1000 // intervals of fewer microseconds are not every whole rate's
	remainders = 2    // workers at fixed intervals, at most: of reads and of writes
)

// Share shares a load out: the groups of each disk. fio offers whole operations per second, reads and writes apart. The workers of a disk differ by at most
// one of each, so that their sum is exact; what is left of a rate has a worker of its own, at fixed intervals.
func (l Load) Share() [][]Group {
	reads, writes := part(l.Rate*l.Read), part(l.Rate*(1-l.Read))
	if l.Most <= remainders {
		reads, writes = reads.whole(), writes.whole()
	}
	disks := make([][]Group, l.Disks)
	for d := range disks {
		left := l.rest(d, reads, writes)
		on := l.onDisk(spread(d, 0, reads.units, l.Disks), spread(d, reads.units, writes.units, l.Disks), l.Most-len(left))
		for _, g := range left {
			g.First = Workers(on)
			on = append(on, g)
		}
		disks[d] = on
	}
	return disks
}

// Refuse finds a load that cannot be shared out within 1 %.
func (l Load) Refuse() error {
	disks := l.Share()
	for _, groups := range disks {
		for _, g := range groups {
			if g.Reads+g.Writes > fastest {
				return fmt.Errorf("%s/s by %d workers are more than %s/s for each, which fio can pace: raise storage.depth or storage.threads", number(l.Rate), l.Disks*l.Most, number(fastest))
			}
		}
	}
	for _, one := range []struct {
		name    string
		offered float64
		want    float64
	}{{"reads", Sum(disks, Group.reads), l.Rate * l.Read}, {"writes", Sum(disks, Group.writes), l.Rate * (1 - l.Read)}} {
		if math.Abs(one.offered-one.want) > within*one.want {
			return fmt.Errorf("%s/s of %s would be offered instead of %s/s, with %d outstanding on a disk: raise storage.depth to %d, or take another rate",
				number(one.offered), one.name, number(one.want), l.Most, remainders+1)
		}
	}
	return nil
}

// direction is the rate of reads or writes: operations per second of all workers with Poisson arrivals, and the rest.
type direction struct {
	units int
	rest  float64
}

// part leaves a rest of 1/s or more, where there is as much: fio prints its counters when each worker has started an operation since it was to print them.
func part(rate float64) direction {
	if n := math.Round(rate); math.Abs(rate-n) <= rounded*rate {
		return direction{units: int(n)}
	}
	n := max(0, math.Floor(rate)-1)
	return direction{int(n), rate - n}
}

func (d direction) whole() direction {
	return direction{units: d.units + int(math.Round(d.rest))}
}

// spread is the share of a disk, or a worker, in so many units that are distributed from the given one on.
func spread(at, from, units, among int) int {
	n := units / among
	if (at-from%among+among)%among < units%among {
		n++
	}
	return n
}

// rest are the workers of a disk at fixed intervals; the disks after that with the last unit have them.
func (l Load) rest(disk int, reads, writes direction) (all []Group) {
	at := reads.units + writes.units
	if reads.rest > 0 {
		if at%l.Disks == disk {
			all = append(all, Group{Workers: 1, Reads: reads.rest, Fixed: true})
		}
		at++
	}
	if writes.rest > 0 && at%l.Disks == disk {
		all = append(all, Group{Workers: 1, Writes: writes.rest, Fixed: true})
	}
	return all
}

// onDisk are the workers of a disk with Poisson arrivals. Each differs from the next by at most one operation per second.
func (l Load) onDisk(reads, writes, most int) (groups []Group) {
	units := reads + writes
	n := min(most, units, max(l.Least, int(math.Ceil(float64(units)/l.Each))))
	for i := range n {
		r, w := float64(spread(i, 0, reads, n)), float64(spread(i, reads, writes, n))
		if k := len(groups) - 1; k >= 0 && groups[k].Reads == r && groups[k].Writes == w {
			groups[k].Workers++
			continue
		}
		groups = append(groups, Group{First: i, Workers: 1, Reads: r, Writes: w})
	}
	return groups
}

// Workers is the number of workers.
func Workers(of []Group) (n int) {
	for _, g := range of {
		n += g.Workers
	}
	return n
}

// Sum adds up a rate of all workers.
func Sum(disks [][]Group, of func(Group) float64) (sum float64) {
	for _, groups := range disks {
		for _, g := range groups {
			sum += float64(g.Workers) * of(g)
		}
	}
	return sum
}

func (g Group) reads() float64  { return g.offers(g.Reads) }
func (g Group) writes() float64 { return g.offers(g.Writes) }

func (g Group) offers(rate float64) float64 {
	if rate == 0 || g.Fixed {
		return rate
	}
	return paced(option(rate))
}

// paced is the rate that fio makes of its option rate_iops: its mean interval is a whole number of microseconds, and each interval is rounded down to one.
//
// Source: usec_for_io in backend.c of fio 3.1 to 3.41.
func paced(option int) float64 { return microsteps / (math.Floor(microsteps/float64(option)) - .5) }

// option is the value of rate_iops that makes the rate.
func option(rate float64) int {
	if mean := math.Round(microsteps/rate + .5); mean < fine {
		return int(microsteps / mean)
	}
	return int(rate)
}

// Options are fio's of the workers. The blocks are the mean sizes of reads and writes in bytes.
func (g Group) Options(readBlock, writeBlock float64) []string {
	if g.Fixed {
		return []string{"--rate=" + strconv.Itoa(max(1, int(math.Round(g.Reads*readBlock+g.Writes*writeBlock))))}
	}
	text := func(rate float64) string { return strconv.Itoa(option(rate)) }
	switch {
	case g.Writes == 0:
		return []string{"--rate_process=poisson", "--rate_iops=" + text(g.Reads)}
	case g.Reads == 0:
		return []string{"--rate_process=poisson", "--rate_iops=" + text(g.Writes)}
	}
	return []string{"--rate_process=poisson", "--rate_iops=" + text(g.Reads) + "," + text(g.Writes)}
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
