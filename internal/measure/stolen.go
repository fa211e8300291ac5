package measure

// Stolen is the share of the CPU time wanted in the window that the hypervisor gave to others, and the CPUs wanted. Both are 0 where
// that is unknown: with several machines and in searches.
func Stolen(r *Record) (share, wanted float64) {
	wanted = r.Counters["cpu.count"] - r.Counters["cpu.idle"] - r.Counters["cpu.iowait"]
	if len(r.Parts) > 0 || len(r.Probes) > 0 || !(wanted > 0) {
		return 0, 0
	}
	return min(1, max(0, r.Counters["cpu.steal"]/wanted)), wanted
}
