package rule

// cachedReads is the share of reads that reach the device below which the result measures the
// page cache.
const cachedReads = 0.5

// workingSetInPageCache finds reads that are served from the page cache.
var workingSetInPageCache = Rule{
	Name:  "working_set_in_page_cache",
	Doc:   "reads are served from memory and not from the device",
	Needs: []string{"disk.read.bytes"},
	Disks: true,
	Check: func(c *Case, arm int) *Found {
		share, ok := readsCached(c, arm)
		if !ok || share >= cachedReads {
			return nil
		}
		f := accounts("Reads are served from memory with {arm}: only {reads at device} of the bytes read reach the device", evidence("reads at device", share, "share"))
		if direct, ok := c.Table.Setting(arm, "direct"); ok && direct == "false" {
			f.Says += ", because {direct} is off"
			f.Names = map[string]string{"direct": c.Table.Study.Workload.Kind + ".direct"}
		}
		f.Says += ". The result measures the cache."
		return f
	},
}

// readsCached is the share of the bytes read by an arm that come from the device. ok is false
// for an arm that reads nothing, or if it is unknown.
func readsCached(c *Case, arm int) (share float64, ok bool) {
	wanted, ok := c.Table.Mean(arm, "read.throughput")
	if classes := c.Table.Demands[arm].Classes; !ok && len(classes) == 1 && classes[0].Name == "read" {
		wanted, ok = c.Table.Mean(arm, "throughput")
	}
	got, known := c.Table.Mean(arm, "disk.read.bytes")
	if !ok || !known || wanted <= 0 {
		return 0, false
	}
	return got / wanted, true
}
