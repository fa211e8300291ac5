package web

import (
	"os"
	"strings"
	"testing"

	"plimsoll/internal/measure"
	"plimsoll/internal/measure/foreign"
	"plimsoll/internal/measure/foreign/foreigntest"
)

type (
	values = map[string]float64
	counts = map[string]int64
	levels = map[string]string
	want   = foreigntest.Want
)

func TestWrk(t *testing.T) {
	f := Wrk()
	foreigntest.File(t, f, "testdata/wrk-4.txt", want{
		Tool: "wrk", Length: 60, Values: values{"requests": 9605.69, "throughput": 2.38 * (1 << 20), "mean": 218.37e-6, "max": .0116, "errors": 0},
		Counts: counts{"operations": 577297, "errors": 0}, Absent: []string{"p50", "p99"}, Levels: levels{"wrk.threads": "2", "wrk.connections": "2"}, Warning: "coordinated omission",
	})
	foreigntest.File(t, f, "testdata/wrk-latency.txt", want{
		Length: 30, Values: values{"requests": 748868.53, "p50": .00025, "p90": .00126, "p99": .0058, "errors": 67. / 30}, Counts: counts{"operations": 22464600, "errors": 67}, Warning: "neither 2xx nor 3xx",
	})
	foreigntest.File(t, f, "testdata/wrk2.txt", want{
		Tool: "wrk2", Values: values{"requests": 10, "mean": .05833, "p50": .05331, "p90": .06262, "max": .2441}, Counts: counts{"operations": 586, "errors": 14},
		Absent: []string{"p99", "p99.9", "p99.99"}, Warning: "fewer than 10", // 500 response times
	})
	foreigntest.File(t, f, "testdata/wrk-4.1-latency.txt", want{
		Tool: "wrk", Length: 3.02, Values: values{"requests": 165.82, "throughput": 101.52 * 1024, "mean": .04399, "max": .06808, "p50": .04393, "p90": .04449, "errors": 10 / 3.02},
		Counts: counts{"operations": 491, "errors": 10}, Absent: []string{"p99"}, Warning: "neither 2xx nor 3xx",
	})
	foreigntest.File(t, f, "testdata/wrk2-latency.txt", want{
		Tool: "wrk2", Length: 30, Values: values{"requests": 2000.28, "throughput": 676.18 * 1024, "mean": .0066, "max": .0125, "p50": .00667, "p90": .00914, "p99": .01118, "p99.9": .0123, "errors": 0},
		Counts: counts{"operations": 60018}, Absent: []string{"p99.99"}, // 39500 response times
	})
	runs, err := parseWrk(foreign.NewText(strings.NewReader("Running 1s test @ http://x\n    Latency     -nanus    -nanus   0.00us    0.00%\n  0 requests in 1.00s, 0.00B read\nRequests/sec:      0.00\n")))
	if _, ok := runs[0].Values["mean"]; err != nil || ok || runs[0].Values["requests"] != 0 {
		t.Errorf("without a response %+v, %v", runs, err)
	}
	if got := public("https://user:secret@h:8443/a?token=secret#x"); got != "https://h:8443/a" {
		t.Errorf("address %q", got)
	}
	foreigntest.Refused(t, f, "Running 1m test @ http://x\nRequests/sec: 12,5\n", "line 2", "decimal comma")
	foreigntest.Refused(t, f, "Running 1m test @ http://x\n    Latency 5 1ms 2ms 99%\n", "line 2", "unit")
}

