package cluster_test

import (
	"testing"

	"plimsoll/internal/cluster/contention"
)

func TestMemoryLoss(t *testing.T) {
	const gib = 1 << 30
	for _, k := range []struct {
		capacity, free, want int64
	}{
		{128 * gib, 7 * gib, 1_000},               // high: 4 x 1.89 GiB
		{128 * gib, 9 * gib, 0},                   //
		{128 * gib, 0, 250_000},                   //
		{128 * gib, -12 * gib, 250_000 + 187_500}, // memory that does not fit is swapped
		{128 * gib, -128 * gib, 1_000_000},        //
		{4 * gib, gib, 0}, {4 * gib, 0, 250_000},  // 4 x 6 %
		{0, 0, 0}, {0, -gib, 1_000_000}, {-5, 10, 0}, // invalid memory sizes
	} {
		got := contention.Memory(k.capacity-k.free, k.capacity)
		if k.want == 1_000 {
			if got < 1_000 || got > 25_000 {
				t.Errorf("%+v: %d", k, got)
			}
		} else if got != k.want {
			t.Errorf("%+v: %d", k, got)
		}
	}
	// Source: the published examples, 899 MiB for 28 GiB and 1,619 MiB for 100 GiB.
	// Four times as much are free where the loss begins.
	for memory, want := range map[int64]int64{28 * gib: 901, 100 * gib: 1638} {
		calm, short := 4*(want+2)<<20, 4*(want-2)<<20
		if contention.Memory(memory-calm, memory) > 0 || contention.Memory(memory-short, memory) == 0 {
			t.Errorf("the loss of %d GiB does not begin at 4 x %d MiB", memory/gib, want)
		}
	}
}

func TestLoss(t *testing.T) {
	for _, c := range [][3]int64{{0, 480_000, 0}, {480_000, 480_000, 0}, {880_000, 480_000, 100_000}, {1_000_000, 480_000, 130_000}, {2_000_000, 480_000, 630_000}} {
		if got := contention.Loss(c[0], c[1]); got != c[2] {
			t.Errorf("at a load of %d above %d %d is lost, want %d", c[0], c[1], got, c[2])
		}
	}
}
