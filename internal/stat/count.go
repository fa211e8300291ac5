package stat

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// BinomialRate returns the two-sided p value of the hypothesis that two counts of rare events
// (errors, retransmits) have the same rate: kA events in tA and kB in tB, where t is time or
// operations. Given the sum of the counts, kB is binomial with probability tB/(tA+tB); the p
// value is the probability of all outcomes at most as likely as the observed one. Without
// events or exposure it is 1.
//
// It assumes independent events; where they come in bursts, compare rates by trial instead.
//
// Source: Przyborowski & Wilenski (1940).
func BinomialRate(kA int64, tA float64, kB int64, tB float64) float64 {
	if kA < 0 || kB < 0 || kA+kB == 0 || !(tA > 0 && tB > 0) || math.IsInf(tA+tB, 0) {
		return 1
	}
	n, share := int(kA+kB), tB/(tA+tB)
	seen := int(kB)
	limit := binomialLog(seen, n, share) + 1e-7 // tolerance for ties
	mode := min(n, int(float64(n+1)*share))
	if seen == mode {
		return 1
	}
	var p float64
	if seen < mode {
		from := mode + firstAbove(n-mode+1, func(k int) bool { return mode+k > n || binomialLog(mode+k, n, share) <= limit })
		p = binomialCDF(seen, n, share) + binomialCDF(n-from, n, 1-share)
	} else {
		// Outcomes below the mode, up to the last one at most as likely as the observed.
		upTo := firstAbove(mode, func(k int) bool { return binomialLog(k, n, share) > limit }) - 1
		p = binomialCDF(upTo, n, share) + binomialCDF(n-seen, n, 1-share)
	}
	return math.Min(1, p)
}

// ZeroFailuresBound returns the upper 95 % bound of the failure probability after n operations
// without a failure: close to 3/n. It is 1 without operations.
//
// Source: Clopper & Pearson (1934) at zero; Hanley & Lippman-Hand (1983), the rule of three.
func ZeroFailuresBound(n int64) float64 {
	if n <= 0 {
		return 1
	}
	return -math.Expm1(math.Log(0.05) / float64(n))
}

// binomialLog returns ln P(K = k) of K binomial (n, p).
func binomialLog(k, n int, p float64) float64 {
	a, b := float64(k), float64(n-k)
	return -math.Log(float64(n)+1) - mathext.Lbeta(a+1, b+1) + xlog(a, p) + xlog(b, 1-p)
}

// xlog returns n*ln(p), 0 when n is.
func xlog(n, p float64) float64 {
	if n == 0 {
		return 0
	}
	return n * math.Log(p)
}

// binomialCDF returns P(K <= k) of K binomial (n, p).
func binomialCDF(k, n int, p float64) float64 {
	switch {
	case k < 0:
		return 0
	case k >= n:
		return 1
	}
	return mathext.RegIncBeta(float64(n-k), float64(k)+1, 1-p)
}

// firstAbove returns the smallest k in 0..n for which the monotone condition holds.
func firstAbove(n int, holds func(int) bool) int {
	low, high := 0, n
	for low < high {
		if k := (low + high) / 2; holds(k) {
			high = k
		} else {
			low = k + 1
		}
	}
	return low
}
