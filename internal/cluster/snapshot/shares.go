package snapshot

import (
	"slices"
	"strconv"

	"plimsoll/internal/cluster"
	"plimsoll/internal/document"
)

var shareLevels = []string{string(cluster.ShareLow), string(cluster.ShareNormal), string(cluster.ShareHigh)}

// mostShares is far above what anyone gives, and keeps products of shares with amounts
// within 128 bits.
const mostShares = 1 << 40

// given are shares as they stand in the file: a level, or numbers, or both.
type given struct {
	level       cluster.ShareLevel // custom with numbers alone
	cpu, memory int64
}

// shares reads "high", "4000", or {cpu: high, memory: 4000}. The shares of a level
// depend on what has them.
func (f *fields) shares(of func(cluster.ShareLevel) (cpu, memory int64)) given {
	n := f.get("shares")
	g := given{level: cluster.ShareNormal}
	g.cpu, g.memory = of(g.level)
	if n == nil {
		return g
	}
	if n.Kind == document.Scalar {
		if level, number := f.shareOf(n, "shares"); number > 0 {
			g = given{cluster.ShareCustom, number, number}
		} else {
			g.level = level
			g.cpu, g.memory = of(level)
		}
		return g
	}
	in, ok := f.inner("shares", []string{"level", "cpu", "memory"})
	if !ok {
		return g
	}
	base := cluster.ShareLevel(in.word("level", "", append(slices.Clone(shareLevels), string(cluster.ShareCustom))))
	both := []cluster.ShareLevel{cluster.ShareNormal, cluster.ShareNormal}
	for i, key := range []string{"cpu", "memory"} {
		if base.Factor() > 0 {
			both[i] = base
		}
		amounts := []*int64{&g.cpu, &g.memory}
		number := int64(0)
		if part := in.get(key); part != nil {
			both[i], number = in.shareOf(part, key)
		}
		if number > 0 {
			*amounts[i], both[i] = number, cluster.ShareCustom
			continue
		}
		cpu, memory := of(both[i])
		*amounts[i] = []int64{cpu, memory}[i]
	}
	switch g.level = cluster.ShareCustom; {
	case base != "":
		g.level = base
	case both[0] == both[1]:
		g.level = both[0]
	}
	return g
}

// shareOf reads a level or a number above 0.
func (f *fields) shareOf(n *document.Node, key string) (cluster.ShareLevel, int64) {
	text := f.scalar(n, key)
	if text == "" {
		return cluster.ShareNormal, 0
	}
	if i := slices.Index(shareLevels, text); i >= 0 {
		return cluster.ShareLevel(shareLevels[i]), 0
	}
	if text[0] == '-' || text[0] >= '0' && text[0] <= '9' {
		x, err := strconv.ParseInt(text, 10, 64)
		if err == nil && x >= 1 && x <= mostShares {
			return cluster.ShareCustom, x
		}
		f.complain(n, "%s is %s, which is not a whole number of shares from 1 to %d", key, document.Quote(text), int64(mostShares))
		return cluster.ShareNormal, 0
	}
	f.r.in.Unknown(n, f.label()+": "+key, n.Text, shareLevels)
	return cluster.ShareNormal, 0
}

// allocation reads the shares, reservation and limit of both resources. A percentage is
// one of the size, where there is one.
func (f *fields) allocation(g given, whole cluster.Resources) (cpu, memory cluster.Allocation) {
	cpu = cluster.Allocation{Limit: cluster.Unlimited, Shares: g.cpu}
	memory = cluster.Allocation{Limit: cluster.Unlimited, Shares: g.memory}
	keys := []string{"cpu", "memory"}
	if in, ok := f.inner("reservation", keys); ok {
		if n := in.get("cpu"); n != nil {
			cpu.Reservation = in.amount(n, "cpu", &frequency, whole.CPU)
		}
		if n := in.get("memory"); n != nil {
			memory.Reservation = in.amount(n, "memory", &size, whole.Memory)
		}
	}
	if in, ok := f.inner("limit", keys); ok {
		if n := in.get("cpu"); n != nil && n.Text != "none" {
			cpu.Limit = in.amount(n, "cpu", &frequency, whole.CPU)
		}
		if n := in.get("memory"); n != nil && n.Text != "none" {
			memory.Limit = in.amount(n, "memory", &size, whole.Memory)
		}
	}
	if cpu.Limit < cpu.Reservation {
		f.complain(f.get("limit"), "the limit of cpu, %s, is below the reservation, %s", frequency.whole(cpu.Limit), frequency.whole(cpu.Reservation))
	}
	if memory.Limit < memory.Reservation {
		f.complain(f.get("limit"), "the limit of memory, %s, is below the reservation, %s", size.whole(memory.Limit), size.whole(memory.Reservation))
	}
	return cpu, memory
}