func TestK6(t *testing.T) {
	f := K6()
	foreigntest.File(t, f, "testdata/k6-export.json", want{
		Length: 3, Values: values{"requests": 529, "mean": .00375, "p50": .0035, "p90": .005125, "p95": .007375, "max": .02125, "throughput": 6234885.5, "errors": 4, "iterations": 529, "iteration.mean": .004, "checks.failed": 7. / 3},
		Counts: counts{"operations": 1575, "errors": 12}, Absent: []string{"p99"}, Warning: "threshold http_req_duration p(95)<5 failed",
	})
	foreigntest.File(t, f, "testdata/k6-handlesummary.json", want{
		Length: 30.0005, Values: values{"requests": 499.99, "p50": .01125, "p99": .0485, "max": .1025, "errors": 0, "dropped": 1, "throughput": 50000}, Counts: counts{"operations": 15000, "errors": 0},
		Warning: "threshold http_req_duration p(99)<40 failed",
	})
	foreigntest.File(t, f, "testdata/k6-0.2x-export.json", want{
		Length: 29 / 2.6541534375803657, Values: values{"requests": 2.6541534375803657, "throughput": 29299.199797449655, "mean": .0505104724137931, "p50": .0456972, "max": .2231873,
			"iteration.mean": 1.06379535862069, "checks.failed": 0},
		Counts: counts{"operations": 29}, Absent: []string{"p90", "errors"},
	})
	foreigntest.File(t, f, "testdata/k6-0.46-export.json", want{
		Values: values{"requests": 44.00109599768763, "mean": .0447102379925373, "p50": .043868981, "p90": .0479607264, "max": .058395971, "iteration.mean": .045083882910447755,
			"errors": 2 / (134 / 44.00109599768763)},
		Counts: counts{"operations": 132, "errors": 2}, Absent: []string{"p95", "p99"}, Warning: "threshold http_req_duration max<1 failed",
	})
	foreigntest.File(t, f, "testdata/k6-1.8.1-export.json", want{
		Values: values{"requests": 44.092273590928194, "mean": .04446694680597017, "p90": .0480056468, "max": .091695805}, Counts: counts{"operations": 131, "errors": 3},
		Warning: "threshold http_req_duration max<1 failed",
	})
	foreigntest.File(t, f, "testdata/k6-1.8.1-handlesummary.json", want{
		Length: 3.033109836, Values: values{"requests": 44.50877393152208, "throughput": 27834.798132908763, "mean": .04434179097777777, "p50": .043671928, "p90": .0479414854, "max": .069620318,
			"errors": 3 / 3.033109836},
		Counts: counts{"operations": 132, "errors": 3}, Warning: "threshold http_req_duration max<1 failed",
	})
	foreigntest.File(t, f, "testdata/k6-1.8.1-machine.json", want{
		Tool: "k6 1.8.1", Length: 3.018617716, Values: values{"requests": 132 / 3.018617716, "throughput": 82534 / 3.018617716, "mean": .04553359943181818, "p50": .046879797, "p90": .0482365293,
			"max": .060176697, "iterations": 132 / 3.018617716,
			"errors": 2 / 3.018617716, "checks.failed": 2 / 3.018617716}, Counts: counts{"operations": 130, "errors": 2}, Absent: []string{"p95", "p99"},
	})
	foreigntest.File(t, f, "testdata/k6-grpc-handlesummary.json", want{
		Length: 3.393269634, Values: values{"iterations": 2833.5502441831595, "iteration.mean": .002580914916068644, "throughput": 395202.310645497, "checks.failed": 0},
		Absent: []string{"requests", "p50"}, Warning: "threshold fake_rate rate >= 0.8 failed",
	})
	const unasked = `{"config":{"duration":3},"results":{"metrics":[{"name":"http_reqs","type":"counter","values":{"count":1e3}},` +
		`{"name":"http_req_duration","type":"trend","values":{"med":5,"p90":7,"p95":null}}]}}`
	runs, err := parseK6(foreign.NewText(strings.NewReader(unasked)))
	if _, ok := runs[0].Values["p95"]; err != nil || ok || runs[0].Values["p90"] != .007 {
		t.Errorf("a quantile that was not asked for: %+v, %v", runs, err)
	}
	foreigntest.Refused(t, f, `{"type":"Metric","data":{},"metric":"http_reqs"}`, "point stream", "--summary-export")
	foreigntest.Refused(t, f, `{"metrics":{}}`, "no result")
	if !f.Sniff([]byte(`{"metric":"http_reqs","type":"Point"`)) {
		t.Error("the point stream is not recognised, so that nothing says why it cannot be read")
	}
}

// In the old export true says that a threshold has failed.
func TestK6Thresholds(t *testing.T) {
	for file, states := range map[string]map[string]measure.State{
		"testdata/k6-export.json":        {"threshold http_req_duration p(95)<5": measure.Fail, "threshold http_req_duration max<100": measure.Pass},
		"testdata/k6-handlesummary.json": {"threshold http_req_duration p(99)<40": measure.Fail, "threshold http_reqs rate>400": measure.Pass},
	} {
		runs, err := parseK6(fileOf(t, file))
		if err != nil {
			t.Fatal(err)
		}
		if len(runs[0].Checks) != len(states) {
			t.Errorf("%s: checks %+v", file, runs[0].Checks)
		}
		for _, c := range runs[0].Checks {
			if states[c.Name] != c.State {
				t.Errorf("%s: %s is %s, want %s", file, c.Name, c.State, states[c.Name])
			}
		}
	}
}

