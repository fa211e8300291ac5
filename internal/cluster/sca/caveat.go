package sca

// Figure is a published result, for context; it is not a measurement of plimsoll.
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
		return []string{"cores have one thread: all policies are equivalent"}
	}
	var c []string
	switch p {
	case Default:
		c = append(c, "two VMs may run on one core at the same time: there is no protection from side channels between its threads")
	case V1:
		c = append(c,
			"one thread of each core stays idle; published: up to 30 % less at saturation, and much less below it, with a higher CPU use",
			"on Linux this is a cpuset of first threads, or SMT disabled")
	case V2:
		c = append(c,
			"VMs are isolated from each other, but not the processes within a VM",
			"published: at 75 % load at worst 11 % less",
			"Linux core scheduling with a cookie for each VM resembles it, but protects less: it does not stop a guest from attacking the host "+
				"through L1TF, nor hide kernel activity on the other thread of a core from it",
			"if at most half of the CPUs are busy, disabling SMT is faster than core scheduling")
		if l.odd > 0 {
			c = append(c, "VMs with an odd number of vCPUs leave a thread of a core idle, which another vCPU could use")
		}
		if l.fills {
			c = append(c, "one VM that fills the host is published to run slightly faster under SCAv1, without a figure: 1 % is assumed")
		}
	}
	if p != Default {
		c = append(c, "the yield of a core's second thread depends on the application: measure it, and specify it")
	}
	return c
}
