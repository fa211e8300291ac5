package rule

import (
	"plimsoll/internal/finding"
)

// cachedReads is the share of the reads that reach the device, below which it is
// memory that was measured.
const cachedReads = 0.5

// workingSetInPageCache finds reads that never reach the device.
func workingSetInPageCache() Rule {
	const name = "working_set_in_page_cache"
	return Rule{
		Name:  name,
		Doc:   "reads are served from memory and not from the device",
		Needs: []string{"disk.read.bytes"},
		Disks: true,
		Check: func(c *Case, arm int) []finding.Explanation {
			share, ok := readsCached(c, arm)
			if !ok || share >= cachedReads {
				return nil
			}
			template := "Reads are served from memory with {arm}: only {reads at device} of the bytes read reach the device"
			if direct, ok := c.Table.Setting(arm, "direct"); ok && direct == "false" {
				template += ", because {direct} is off"
			}
			return []finding.Explanation{c.Explain(template+". The result measures the cache.", Found{
				Rule: name, Arm: arm, Grade: finding.AccountsFor,
				Evidence: []finding.Evidence{evidence("reads at device", share, "share")},
				Names:    map[string]string{"direct": c.Table.Study.Workload.Kind + ".direct"},
			})}
		},
	}
}

// readsCached is the share of the bytes that an arm reads which the device
// delivers. ok is false for an arm that reads nothing, or of which it is not known.
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
