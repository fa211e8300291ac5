package cluster

// Resource is CPU in MHz or memory in bytes.
type Resource uint8

// The resources.
const (
	CPU Resource = iota
	Memory
)

// BothResources lists them.
var BothResources = [2]Resource{CPU, Memory}

// String is the name of the resource.
func (r Resource) String() string {
	if r == CPU {
		return "cpu"
	}
	return "memory"
}

// Of is the amount of this resource.
func (r Resource) Of(all Resources) int64 {
	if r == CPU {
		return all.CPU
	}
	return all.Memory
}
