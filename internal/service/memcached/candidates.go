package memcached

import "plimsoll/internal/parameter"

// candidates are the settings to tune first. Source: memcached documentation, "Configuring a server", threads.
func candidates() []parameter.Candidate {
	return []parameter.Candidate{{Setting: "memcached.threads", CPUs: []float64{.25, .5, 1, 2}, Why: "up to the CPUs"}}
}
