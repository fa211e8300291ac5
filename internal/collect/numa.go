package collect

import "plimsoll/internal/hoststat"

// NUMA counts memory allocations and migrations between NUMA nodes.
func NUMA() Source {
	return Source{
		Name: "numa",
		Doc:  "memory of NUMA nodes, from numastat and /proc/vmstat; none on a machine with one node",
		Counters: []Counter{
			cumulative("numa.local", "1/s", "pages allocated on the node of the process"),
			cumulative("numa.remote", "1/s", "pages allocated on another node than the process's"),
			cumulative("numa.misses", "1/s", "pages allocated on another node than intended"),
			gauge("numa.remote_share", "1", "share of allocated pages on another node than the process's"),
			cumulative("numa.migrated", "1/s", "pages moved between nodes by NUMA balancing"),
			cumulative("numa.hint_faults", "1/s", "page faults made by NUMA balancing"),
		},
		Needs: []string{"nodes"},
		Host: flat(func(i *hoststat.Interval, values map[string]float64) {
			if len(i.Nodes) < 2 {
				return
			}
			var local, remote, misses float64
			for _, n := range i.Nodes {
				local, remote, misses = local+n.Stat["local_node"], remote+n.Stat["other_node"], misses+n.Stat["numa_miss"]
			}
			values["numa.local"], values["numa.remote"], values["numa.misses"] = local, remote, misses
			if local+remote > 0 {
				values["numa.remote_share"] = remote / (local + remote)
			}
			for key, name := range pairs("numa_pages_migrated", "numa.migrated", "numa_hint_faults", "numa.hint_faults") {
				if v, ok := i.VM[key]; ok {
					values[name] = v
				}
			}
		}),
	}
}
