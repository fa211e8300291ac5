package cluster

// Pool is a resource pool: a part of the cluster's capacity, and who shares it.
type Pool struct {
	Name     string
	Parent   PoolID // Nowhere of the root
	CPU, Mem Allocation
	Level    ShareLevel // level of its shares; ShareCustom for a number
	Scalable bool       // its shares scale with those of its contents
}

// ShareLevel is how shares were given.
type ShareLevel string

// The levels of shares, 1:2:4.
const (
	ShareLow    ShareLevel = "low"
	ShareNormal ShareLevel = "normal"
	ShareHigh   ShareLevel = "high"
	ShareCustom ShareLevel = "custom"
)

// weight is the factor of a level over the lowest.
var weight = map[ShareLevel]int64{ShareLow: 1, ShareNormal: 2, ShareHigh: 4}

// Factor is how many times the shares of the lowest level this one has; 0 for custom.
func (l ShareLevel) Factor() int64 { return weight[l] }

// A pool's shares are those of a VM of four vCPUs and 16 GiB, a VM's shares
// are given by vCPU and by MiB (vSphere Resource Management, "Resource Allocation
// Shares").
const (
	lowCPUPerVCPU = 500
	lowMemPerMiB  = 5
	poolVCPUs     = 4
	poolMiB       = 16 << 10
	bytesPerMiB   = 1 << 20
)

// PoolShares are the shares of a pool of a level: of CPU and of memory.
func PoolShares(l ShareLevel) (cpu, memory int64) {
	return poolVCPUs * lowCPUPerVCPU * l.Factor(), poolMiB * lowMemPerMiB * l.Factor()
}

// VMShares are the shares of a VM of a level: of CPU and of memory.
func VMShares(l ShareLevel, vcpus int, memory int64) (cpu, mem int64) {
	return int64(vcpus) * lowCPUPerVCPU * l.Factor(), max(1, memory/bytesPerMiB*lowMemPerMiB*l.Factor())
}
