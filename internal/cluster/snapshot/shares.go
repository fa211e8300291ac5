package snapshot

import (
	"slices"
	"strconv"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/snapshot/entry"
	"plimsoll/internal/cluster/snapshot/unit"
	"plimsoll/internal/document"
)

var shareLevels = []string{string(cluster.ShareLow), string(cluster.ShareNormal), string(cluster.ShareHigh)}

// mostShares is far above practical values, and keeps products of shares and amounts within
// 128 bits.
const mostShares = 1 << 40

// given are shares as given in the file: a level, numbers, or both.
type given struct {
	level       cluster.ShareLevel // custom for numbers alone
	cpu, memory int64
}

// readShares reads "high", "4000", or {cpu: high, memory: 4000}. The shares of a level differ
// between pools and VMs.
func readShares(f *entry.Entry, of func(cluster.ShareLevel) (cpu, memory int64)) given {
	n := f.Get("shares")
	g := given{level: cluster.ShareNormal}
	g.cpu, g.memory = of(g.level)
	if n == nil {
		return g
	}
	if n.Kind == document.Scalar {
		if level, number := shareOf(f, n, "shares"); number > 0 {
			g = given{cluster.ShareCustom, number, number}
		} else {
			g.level = level
			g.cpu, g.memory = of(level)
		}
		return g
	}
	in, ok := f.Inner("shares", []string{"level", "cpu", "memory"})
	if !ok {
		return g
	}
	base := cluster.ShareLevel(in.Word("level", "", append(slices.Clone(shareLevels), string(cluster.ShareCustom))))
	both := []cluster.ShareLevel{cluster.ShareNormal, cluster.ShareNormal}
	for i, key := range bothKeys {
		if base.Factor() > 0 {
			both[i] = base
		}
		amounts := []*int64{&g.cpu, &g.memory}
		number := int64(0)
		if part := in.Get(key); part != nil {
			both[i], number = shareOf(&in, part, key)
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
func shareOf(f *entry.Entry, n *document.Node, key string) (cluster.ShareLevel, int64) {
	text := f.Text(n, key)
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
		f.Complain(n, "%s is %s, which is not a whole number of shares from 1 to %d", key, document.Quote(text), int64(mostShares))
		return cluster.ShareNormal, 0
	}
	f.Unknown(n, key, shareLevels)
	return cluster.ShareNormal, 0
}

// allocation reads the shares, reservation and limit of both resources. A percentage refers to
// the size, if there is one.
func allocation(f *entry.Entry, g given, whole cluster.Resources) (cpu, memory cluster.Allocation) {
	reservation, _ := f.Inner("reservation", bothKeys)
	limit, _ := f.Inner("limit", bothKeys)
	for _, of := range []struct {
		key           string
		kind          *unit.Kind
		shares, whole int64
		into          *cluster.Allocation
	}{{"cpu", unit.Frequency, g.cpu, whole.CPU, &cpu}, {"memory", unit.Size, g.memory, whole.Memory, &memory}} {
		a := cluster.Allocation{Limit: cluster.Unlimited, Shares: of.shares}
		if n := reservation.Get(of.key); n != nil {
			a.Reservation = reservation.Amount(n, of.key, of.kind, of.whole)
		}
		if n := limit.Get(of.key); n != nil && n.Text != "none" {
			a.Limit = limit.Amount(n, of.key, of.kind, of.whole)
		}
		if a.Limit < a.Reservation {
			f.Complain(f.Get("limit"), "the limit of %s, %s, is below the reservation, %s", of.key, of.kind.Whole(a.Limit), of.kind.Whole(a.Reservation))
		}
		*of.into = a
	}
	return cpu, memory
}

var bothKeys = []string{"cpu", "memory"}
