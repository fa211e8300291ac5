package stat

import (
	"fmt"
	"slices"
	"testing"
)

func TestEachArmIsInEachSlotAndFollowsEachOtherEquallyOften(t *testing.T) {
	for n := 2; n <= 9; n++ {
		period := n * (1 + n%2)
		for seed := range uint64(5) {
			for start := 0; start < 3*period; start += period {
				slots, follows := map[[2]int]int{}, map[[2]int]int{}
				for p := start; p < start+period; p++ {
					order := Balanced(n, seed, p)
					for slot, arm := range order {
						slots[[2]int{arm, slot}]++
						if slot > 0 {
							follows[[2]int{order[slot-1], arm}]++
						}
					}
				}
				for a := range n {
					for b := range n {
						if got, want := slots[[2]int{a, b}], period/n; got != want {
							t.Fatalf("%d arms, seed %d: arm %d is %d times in slot %d of a period, want %d", n, seed, a, got, b, want)
						}
						if got, want := follows[[2]int{a, b}], period/n; a != b && got != want {
							t.Fatalf("%d arms, seed %d: arm %d follows %d %d times, want %d", n, seed, b, a, got, want)
						}
					}
				}
			}
		}
	}
}

func TestPairsOfBlocksMirrorEachOther(t *testing.T) {
	for n := 1; n <= 9; n++ {
		for position := 0; position < 60; position += 2 {
			first, second := Balanced(n, 7, position), Balanced(n, 7, position+1)
			slices.Reverse(second)
			if !slices.Equal(first, second) {
				t.Fatalf("%d arms, blocks %d and %d: %v is not the reverse of %v", n, position, position+1, second, first)
			}
		}
	}
}

// Every order of two arms, and every sequence of orders that the balance allows,
// is equally likely.
func TestBalancedOrderIsRandom(t *testing.T) {
	const seeds = 8000
	patterns := map[string]int{}
	for seed := range uint64(seeds) {
		text := ""
		for p := 0; p < 6; p += 2 {
			text += fmt.Sprint(Balanced(2, seed, p)[0])
		}
		patterns[text]++
	}
	if len(patterns) != 8 {
		t.Errorf("%d patterns in three pairs of blocks, want 8: %v", len(patterns), patterns)
	}
	for p, n := range patterns {
		if n < seeds/8-120 || n > seeds/8+120 {
			t.Errorf("pattern %s came %d times of %d", p, n, seeds)
		}
	}
	first := map[string]int{}
	for seed := range uint64(seeds) {
		first[fmt.Sprint(Balanced(3, seed, 0))]++
	}
	for order, n := range first {
		if n < seeds/6-140 || n > seeds/6+140 {
			t.Errorf("order %s of three arms came %d times of %d", order, n, seeds)
		}
	}
	if len(first) != 6 {
		t.Errorf("%d orders of three arms: %v", len(first), first)
	}
}

func TestTheSeedDecidesTheOrder(t *testing.T) {
	differ := 0
	for p := range 100 {
		if !slices.Equal(Balanced(4, 1, p), Balanced(4, 1, p)) {
			t.Fatal("the same seed and position give two orders")
		}
		if !slices.Equal(Balanced(4, 1, p), Balanced(4, 2, p)) {
			differ++
		}
	}
	if differ < 80 {
		t.Errorf("two seeds differ in %d of 100 blocks", differ)
	}
	if got := Balanced(0, 1, 1); len(got) != 0 {
		t.Errorf("no arms: %v", got)
	}
}
