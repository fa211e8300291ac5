package database

import (
	"os"
	"strings"
	"testing"

	"plimsoll/internal/measure/foreign"
	"plimsoll/internal/measure/foreign/foreigntest"
)

type (
	values = map[string]float64
	counts = map[string]int64
	levels = map[string]string
	want   = foreigntest.Want
)

func TestPgbench(t *testing.T) {
	f := Pgbench()
	foreigntest.File(t, f, "testdata/pgbench-9.5.txt", want{
		Tool: "pgbench", Length: 5, Values: values{"transactions": 13.062579, withConnecting: 12.580114, "mean": 1.108418},
		Counts: counts{"operations": 77}, Absent: []string{"p50", "p99", "max", "errors"},
		Levels: levels{"pgbench.script": "TPC-B (sort of)", "pgbench.scale": "1", "pgbench.mode": "simple", "pgbench.clients": "16", "pgbench.threads": "16"},
	})
	foreigntest.File(t, f, "testdata/pgbench-13.txt", want{
		Length: 10, Values: values{"transactions": 1338.611207, withConnecting: 1338.250133, "mean": .005952}, Levels: levels{"pgbench.script": "builtin: TPC-B (sort of)"},
	})
	foreigntest.File(t, f, "testdata/pgbench-16.txt", want{
		Tool: "pgbench 16.4", Length: 10,
		Values: values{"transactions": 499.801234, "mean": .002109, "connecting": .011204, "lag.mean": .000079, "lag.max": .00931, "retries": 4.4, "skipped": .5, "errors": 2},
		Counts: counts{"operations": 4998, "errors": 20, "retries": 44, "skipped": 5}, Absent: []string{withConnecting}, Levels: levels{"pgbench.tries": "3"},
	})
	foreigntest.Refused(t, f, "transaction type: a\nlatency average = 1,5 ms\n", "line 2", "decimal comma", "LC_ALL=C")
	foreigntest.Refused(t, f, "transaction type: a\ntps = -5 (including connections establishing)\n", "line 2", "negative")
	foreigntest.Refused(t, f, "transaction type: a\ntps = NaN (including connections establishing)\n", "line 2", "possible measurement")
	foreigntest.Refused(t, f, "transaction type: a\nnumber of transactions actually processed: many\n", "line 2", `"many"`)
}

func TestPgbenchThatWasAborted(t *testing.T) {
	text := "transaction type: a\nnumber of transactions actually processed: 5/100\ntps = 10.5 (without initial connection time)\npgbench: error: Run was aborted; the above results are incomplete.\n"
	runs, err := parsePgbench(textOf(text))
	if err != nil || len(runs) != 1 || !strings.Contains(runs[0].Void, "incomplete") {
		t.Errorf("runs %+v, %v", runs, err)
	}
	text = "transaction type: a\ntps = 10.5 (including reconnection times)\ntransaction type: b\nduration: 5 s\n"
	if runs, err = parsePgbench(textOf(text)); err != nil || len(runs) != 2 || runs[0].Values["transactions"] != 10.5 || runs[1].Void == "" {
		t.Errorf("two reports in a file are %+v, %v", runs, err)
	}
}

func TestPgbenchLog(t *testing.T) {
	// The fixture was made with these sums.
	foreigntest.File(t, PgbenchLog(), "testdata/pgbench.log", want{
		Counts: counts{"operations": 2000, "errors": 1, "skipped": 1}, Values: values{"max": .003998, "mean": .0024855, "transactions": 804.5052095321395}, Absent: []string{"p99.9"},
	})
	foreigntest.Refused(t, PgbenchLog(), "0 1 1000 0 1700000000 1\n0 2 1000\n", "line 2", "3 fields instead of 6")
}

