package cluster

// Pool is a resource pool: a share of the cluster's capacity for its VMs and child pools.
type Pool struct {
	Name     string
	Parent   PoolID // Nowhere of the root
	CPU, Mem Allocation
	Level    ShareLevel // level of its shares; ShareCustom for a number
	Scalable bool       // its shares scale with those of its contents
}

// ShareLevel is a named number of shares.
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

// Factor is the number of shares relative to the lowest level; 0 for custom.
func (l ShareLevel) Factor() int64 { return weight[l] }

// A pool has the shares of a VM with four vCPUs and 16 GiB; a VM's shares are per vCPU and per
// MiB (vSphere Resource Management, "Resource Allocation Shares").
const (
	lowCPUPerVCPU = 500
	lowMemPerMiB  = 5
	poolVCPUs     = 4
	poolMiB       = 16 << 10
	bytesPerMiB   = 1 << 20
)

// PoolShares are a pool's shares of CPU and of memory at a level.
func PoolShares(l ShareLevel) (cpu, memory int64) {
	return poolVCPUs * lowCPUPerVCPU * l.Factor(), poolMiB * lowMemPerMiB * l.Factor()
}

// VMShares are a VM's shares of CPU and of memory at a level.
func VMShares(l ShareLevel, vcpus int, memory int64) (cpu, mem int64) {
	return int64(vcpus) * lowCPUPerVCPU * l.Factor(), max(1, memory/bytesPerMiB*lowMemPerMiB*l.Factor())
}