func TestVegeta(t *testing.T) {
	f := Vegeta()
	foreigntest.File(t, f, "testdata/vegeta-12.json", want{
		Length: .993507166, Values: values{"requests": 100.65218206, "offered": 101.01010672380401, "mean": .002371194, "max": .003660505, "p50": .002854306, "errors": 0},
		Counts: counts{"operations": 100, "errors": 0}, Absent: []string{"p95", "p99"}, Warning: "fewer than 10",
	})
	foreigntest.File(t, f, "testdata/vegeta-12.12.json", want{
		Length: 1.991793917, Values: values{"requests": 100.41199458086307, "offered": 100.52118889457908, "mean": .004138297, "p50": .00191466, "p90": .002971853, "p95": .010951434, "max": .079136766, "errors": 0},
		Counts: counts{"operations": 200}, Absent: []string{"p99"},
	})
	foreigntest.File(t, f, "testdata/vegeta-12.8.4.json", want{
		Length: 3.023337182, Values: values{"requests": 97.24353662912084, "offered": 100.34173199706399, "mean": .038451869, "p50": .043744037, "p90": .049205823, "p95": .054258128,
			"max": .084159142, "throughput": 153600 / 3.023337182},
		Counts: counts{"operations": 294, "errors": 6}, Absent: []string{"p99"}, Warning: "failed requests",
	})
	foreigntest.File(t, f, "testdata/vegeta-8.json", want{
		Length: 20, Values: values{"requests": 99, "errors": 1, "p99": .009, "throughput": 10000}, Counts: counts{"operations": 1980, "errors": 20}, Absent: []string{"p90"}, Warning: "failed requests",
	})
	foreigntest.Refused(t, f, `{"latencies":{"mean":-5},"bytes_in":{},"duration":1e9,"requests":5,"success":1}`, "mean", "negative")
}

func TestOha(t *testing.T) {
	f := Oha()
	foreigntest.File(t, f, "testdata/oha-1.json", want{
		Length: 10, Values: values{"requests": 1149.2, "mean": .0087, "max": .0512, "p50": .0087, "p99": .0481, "p99.9": .0502, "throughput": 1176473.6, "errors": .5},
		Counts: counts{"operations": 11490, "errors": 5}, Absent: []string{"p99.99"}, Warning: "coordinated omission",
	})
	// Four requests were in flight when the time was over: oha counts them in its rate.
	foreigntest.File(t, f, "testdata/oha-1.16.json", want{
		Length: 3.167535854, Values: values{"requests": 83.97694998908764, "mean": .04722938514885495, "max": .085339011, "p50": .045704376, "p90": .052017792, "p95": .066671692,
			"throughput": 42349.63902006079, "errors": 5 / 3.167535854}, Counts: counts{"operations": 257, "errors": 5}, Absent: []string{"p99"}, Warning: "neither 2xx nor 3xx",
	})
	foreigntest.File(t, f, "testdata/oha-1.16-n.json", want{
		Length: 4.7550053949999995, Values: values{"requests": 42.06094071108831, "mean": .04734665000999999, "max": .112780636, "p50": .044984115, "p95": .060759704}, Counts: counts{"operations": 196, "errors": 4},
	})
	foreigntest.File(t, f, "testdata/oha-0.5.json", want{Values: values{"requests": 500, "p99": .2}, Counts: counts{"operations": 1000, "errors": 0}, Absent: []string{"p99.9"}})
	const aborted = `{"summary":{"successRate":null,"total":1.0,"slowest":null,"requestsPerSec":2.0,"sizePerSec":0.0},"latencyPercentiles":{"p50":null},` +
		`"responseTimeHistogram":{"NaN":0},"statusCodeDistribution":{},"errorDistribution":{"aborted due to deadline":2}}`
	runs, err := parseOha(foreign.NewText(strings.NewReader(aborted)))
	if err != nil || runs[0].Counts["errors"] != 0 || runs[0].Void == "" {
		t.Errorf("a run whose requests were all aborted at its end is %+v, %v", runs, err)
	}
	foreigntest.Refused(t, f, `{"summary":{"requestsPerSec":"x"}}`, "line 1", "requestsPerSec")
}

func FuzzWrk(f *testing.F)    { foreigntest.Fuzz(f, Wrk(), "testdata/wrk*") }
func FuzzK6(f *testing.F)     { foreigntest.Fuzz(f, K6(), "testdata/k6-*") }
func FuzzVegeta(f *testing.F) { foreigntest.Fuzz(f, Vegeta(), "testdata/vegeta-*") }
func FuzzOha(f *testing.F)    { foreigntest.Fuzz(f, Oha(), "testdata/oha-*") }

func fileOf(t *testing.T, path string) *foreign.Text {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return foreign.NewText(file)
}
