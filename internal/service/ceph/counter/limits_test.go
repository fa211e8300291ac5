package counter

import (
	"maps"
	"testing"
)

func TestLimitsOfImages(t *testing.T) {
	for text, want := range map[string]map[string]float64{
		`[{"name":"rbd_qos_bps_limit","value":"0","source":"config"},{"name":"rbd_qos_iops_limit","value":"200","source":"pool"},{"name":"rbd_qos_iops_burst","value":"9","source":"pool"},
		{"name":"rbd_qos_write_bps_limit","value":"1048576","source":"pool"},{"name":"rbd_cache","value":"true","source":"config"}]`: {"ceph.qos.iops": 200, "ceph.qos.write_bytes": 1 << 20},
		`[{"name":"rbd_qos_iops_limit","value":"many"}]`: {},
		`rbd: error opening pool`:                        {},
		``:                                               {},
	} {
		got := map[string]float64{}
		if TakeLimits([]byte(text), got); !maps.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}
