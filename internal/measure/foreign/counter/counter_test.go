package counter

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"plimsoll/internal/measure/foreign"
	"plimsoll/internal/measure/foreign/foreigntest"
)

type (
	values = map[string]float64
	want   = foreigntest.Want
)

func TestEsxtop(t *testing.T) {
	f := Esxtop()
	foreigntest.File(t, f, "testdata/esxtop.csv", want{
		Length: 20, // the first sample is skipped
		Counters: values{
			"esxtop.cpu.util": .5, "esxtop.cpu.used": .55, "esxtop.memory.free": 2000 << 20, "esxtop.vcpu.ready.mean": .05, "esxtop.vcpu.ready.max": .07, "esxtop.disk.commands": 500,
			"esxtop.disk.guest_latency.max": .006, "esxtop.network.received": 15e6,
		},
	})
	const head = `"(PDH-CSV 4.0) (UTC)(0)","\\esx1\Memory\Free MBytes"` + "\n"
	foreigntest.Refused(t, f, head+`"05/15/2017 06:49:37"`+"\n", "line 2", "1 fields instead of 2")
	foreigntest.Refused(t, f, head+`"yesterday","5"`+"\n", "line 2", "no time")
	foreigntest.Refused(t, f, head+"\"05/15/2017 06:49:37\",\"5\"\n\"05/15/2017 06:49:47\",\"-5\"\n", "line 3", "Free MBytes", "negative")
	foreigntest.Refused(t, f, `"(PDH-CSV 4.0) (UTC)(0)","\\esx1\Other\Thing"`+"\n", "line 1", "none of its 2 columns")
}

func TestSysstat(t *testing.T) {
	f := Sysstat()
	foreigntest.File(t, f, "testdata/sadf.json", want{
		Length: 10, Counters: values{
			"sysstat.cpu.busy": .47, "sysstat.cpu.user": .3, "sysstat.cpu.system": .15, "sysstat.cpu.steal": .02, "sysstat.context_switches": 2000, "sysstat.load": 1, "sysstat.memory.used": .75,
			"sysstat.disk.read": 650 * 1024, "sysstat.disk.iops": 160, "sysstat.disk.busy.max": .5, "sysstat.network.received": 1000 * 1024, "sysstat.network.sent": 200 * 1024,
		},
	})
	foreigntest.File(t, f, "testdata/sadf-12.6.json", want{
		Length: 1, Counters: values{"sysstat.cpu.busy": 1, "sysstat.cpu.user": (47.5 + 48.5 + 49.5 + 42.08) / 200, "sysstat.cpu.system": .0596, "sysstat.cpu.steal": .0025, "sysstat.context_switches": 3112.6},
	})
	foreigntest.File(t, f, "testdata/iostat-12.6.json", want{
		Counters: values{"sysstat.cpu.user": .90525, "sysstat.cpu.system": .09225, "sysstat.disk.read": (584 + 1204) * 512, "sysstat.disk.iops": 74, "sysstat.disk.busy.max": .014},
	})
	foreigntest.File(t, f, "testdata/mpstat.json", want{Counters: values{"sysstat.cpu.busy": .64, "sysstat.cpu.user": .5, "sysstat.cpu.system": .1, "sysstat.cpu.softirq": .04}})
	foreigntest.File(t, f, "testdata/iostat.json", want{Counters: values{"sysstat.cpu.busy": .15, "sysstat.cpu.iowait": .2, "sysstat.disk.read": 400 * 1024, "sysstat.disk.iops": 150, "sysstat.disk.busy.max": .3}})
	// The device mapper is not counted beside the disk below it. The second sample follows the first by a second.
	foreigntest.File(t, f, "testdata/iostat-2024.json", want{
		Length: 1, Counters: values{"sysstat.cpu.user": (.0094 + .0405) / 2, "sysstat.cpu.system": .01875, "sysstat.cpu.steal": .00065, "sysstat.disk.read": 36.01 * 1024,
			"sysstat.disk.written": 216.095 * 1024, "sysstat.disk.iops": 20.99 / 2},
	})
	foreigntest.File(t, f, "testdata/mpstat-2021.json", want{
		Length: 60, Counters: values{"sysstat.cpu.busy": .5002, "sysstat.cpu.user": .5001, "sysstat.cpu.system": 0, "sysstat.cpu.softirq": .0001},
	})
	foreigntest.Refused(t, f, `{"sysstat":{"hosts":[]}}`, "one host per file")
}

func TestPerf(t *testing.T) {
	f := Perf()
	const seconds = 4.00025
	foreigntest.File(t, f, "testdata/perf.txt", want{
		Length: seconds, Counters: values{"perf.cpu-clock": 8.0005 / seconds, "perf.context-switches": 4000 / seconds, "perf.cycles": 8e9 / seconds, "perf.ipc": 1.5},
	})
	// Cycles per second as the samples' own test expects them.
	foreigntest.File(t, f, "testdata/perf-process.txt", want{Length: 7.999881391, Counters: values{"perf.cycles": 23804772.932539094}})
	foreigntest.File(t, f, "testdata/perf-hybrid.txt", want{
		Length: .804111502, Counters: values{"perf.cpu-clock": 9.64594 / .804111502, "perf.cpu_core/cycles/": 2.40107310391389e+07, "perf.cpu_atom/cycles/": 2.159404505073228e+07,
			"perf.ipc": (12811040. + 6279887) / (19307305 + 17364020)},
	})
	old, err := parsePerf(foreign.NewText(strings.NewReader(" Performance counter stats for 'system wide':\n\n  4000.5 task-clock (msec)  #  2.0 CPUs utilized (100.00%)\n\n 2.0 seconds time elapsed\n")))
	if err != nil || old[0].Counters["perf.task-clock"] != 4.0005/2 {
		t.Errorf("task-clock with its unit behind it: %+v, %v", old, err)
	}
	data, err := os.ReadFile("testdata/perf.txt")
	if err != nil {
		t.Fatal(err)
	}
	runs, err := parsePerf(foreign.NewText(bytes.NewReader(data)))
	if err != nil || len(runs[0].Missing) != 1 || runs[0].Missing[0] != "perf cache-misses: not supported" {
		t.Errorf("missing %q, %v", runs[0].Missing, err)
	}
	foreigntest.Refused(t, f, " Performance counter stats for 'x':\n\n   1.234,50 msec task-clock\n\n 1.0 seconds time elapsed\n", "line 3", "1.234,50")
}

func FuzzEsxtop(f *testing.F)  { foreigntest.Fuzz(f, Esxtop(), "testdata/esxtop.csv") }
func FuzzSysstat(f *testing.F) { foreigntest.Fuzz(f, Sysstat(), "testdata/*.json") }
func FuzzPerf(f *testing.F)    { foreigntest.Fuzz(f, Perf(), "testdata/perf*.txt") }
