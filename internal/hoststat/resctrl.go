package hoststat

import "plimsoll/internal/hoststat/parse"

// Cache is a last-level cache as resctrl monitors it (Documentation/filesystems/resctrl.rst),
// where the CPUs can and /sys/fs/resctrl is mounted.
type Cache struct {
	Name     string  `json:"name"`     // such as mon_L3_00
	Bytes    float64 `json:"bytes"`    // from and to memory
	Local    float64 `json:"local"`    // of them, memory of its own NUMA node
	Occupied float64 `json:"occupied"` // gauge, in bytes
}

// readCaches reads /sys/fs/resctrl/mon_data: the traffic of the whole host.
func readCaches(r *Reader, s *State) error {
	const folder = "sys/fs/resctrl/mon_data"
	names, err := r.root.Names(folder)
	if err != nil {
		return err
	}
	for _, name := range names {
		c := Cache{Name: name}
		for file, into := range map[string]*float64{"mbm_total_bytes": &c.Bytes, "mbm_local_bytes": &c.Local, "llc_occupancy": &c.Occupied} {
			if text, err := r.file(folder + "/" + name + "/" + file); err == nil {
				*into, _ = parse.Number(text)
			}
		}
		s.Caches = append(s.Caches, c)
	}
	return nil
}
