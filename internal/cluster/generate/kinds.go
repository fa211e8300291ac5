package generate

// shape is a size of VMs. Most are small and few are large: the number of VMs falls about with
// the square of their size, as in published cloud traces (Cortez et al., "Resource Central",
// SOSP 2017).
type shape struct {
	vcpus  int
	memory int64 // GiB
	weight int
}

var shapes = []shape{
	{1, 2, 200}, {2, 4, 270}, {2, 8, 190}, {4, 8, 60}, {4, 16, 150}, {8, 32, 80}, {8, 64, 20}, {16, 64, 20}, {16, 128, 6}, {32, 128, 3}, {48, 384, 1},
}

// A VM much larger than the others decides the size of all hosts. So shapes above ordinary
// occur only in clusters of at least fewLarge VMs, and no shape has more memory than the VMs
// of an average host together.
const (
	fewLarge = 200
	ordinary = 8 // vCPUs
)

// weights are the weights of the shapes in a cluster.
func weights(s Spec) []int {
	list := make([]int, len(shapes))
	var sum, all int64
	for _, shape := range shapes {
		sum, all = sum+shape.memory*int64(shape.weight), all+int64(shape.weight)
	}
	for i, shape := range shapes {
		large := shape.vcpus > ordinary
		if !large || s.VMs >= fewLarge && shape.memory*all*int64(s.Hosts) <= sum*int64(s.VMs) {
			list[i] = shape.weight
		}
	}
	return list
}

// behaviour is the CPU and memory demand of an application's VMs over time.
type behaviour struct {
	name   string
	weight int
	mean   int64 // CPU, per mille of its size
	daily  int64 // daily amplitude, per mille of the mean
	weekly int64
	peak   int64 // hour of the day
	noise  int64 // standard deviation of noise, per mille of the mean
	common int64 // standard deviation of noise common to the application
	bursts int64 // hours with a burst, per mille
	height int64 // of a burst, per mille of the size
	active int64 // memory, per mille of its size, at the mean
	holds  int64 // consumed memory, likewise
	dirty  int64 // dirtied memory, MiB/s for each busy vCPU
	link   int64 // network, Mbit/s for each busy vCPU
}

var behaviours = []behaviour{
	{"web", 350, 220, 600, 250, 14, 150, 200, 20, 350, 250, 700, 24, 400},
	{"db", 150, 260, 350, 150, 13, 120, 120, 15, 300, 450, 900, 60, 200},
	{"batch", 150, 160, 700, 100, 2, 300, 250, 120, 600, 300, 800, 90, 150},
	{"desk", 200, 110, 850, 450, 11, 250, 150, 50, 400, 200, 600, 20, 40},
	{"idle", 150, 15, 100, 50, 12, 100, 0, 3, 300, 60, 500, 8, 10},
}

// groupSizes are the sizes of applications in VMs: from, to, weight.
var groupSizes = []struct{ from, to, weight int }{{1, 1, 400}, {2, 4, 350}, {5, 12, 200}, {13, 40, 50}}

// Sizes of hosts. Beyond the largest, the next power of two is used.
var (
	socketCores = []int{8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 96, 128}
	hostMemory  = []int64{64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192} // GiB
)

// generations are hosts of different ages: MHz, and cores in per cent of the newest.
var generations = []struct {
	mhz   int64
	cores int
}{{2600, 100}, {2400, 75}, {3000, 125}}
