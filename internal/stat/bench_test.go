package stat

import "testing"

func BenchmarkPairedT(b *testing.B) {
	d := []float64{0.01, 0.03, -0.02, 0.04, 0.01, 0.02}
	for b.Loop() {
		PairedT(d, 0.95)
	}
}

func BenchmarkSignFlip20(b *testing.B) { benchmarkFlips(b, 20) }
func BenchmarkSignFlip24(b *testing.B) { benchmarkFlips(b, 24) }

func benchmarkFlips(b *testing.B, n int) {
	d := differences(newNormal(1), shapes()[0], n, 0.01, 0.003)
	for b.Loop() {
		SignFlip(d, 1)
	}
}

func BenchmarkLookLevel(b *testing.B) {
	for b.Loop() {
		LookLevel([]int{6, 9, 13, 18, 25})
	}
}

func BenchmarkDetectableEffect(b *testing.B) {
	for b.Loop() {
		DetectableEffect(0.02, 12, 0.8, 0.05)
	}
}
