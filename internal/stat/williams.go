package stat

// Balanced returns the order of n arms, 0..n-1, in the block at a position from 0. Orders come
// in periods of n blocks for an even n and 2n for an odd one, in which every arm has every
// slot equally often and follows every other arm equally often. Within a period, blocks 1 and
// 2, 3 and 4, and so on are reversed, so that of any two arms each runs first once in each
// pair. The labels of the arms, the sequence of pairs and the order within a pair are random,
// determined by seed and position.
//
// Source: Williams (1949), Experimental designs balanced for the estimation of residual
// effects of treatments.
func Balanced(n int, seed uint64, position int) []int {
	if n < 2 {
		return make([]int, max(0, n))
	}
	pairs := n // in a period
	if n%2 == 0 {
		pairs = n / 2
	}
	pair := position / 2
	period := pair / pairs
	row := Shuffle(pairs, ^seed, period)[pair%pairs]
	labels := Shuffle(n, seed, period)
	mirrored := (Shuffle(2, ^seed, -1-pair)[0] + position) % 2
	order := make([]int, n)
	for slot := range order {
		at := slot
		if mirrored == 1 {
			at = n - 1 - slot
		}
		order[slot] = labels[(zigzag(n, at)+row)%n]
	}
	return order
}

// zigzag is the first row of a Williams square: 0, 1, n-1, 2, n-2, ...
func zigzag(n, slot int) int {
	if slot%2 == 1 {
		return (slot + 1) / 2
	}
	return (n - slot/2) % n
}
