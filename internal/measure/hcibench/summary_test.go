package hcibench

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

const block = "Datastore     = ds 1\n=============================\nJOB_NAME\t= job0\nVMs\t\t= 2\nIOPS\t\t= 1000.50 IO/S\nTHROUGHPUT\t= 3.00 MB/s\nR_LATENCY\t= 2.0000 ms\nW_LATENCY\t= 0.0000 ms\n95%tile_R_LAT\t= 4.0000 ms\n95%tile_W_LAT\t= 0.0000 ms\n=============================\n"

func TestParseSummary(t *testing.T) {
	one := Job{IOPS: 1000.5, Throughput: 3 << 20, Means: map[string]float64{"read": 2e-3}, Datastores: 1, VMs: 2}
	twice := Job{IOPS: 2001, Throughput: 6 << 20, Means: map[string]float64{"read": 2e-3}, Datastores: 2, VMs: 4}
	for name, c := range map[string]struct {
		text string
		want Summary
	}{
		"fio":                 {block + "Resource Usage:\n| cpu = 20% |\nIOPS = nonsense\n", Summary{Jobs: []Job{one}}},
		"two datastores":      {block + block, Summary{Jobs: []Job{twice}}},
		"two jobs":            {block + strings.TrimPrefix(block, "Datastore     = ds 1\n"), Summary{Jobs: []Job{one, one}}},
		"pods":                {strings.NewReplacer("Datastore     ", "StorageClass  ", "VMs\t", "Pods").Replace(block), Summary{Jobs: []Job{one}}},
		"a VM that ended":     {strings.Replace(block, "====\n", "====\nThere are 3 VMs finished testing early, those VMs are not used for summarizing results\n", 1), Summary{Jobs: []Job{one}, Early: 3}},
		"no VM":               {"Datastore     = ds\nAll the VMs finished testing early, no results summarized\nResource Usage:\n", Summary{None: true}},
		"no pod":              {"StorageClass  = sc\nAll the Pods finished testing early, no results summarized\n", Summary{None: true}},
		"Windows' ends":       {strings.ReplaceAll(block, "\n", "\r\n"), Summary{Jobs: []Job{one}}},
		"digits of 2.8":       {strings.ReplaceAll(block, "00 ms", " ms") + "vSAN PCPU USAGE\t= 12.5\n", Summary{Jobs: []Job{one}}},
		"nothing":             {"", Summary{}},
		"merged before a job": {"Merged = x\niops = 5\n" + block, Summary{Jobs: []Job{one}}},
		"vdbench": {"Datastore     = ds\n====\nVersion:\tvdbench50407\nRun Def:\tRD=run1; I/O rate: Uncontrolled MAX; elapsed=300\nVMs\t\t= 2\nIOPS\t\t= 10.0 IO/S\nTHROUGHPUT\t= 0.5 MB/s\nLATENCY\t\t= 3.0 ms\nR_LATENCY\t= 2.0 ms\nW_LATENCY\t= 0.0 ms\n95%tile_LAT\t= 9.1 ms\n====\nTesting is done, 2 out of 3 VMs finished test successfully. Please check\n",
			Summary{Jobs: []Job{{IOPS: 10, Throughput: 1 << 19, Means: map[string]float64{"": 3e-3, "read": 2e-3}, Datastores: 1, VMs: 2}}, Early: 1}},
	} {
		got, err := ParseSummary([]byte(c.text))
		if err != nil || !reflect.DeepEqual(*got, c.want) {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, c.want)
		}
	}
	for text, want := range map[string]string{
		"JOB_NAME = a\nIOPS = many IO/S\n": `line 2: IOPS is "many IO/S", not a number`, "JOB_NAME = a\nR_LATENCY = -1 ms": "line 2: R_LATENCY", "JOB_NAME = a\nMerged = b\np95 = NaN ms": "line 3: p95",
	} {
		if _, err := ParseSummary([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzSummary(f *testing.F) {
	f.Add([]byte(block))
	f.Add([]byte(block + "Merged = a\nread.p99.99 = 4 ms\nResource Usage:\n" + block))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseSummary(data)
		if err != nil {
			return
		}
		for _, j := range s.Jobs {
			numbers := []float64{j.IOPS, j.Throughput, float64(j.VMs), float64(j.Datastores - 1)}
			for _, all := range []map[string]float64{j.Means, j.Merged} {
				for _, v := range all {
					numbers = append(numbers, v)
				}
			}
			for _, v := range numbers {
				if !(v >= 0) {
					t.Fatalf("%+v", j)
				}
			}
		}
	})
}

func TestParseVdbench(t *testing.T) {
	const head = "Vdbench distribution: vdbench50406 Wed July 20 15:49:52 MDT 2016\n10:00:00.000 Starting RD=rd1; I/O rate: Uncontrolled MAX; elapsed=120 warmup=30; For loops: None\n"
	for name, c := range map[string]struct {
		text string
		want []Run
		is   bool
	}{
		"joined":       {head + "17:46:35.163avg_31-150    2232.21  2232.21 1048576  29.99   28.504   23.495   30.650  540.899   49.877  63.6   1.2   0.5\n", []Run{{2232.21, 2232.21 * (1 << 20), .2999, .028504, .023495, .03065, .540899}}, true},
		"two maxima":   {strings.Replace(head, "50406", "50407", 1) + "15:41:44.013     avg_2-5      102.8     0.10    1024  52.31    0.018    0.013    0.024     0.10     0.14    0.017    0.0   0.7   0.1\n", []Run{{102.8, .1 * (1 << 20), .5231, .018e-3, .013e-3, .024e-3, .14e-3}}, true},
		"not ended":    {head, nil, true},
		"not vdbench":  {"fio: avg_1 2 3\n", nil, false},
		"formatting":   {strings.Replace(head, "rd1", "SD_format", 1) + "15:41:38.042     avg_2-1        0.0     0.00       0   0.00    0.000    0.000    0.000     0.00  0.0 0.0\n", nil, true},
		"a second avg": {head + "1 avg_1-2 1 1 1 100 1 1 1 1 1\n1 avg_1-2 2 2 2 100 1 1 1 1 1\n", []Run{{1, 1 << 20, 1, 1e-3, 1e-3, 1e-3, 1e-3}}, true},
	} {
		runs, is, err := ParseVdbench([]byte(c.text))
		if err != nil || is != c.is || len(runs) != len(c.want) {
			t.Errorf("%s: %+v, %v, %v", name, runs, is, err)
			continue
		}
		for i := range runs {
			got, want := reflect.ValueOf(runs[i]), reflect.ValueOf(c.want[i])
			for k := range got.NumField() {
				if g, w := got.Field(k).Float(), want.Field(k).Float(); math.Abs(g-w) > 1e-9*w {
					t.Errorf("%s: %s is %v, want %v", name, got.Type().Field(k).Name, g, w)
				}
			}
		}
	}
	for text, want := range map[string]string{"avg_1-2 1 1 1": "line 3: 3 columns of averages, expected at least 8", "avg_1-2 1 1 1 x 1 1 1 1": `line 3: column 4 of averages is "x"`} {
		if _, _, err := ParseVdbench([]byte(head + text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzVdbench(f *testing.F) {
	f.Add([]byte("Vdbench distribution: vdbench50407 a\n1 Starting RD=a\n1 avg_2-5 1 1 1 100 1 1 1 1 1 1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		runs, is, err := ParseVdbench(data)
		if err != nil {
			return
		}
		for _, r := range runs {
			if !is || !(r.IOPS >= 0 && r.Throughput >= 0 && r.Read >= 0 && r.Read <= 1 && r.Max >= 0) {
				t.Fatalf("%+v", r)
			}
		}
	})
}
