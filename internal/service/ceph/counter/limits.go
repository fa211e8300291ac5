package counter

import (
	"encoding/json"
	"strconv"
	"strings"

	"plimsoll/internal/measure"
)

// quality is the prefix of the limits of images.
const quality = "ceph.qos."

// limitOptions are the options of librbd that limit an image, by the rest of the name of their metric.
//
// Source: src/common/options/rbd.yaml.in.
var limitOptions = map[string]string{
	"iops": "rbd_qos_iops_limit", "bytes": "rbd_qos_bps_limit",
	"read_iops": "rbd_qos_read_iops_limit", "read_bytes": "rbd_qos_read_bps_limit",
	"write_iops": "rbd_qos_write_iops_limit", "write_bytes": "rbd_qos_write_bps_limit",
}

func limitMetrics() (all []measure.Metric) {
	for _, name := range []string{"iops", "bytes", "read_iops", "read_bytes", "write_iops", "write_bytes"} {
		all = append(all, measure.Metric{Name: quality + name, Unit: "1", Doc: "limit per second and image that the pool sets (" + limitOptions[name] + "); absent without a limit"})
	}
	return all
}

// TakeLimits adds the limits in the answer to rbd config pool ls.
func TakeLimits(text []byte, all map[string]float64) {
	var options []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	if json.Unmarshal(text, &options) != nil {
		return
	}
	for metric, option := range limitOptions {
		for _, o := range options {
			if v, err := strconv.ParseFloat(strings.TrimSpace(o.Value), 64); o.Name == option && err == nil && v > 0 {
				all[quality+metric] = v
			}
		}
	}
}
