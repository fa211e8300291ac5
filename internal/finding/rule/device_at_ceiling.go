package rule

const (
	busyDevice   = 0.95 // utilisation above which a device counts as saturated
	steepLatency = 0.8  // latency elasticity above which more outstanding operations only queue
)

// deviceAtCeiling finds a saturated device.
var deviceAtCeiling = Rule{
	Name:  "device_at_ceiling",
	Doc:   "the device is saturated, and more outstanding operations only queue",
	Needs: []string{"disk.busy", "mean"},
	Disks: true, Closed: true,
	Check: func(c *Case, arm int) *Found {
		busy, _ := c.Table.Mean(arm, "disk.busy")
		s, ok := c.depthBelow(arm)
		if !ok || busy < busyDevice || s.latencyElasticity < steepLatency {
			return nil
		}
		if share, ok := c.generatorShare(arm); ok && share > generatorLimit {
			return nil
		}
		return accounts("The device is saturated with {arm}: it is busy {device busy} of the time. {outstanding grew} times the outstanding I/Os gave {rate grew} times the {rate} at {latency grew} times the latency.", evidence("device busy", busy, "share"), evidence("outstanding grew", s.outstanding, "1"), evidence("rate grew", s.rate, "1"), evidence("latency grew", s.latency, "1"))
	},
}
