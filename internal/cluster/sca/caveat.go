package sca

// Figure is a published result: context, never ours.
type Figure struct {
	Policy Policy `json:"policy"`
	Load   string `json:"load"`
	Text   string `json:"text"`
	Source string `json:"source"`
}

const source = "VMware, Performance of vSphere 6.7 Scheduling Options, 2019"

var published = []Figure{
	{V1, "saturation", "up to 30 % less than by default", source},
	{V2, "75 %", "at worst 11 % less than by default", source},
	{V2, "one VM of 192 vCPUs that fills the host", "slightly less than SCAv1", source},
}

// caveats are the limits of a row's validity.
func (l load) caveats(p Policy) []string {
	if l.threads == 1 {
		return []string{"cores have one thread: every policy is the same here"}
	}
	var c []string
	switch p {
	case Default:
		c = append(c, "two VMs may run on one core at the same time: nothing is kept from a side channel between its threads")
	case V1:
		c = append(c,
			"one thread of each core stays idle; published: up to 30 % less at saturation, and much less below it, with a higher CPU use",
			"on Linux this is a cpuset of first threads, or SMT turned off")
	case V2:
		c = append(c,
			"VMs are kept apart, but not the processes within one",
			"published: at 75 % load at worst 11 % less",
			"Linux core scheduling with a cookie for each VM resembles it and protects less: it does not stop a guest that attacks the host "+
				"through L1TF, nor keep what the kernel does on the other thread of a core from it",
			"with core scheduling, where at most half of the CPUs are busy, turning SMT off is faster")
		if l.odd > 0 {
			c = append(c, "VMs with an odd number of vCPUs leave a thread of a core idle, which one vCPU more would use")
		}
		if l.fills {
			c = append(c, "one VM that fills the host is published to do slightly better with SCAv1; by how much is not, and 1 % is assumed")
		}
	}
	if p != Default {
		c = append(c, "what a second thread adds to a core depends on the application: measure it, and give it as the yield")
	}
	return c
}
