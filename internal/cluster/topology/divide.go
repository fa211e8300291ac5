package topology

// up is n/d, rounded up.
func up(n, d int) int { return (n + d - 1) / d }

// largestDivisor is the largest divisor of n that is at most limit, and at least 1.
func largestDivisor(n, limit int) int {
	for d := min(n, limit); d > 1; d-- {
		if n%d == 0 {
			return d
		}
	}
	return 1
}

// sizes distributes vCPUs over nodes: if they do not divide evenly, the first nodes get one
// more.
func sizes(vcpus, nodes int) []int {
	s := make([]int, nodes)
	for i := range s {
		s[i] = vcpus / nodes
		if i < vcpus%nodes {
			s[i]++
		}
	}
	return s
}

// grouped is the distribution of vCPUs over nodes in vSphere, which never divides sockets
// (T3): 30 vCPUs in sockets of 2 on 2 nodes are 16 and 14. A last socket that is not full is
// on the last node. It is nil if a number is below 1.
func grouped(vcpus, coresPerSocket, nodes int) []int {
	if vcpus < 1 || coresPerSocket < 1 || nodes < 1 {
		return nil
	}
	s := sizes(up(vcpus, coresPerSocket), nodes)
	left := vcpus
	for i := range s {
		s[i] = min(s[i]*coresPerSocket, left)
		left -= s[i]
	}
	return s
}

// cacheGroups divides the vCPUs of a node into the minimum number of equal groups that each
// fit a last-level cache.
func cacheGroups(vcpus, cache int) int {
	for g := 1; g < vcpus; g++ {
		if vcpus%g == 0 && vcpus/g <= cache {
			return g
		}
	}
	return vcpus
}

const mib = 1 << 20

// memoryShares divides memory over nodes in whole MiB; the remainder below one goes to the
// last node. No share exceeds an equal one, rounded up to MiB.
func memoryShares(bytes int64, nodes int) []int64 {
	shares := make([]int64, nodes)
	whole, k := bytes/mib, int64(nodes)
	for i := range shares {
		shares[i] = whole / k * mib
		if int64(i) < whole%k {
			shares[i] += mib
		}
	}
	shares[nodes-1] += bytes % mib
	return shares
}