func TestSysbench(t *testing.T) {
	f := Sysbench()
	foreigntest.File(t, f, "testdata/sysbench-1.0.12.txt", want{
		Tool: "sysbench 1.0.12", Length: 30.0145, Values: values{"transactions": 986.49, "queries": 19730.45, "mean": .01621, "max": .11578, "errors": 1 / 30.0145},
		Counts: counts{"operations": 29611, "errors": 1}, Absent: []string{"p95", "p99", "events"}, Levels: levels{"sysbench.threads": "16"},
	})
	foreigntest.File(t, f, "testdata/sysbench-0.5.txt", want{
		Tool: "sysbench 0.5", Length: 1200.0136, Values: values{"transactions": 151.85, "queries": 2733.24, "mean": .01317, "max": .21053, "p99": .01773},
		Counts: counts{"operations": 182218, "errors": 0}, Absent: []string{"p95"},
	})
	foreigntest.File(t, f, "testdata/sysbench-cpu-0.4.12.txt", want{
		Tool: "sysbench 0.4.12", Length: 12.5, Values: values{"events": 800, "mean": .0025, "max": .00987, "p95": .00261}, Counts: counts{"operations": 10000}, Absent: []string{"transactions", "errors"},
	})
	foreigntest.File(t, f, "testdata/sysbench-cpu-1.0.20.txt", want{
		Tool: "sysbench 1.0.20", Length: 1.007, Values: values{"events": 289.6, "mean": .00673, "max": .05923, "p95": .02352}, Counts: counts{"operations": 294},
	})
	foreigntest.File(t, f, "testdata/sysbench-memory-1.0.11.txt", want{
		Tool: "sysbench 1.0.11", Length: 10.0001, Values: values{"events": 3894455.31, "throughput": 3803.18 * (1 << 20), "max": .00019}, Absent: []string{"mean", "p95"},
		Levels: levels{"sysbench.block_size": "1KiB", "sysbench.operation": "write"},
	})
	foreigntest.File(t, f, "testdata/sysbench-fileio-1.0.txt", want{
		Values: values{"reads": 120, "writes": 80, "read.throughput": 1.88 * (1 << 20), "mean": .00092}, Counts: counts{"operations": 2000}, Absent: []string{"events"},
	})
	foreigntest.Refused(t, f, "sysbench 1.0.20\n    transactions:   100  (10,5 per sec.)\n", "line 2", "decimal comma")
}

func TestSysbenchHistogram(t *testing.T) {
	runs, err := parseSysbench(fileOf(t, "testdata/sysbench-fileio-1.0.txt"))
	if err != nil || runs[0].Histograms[""].Count() != 2000 {
		t.Fatalf("histogram of %+v, %v", runs, err)
	}
	for name, ms := range map[string]float64{"p50": .2, "p90": 1, "p99": 10} {
		if got := runs[0].Values[name] * 1e3; got < ms*.998 || got > ms*1.002 {
			t.Errorf("%s is %v ms, want the bin of %v ms", name, got, ms)
		}
	}
}

func TestHammerdb(t *testing.T) {
	f := Hammerdb()
	foreigntest.File(t, f, "testdata/hammerdb-tproc-c-6.0.json", want{
		Tool: "HammerDB v6.0", Length: 300, Cut: 120,
		Values: values{"nopm": 824561, "tpm": 1895299, "neword.mean": .000754, "neword.p50": .000636, "neword.p95": .001808, "neword.p99": .00286, "neword.max": .082894, "slev.p99": .005496},
		Counts: counts{"neword.operations": 5945781}, Levels: levels{"hammerdb.warehouses": "192", "hammerdb.virtual_users": "24", "hammerdb.database": "PostgreSQL 18.4"},
	})
	foreigntest.File(t, f, "testdata/hammerdb-tproc-h-6.0.json", want{Values: values{"query.geomean": .20057, "query.total": 8}, Absent: []string{"nopm"}, Levels: levels{"hammerdb.scale_factor": "1"}})
	if f.Metrics[0].Name != "nopm" {
		t.Errorf("the first metric is %s", f.Metrics[0].Name)
	}
	for _, m := range append(f.Metrics, HammerdbLog().Metrics...) {
		if strings.Contains(strings.ToLower(m.Name+m.Doc), "tpmc") {
			t.Errorf("%s is named like a result of TPC-C", m.Name)
		}
	}
	foreigntest.Refused(t, f, `{"schema":"hammerdb-job-report-v1","result":{"nopm":-1}}`, "nopm", "negative")
	foreigntest.Refused(t, f, "{\n\"schema\":\"hammerdb-job-report-v1\",\n\"result\":{\"nopm\":\"many\"}}", "line 3", "nopm")
}

