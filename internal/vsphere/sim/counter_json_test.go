package sim_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"

	"plimsoll/internal/vsphere/sim/counter"
)

// A value of 0 is a value, and the series has vSphere's name, over SOAP and VI/JSON.
func TestZerosAreEncoded(t *testing.T) {
	t.Parallel()
	is := types.PerfEntityMetric{Value: []types.BasePerfMetricSeries{counter.SeriesOf(types.PerfMetricId{CounterId: 6}, []int64{7, 0, 0})}}
	var soap, json bytes.Buffer
	if err := xml.NewEncoder(&soap).Encode(is); err != nil {
		t.Fatal(err)
	}
	if got := soap.String(); strings.Count(got, "<value>0</value>") != 2 || !strings.Contains(got, `type="PerfMetricIntSeries"`) {
		t.Errorf("SOAP: %s", got)
	}
	if err := types.NewJSONEncoder(&json).Encode(is); err != nil {
		t.Fatal(err)
	}
	if got := json.String(); !strings.Contains(got, "[7,0,0]") || !strings.Contains(got, `"_typeName":"PerfMetricIntSeries"`) {
		t.Errorf("VI/JSON: %s", got)
	}
}
