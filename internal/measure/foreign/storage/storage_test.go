package storage

import (
	"testing"

	"plimsoll/internal/measure/foreign/foreigntest"
)

type (
	values = map[string]float64
	counts = map[string]int64
	levels = map[string]string
	want   = foreigntest.Want
)

func TestVdbench(t *testing.T) {
	f := Vdbench()
	foreigntest.File(t, f, "testdata/vdbench.html", want{
		Tool: "vdbench 5.04.07", Length: 2, Values: values{"iops": 5000, "throughput": 39.0625 * (1 << 20), "mean": .00061, "max": .0215, "read.iops": 3500, "write.iops": 1500, "host.cpu": .045},
		Absent: []string{"p99", "errors", "read.mean"}, Levels: levels{"vdbench.run": "oltp_8k", "vdbench.threads": "16", "vdbench.rdpct": "70"},
	})
	foreigntest.File(t, f, "testdata/vdbench-old.html", want{Tool: "vdbench", Values: values{"iops": 200, "read.iops": 200, "mean": .005}, Absent: []string{"write.iops", "max", "host.cpu"}})
	foreigntest.File(t, f, "testdata/vdbench-2016.html", want{
		Tool: "vdbench", Length: 59, Values: values{"iops": 50.0169, "throughput": .1954 * (1 << 20), "mean": .0053952, "max": .096066, "read.iops": 50.0169 * .759065, "read.mean": .0069438,
			"write.mean": .0005163, "host.cpu": .011605},
		Absent: []string{"read.max"}, Levels: levels{"vdbench.run": "rd1", "vdbench.threads": "2", "vdbench.rdpct": "75"},
	})
	foreigntest.File(t, f, "testdata/vdbench-5.04.07.html", want{
		Length: 2, Values: values{"iops": 105, "throughput": .1025 * (1 << 20), "mean": 27.5e-6, "max": 120e-6, "read.iops": 52.5, "read.mean": 17.5e-6, "read.max": 60e-6, "write.mean": 37.5e-6,
			"write.max": 120e-6},
		Absent: []string{"host.cpu"}, Levels: levels{"vdbench.run": "rd1", "vdbench.rdpct": "50"},
	})
	const head = "tod Run Interval reqrate rate MB/sec bytes/io read% resp\n"
	foreigntest.Refused(t, f, head+"10:00:01.000 a 1 1 1 1 1 1\n", "line 2", "8 fields instead of 9")
	foreigntest.Refused(t, f, head+"10:00:01.000 a avg_1-1 1 5,5 1 1 1 1\n", "line 2", "rate", "decimal comma")
	foreigntest.Refused(t, f, head+"10:00:01.000 a 1 1 1 1 1 1 1\n", "avg_")
	foreigntest.Refused(t, f, "tod interval i/o rate MB/sec\n1 1 0 1000 10.5\n", "line 1", "no column Run")
}

func TestIometer(t *testing.T) {
	f := Iometer()
	one := want{
		Length: 90030 / 1500.5,
		Values: values{"iops": 1500.5, "read.iops": 1000.25, "write.iops": 500.25, "throughput": 5.861328 * (1 << 20), "read.throughput": 3.907226 * (1 << 20), "mean": .00125, "write.mean": .00075, "max": .0805, "host.cpu": .125, "errors": 0},
		Counts: counts{"operations": 90030, "read.operations": 60015}, Absent: []string{"p99"}, Levels: levels{"iometer.specification": "4K; 67% Read", "iometer.workers": "2"},
	}
	one.Tool = "Iometer 2006.07.27"
	foreigntest.File(t, f, "testdata/iometer-2006.csv", one)
	one.Tool = "Iometer 1.1.0"
	reads := want{Values: values{"iops": 1500.5, "read.iops": 1500.5}, Absent: []string{"write.iops", "write.mean", "write.max"}, Levels: levels{"iometer.specification": "4K; 100% Read"}}
	foreigntest.File(t, f, "testdata/iometer-1.1.csv", one, reads)
	foreigntest.File(t, f, "testdata/iometer-1.1-cycle.csv", // with a cycle of outstanding I/Os
		want{Values: values{"iops": 60017.5, "host.cpu": .125, "max": .004215}, Levels: levels{"iometer.depth": "1"}},
		want{Values: values{"iops": 1200340, "throughput": 4688.83 * (1 << 20)}, Counts: counts{"operations": 36010200}, Levels: levels{"iometer.depth": "32"}})
	const head = "'Test Type,Test Description\n0,\n'Results\n'Target Type,Target Name,Access Specification Name,IOps,Average Response Time\n"
	foreigntest.Refused(t, f, head+"ALL,All,a,1500,5,1,25\n", "line 5", "decimal comma")
	foreigntest.Refused(t, f, head+"ALL,All,a\n", "line 5", "truncated")
	foreigntest.Refused(t, f, head+"ALL,All,a,-1,2\n", "line 5", "IOps", "negative")
	foreigntest.Refused(t, f, head, "interrupted")
}

func TestDiskspd(t *testing.T) {
	f := Diskspd()
	foreigntest.File(t, f, "testdata/diskspd-2.0.21a.xml", want{
		Tool: "DISKSPD 2.0.21a", Length: 30.02, Cut: 5, Values: values{"iops": 90970 / 30.02, "read.iops": 90970 / 30.02, "throughput": 5961809920 / 30.02, "host.cpu": .032},
		Counts: counts{"operations": 90970}, Absent: []string{"mean", "p99", "write.iops", "errors"}, Levels: levels{"diskspd.block": "65536", "diskspd.depth": "2", "diskspd.write_ratio": "0"},
	})
	foreigntest.File(t, f, "testdata/diskspd-2.2.0-unit.xml", want{
		Tool: "DISKSPD 2.2.0", Length: 120, Cut: 5, Values: values{"iops": 16. / 120, "read.iops": 6. / 120, "write.iops": 10. / 120, "throughput": 6291456. / 120, "host.cpu": .1833},
		Counts: counts{"operations": 16}, Absent: []string{"mean", "p99"}, Levels: levels{"diskspd.block": "65536", "diskspd.limit": "1000 IOPS", "diskspd.depth": "2"},
	})
	foreigntest.File(t, f, "testdata/diskspd-2.1-latency.xml", want{
		Length: 20, Cut: 10, Values: values{"iops": 4000, "read.iops": 3000, "write.throughput": 8192000, "mean": .00125, "read.mean": .001, "p50": .0011, "p99": .004, "write.p99": .005, "max": .009},
		Levels: levels{"diskspd.random": "8192", "diskspd.random_ratio": "70", "diskspd.limit": "500 B/ms"},
	})
	foreigntest.Refused(t, f, "<Results>\n<System>\n</Results>", "line 3", "XML")
	foreigntest.Refused(t, f, "<Results><System></System></Results>", "no time span")
	foreigntest.Refused(t, f, "<Results><System></System><TimeSpan><TestTimeSeconds>30,02</TestTimeSeconds></TimeSpan></Results>", "line 1")
}

func FuzzVdbench(f *testing.F) { foreigntest.Fuzz(f, Vdbench(), "testdata/vdbench*") }
func FuzzIometer(f *testing.F) { foreigntest.Fuzz(f, Iometer(), "testdata/iometer-*") }
func FuzzDiskspd(f *testing.F) { foreigntest.Fuzz(f, Diskspd(), "testdata/diskspd-*") }