func TestHammerdbLog(t *testing.T) {
	f := HammerdbLog()
	foreigntest.File(t, f, "testdata/hammerdb-tpcc-4.0.log", want{
		Tool: "HammerDB", Length: 600, Cut: 300, Values: values{"nopm": 8153, "tpm": 24772}, Levels: levels{"hammerdb.database": "MySQL", "hammerdb.virtual_users": "4"},
	})
	foreigntest.File(t, f, "testdata/hammerdb-sqlserver-3.log", want{Length: 300, Values: values{"nopm": 33602, "tpm": 154327}, Levels: levels{"hammerdb.database": "SQL Server"}})
	foreigntest.File(t, f, "testdata/hammerdb-tpch-4.0.log", want{Length: 91, Values: values{"query.total": 91, "query.geomean": 1.40067754041747}, Absent: []string{"nopm"}})
	foreigntest.File(t, f, "testdata/hammerdb-timeprofile-4.3.log", want{
		Values: values{"nopm": 8153, "neword.mean": .009236, "neword.p99": .014197, "neword.max": .036366, "ostat.p50": .002033}, Counts: counts{"neword.operations": 322104},
	})
	if runs, err := parseHammerdbLog(textOf("Vuser 1:RUNNING\n")); err != nil || runs[0].Void == "" {
		t.Errorf("a log without a result is %+v, %v", runs, err)
	}
}

func TestYcsb(t *testing.T) {
	f := Ycsb()
	foreigntest.File(t, f, "testdata/ycsb-0.1.txt", want{
		Tool: "YCSB 0.1", Length: .08, Values: values{"operations": 12500, "update.mean": 65.9774011299435e-6, "read.max": 102e-6, "update.operations": 531 / .08, "errors": 0},
		Counts: counts{"operations": 1000, "update.operations": 531, "read.operations": 469}, Absent: []string{"update.p95", "read.p99", "cleanup.mean"},
	})
	foreigntest.File(t, f, "testdata/ycsb-0.17.txt", want{
		Length: 10.018, Values: values{"operations": 1666.8995807546416, "read.mean": 3981.7847775315886e-6, "read.p95": .006171, "read.p99": .010215, "read.max": .222207},
	})
	foreigntest.File(t, f, "testdata/ycsb-errors.txt", want{
		Counts: counts{"read.operations": 4, "read.errors": 96, "insert.errors": 50, "operations": 104, "errors": 196}, Warning: "failed", Absent: []string{"read.p99"},
	})
	foreigntest.File(t, f, "testdata/ycsb-hbase.txt", want{
		Values: values{"operations": 2740.503428935472, "update.p95": .004, "update.p99": .007}, Counts: counts{"update.operations": 2468054, "read.errors": 2465984},
	})
	foreigntest.Refused(t, f, "[OVERALL], RunTime(ms), 10\n[OVERALL], Throughput(ops/sec), 1,5\n", "line 2")
}

func FuzzPgbench(f *testing.F)     { foreigntest.Fuzz(f, Pgbench(), "testdata/pgbench-*.txt") }
func FuzzPgbenchLog(f *testing.F)  { foreigntest.Fuzz(f, PgbenchLog(), "testdata/pgbench.log") }
func FuzzSysbench(f *testing.F)    { foreigntest.Fuzz(f, Sysbench(), "testdata/sysbench-*.txt") }
func FuzzHammerdb(f *testing.F)    { foreigntest.Fuzz(f, Hammerdb(), "testdata/hammerdb-*.json") }
func FuzzHammerdbLog(f *testing.F) { foreigntest.Fuzz(f, HammerdbLog(), "testdata/hammerdb-*.log") }
func FuzzYcsb(f *testing.F)        { foreigntest.Fuzz(f, Ycsb(), "testdata/ycsb-*.txt") }

func textOf(text string) *foreign.Text { return foreign.NewText(strings.NewReader(text)) }

func fileOf(t *testing.T, path string) *foreign.Text {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return textOf(string(data))
}
