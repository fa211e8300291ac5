package stat

import "math/rand/v2"

// Shuffle returns a random order of 0..n-1 for one block, determined by seed and block. It
// does not use the library's shuffle, so that a seed printed in a report gives the same order
// with any version of Go.
//
// Source: Fisher & Yates, in the form of Durstenfeld (1964); Lemire (2019) without bias;
// generator PCG-DXSM.
func Shuffle(n int, seed uint64, block int) []int {
	order := make([]int, max(0, n))
	for i := range order {
		order[i] = i
	}
	source := rand.NewPCG(Scatter(seed), Scatter(uint64(block)))
	for i := len(order) - 1; i > 0; i-- {
		j := Uniform(source, uint64(i)+1)
		order[i], order[j] = order[j], order[i]
	}
	return order
}

// Uniform returns a uniform number in 0..n-1.
func Uniform(source *rand.PCG, n uint64) uint64 {
	limit := -n % n // rejects draws that would bias towards small numbers
	for {
		if v := source.Uint64(); v >= limit {
			return v % n
		}
	}
}

// Scatter mixes the bits of v, so that consecutive blocks seed unrelated generators. Source:
// SplitMix64, Steele, Lea & Flood (2014).
func Scatter(v uint64) uint64 {
	v += 0x9e3779b97f4a7c15
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return v ^ v>>31
}
