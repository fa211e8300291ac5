package stat

import "testing"

func BenchmarkPairedT(b *testing.B) {
	d := []float64{0.01, 0.03, -0.02, 0.04, 0.01, 0.02}
	for b.Loop() {
		PairedT(d, 0.95)
	}
}

func BenchmarkContrast18(b *testing.B) { benchmarkContrast(b, 18) }

func BenchmarkContrast5000(b *testing.B) { benchmarkContrast(b, 5000) }

func benchmarkContrast(b *testing.B, n int) {
	blocks := balancedBlocks(independent(newNormal(1), 2*n, shapes()[2]), 1, 0)
	for b.Loop() {
		Contrast(blocks, 0.02)
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
