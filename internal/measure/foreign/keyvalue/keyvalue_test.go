package keyvalue

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

func TestRedisBenchmark(t *testing.T) {
	f := RedisBenchmark()
	foreigntest.File(t, f, "testdata/redis-7.txt", want{
		Length: 1.25, Values: values{"set.operations": 79936.05, "set.mean": .000324, "set.p50": .000319, "set.p95": .000391, "set.p99": .000455, "set.max": .001327},
		Counts: counts{"set.operations": 100000}, Levels: levels{"redis.clients": "50", "redis.payload": "3"}, Warning: "coordinated omission",
	})
	foreigntest.File(t, f, "testdata/redis-5.txt", want{
		Values: values{"ping_inline.operations": 86956.52, "mset.operations": 62500}, Counts: counts{"mset.operations": 100000}, Absent: []string{"ping_inline.p50", "mset.mean"},
	})
	foreigntest.File(t, f, "testdata/redis-7.csv", want{
		Values: values{"set.operations": 79936.05, "set.p99": .000455, "get.operations": 81234.77, "get.mean": .000318, "get.max": .001103}, Warning: "number of requests",
	})
	foreigntest.File(t, f, "testdata/redis-5.csv", want{Values: values{"set.operations": 81234.77, "get.operations": 90991.81}, Absent: []string{"set.p50"}})
	foreigntest.File(t, f, "testdata/redis-7-quiet.txt", want{Values: values{"set.operations": 79936.05, "get.p50": .000311}, Absent: []string{"set.p99"}})
	foreigntest.File(t, f, "testdata/redis-7.0.15.txt", want{
		Length: 2.34, Values: values{"set.operations": 27816.41, "set.mean": .001235, "set.p50": .000735, "set.p95": .004543, "set.p99": .009327, "set.max": .026095, "get.operations": 12345.68, "get.p99": .021183},
		Counts: counts{"set.operations": 20000, "get.operations": 20000},
	})
	foreigntest.File(t, f, "testdata/redis-7.0.15-quiet.txt", want{Values: values{"set.operations": 17683.46, "set.p50": .000799, "get.operations": 16064.26, "get.p50": .000903}})
	// LPUSH runs as a test, then to fill the list that LRANGE reads.
	foreigntest.File(t, f, "testdata/redis-6.0.csv", want{
		Values: values{"ping_inline.operations": 134048.27, "set.operations": 145985.41, "lpush.operations": 143678.17, "lrange_600.operations": 11755.03, "mset.operations": 104275.29},
		Absent: []string{"set.p50"},
	})
	foreigntest.File(t, f, "testdata/redis-6.2.csv", want{
		Values: values{"ping_inline.operations": 160771.70, "ping_inline.mean": .000167, "lpush.operations": 149700.61, "lpush.max": .001511, "lrange_500.p99": .005703, "mset.p50": .000295,
			"mset.max": .005935}, Warning: "number of requests",
	})
	foreigntest.File(t, f, "testdata/redis-6.2.4.csv", want{Values: values{"json_get_jsonsl-1__.operations": 19920.32, "json_get_jsonsl-1__.p99": .000287}})
	const command = "json_set_pass-100_____sclr__0__str___b__" // with quotes and commas, which are not escaped
	foreigntest.File(t, f, "testdata/redis-6.2-command.csv", want{Values: values{command + ".operations": 73391.80, command + ".p50": .000199, command + ".max": .016463}})
	runs, err := parseRedisBenchmark(foreign.NewText(strings.NewReader("LPUSH: 5.5 requests per second, p50=1.0 msec\nLPUSH (needed to benchmark LRANGE): 6.5 requests per second, p50=2.0 msec\n" +
		"====== LPUSH (needed to benchmark LRANGE) ======\n  100 requests completed in 7.00 seconds\n  14.29 requests per second\n")))
	if err != nil || runs[0].Values["lpush.operations"] != 5.5 || runs[0].Values["lpush.p50"] != .001 || runs[0].Length != 0 {
		t.Errorf("with a filled list %+v, %v", runs, err)
	}
	foreigntest.Refused(t, f, "\"test\",\"rps\",\"p99_latency_ms\"\n\"SET\",\"1.5\"\n", "line 2", "2 fields instead of 3")
	foreigntest.Refused(t, f, "====== SET ======\n  1,5 requests per second\n", "line 2", "decimal comma")
	foreigntest.Refused(t, f, "====== SET ======\n", "no result")
}

func TestMemtier(t *testing.T) {
	f := Memtier()
	foreigntest.File(t, f, "testdata/memtier-1.4.json", want{
		Length: 799.002, Values: values{
			"operations": 90018.1, "throughput": 28951.87 * 1024, "mean": .000355, "max": .023935, "p50": .000231, "p90": .000759, "p95": .000951, "p99": .001415, "p99.9": .002575,
			"hits": 16300.7, "misses": 64715.58, "set.operations": 9001.83, "set.p99": .001431, "get.operations": 81016.28,
		},
		Counts: counts{"operations": 71924614, "set.operations": 7192475}, Levels: levels{"memtier.clients": "8", "memtier.threads": "4", "memtier.ratio": "1:9"}, Warning: "coordinated omission",
	})
	foreigntest.File(t, f, "testdata/memtier-1.2.json",
		want{Length: 20, Values: values{"operations": 100000, "mean": .00191, "get.operations": 90909.1}, Absent: []string{"p50", "max"}},
		want{Values: values{"operations": 98000, "mean": .00195}})
	foreigntest.File(t, f, "testdata/memtier-1.3.1.json", want{
		Length: 10.869, Values: values{"operations": 184008.96, "misses": 167264.14, "mean": .001086, "max": .011455, "p50": .001055, "p99": .002039, "p99.9": .002831, "set.operations": 16744.82,
			"set.max": .010239},
		Counts: counts{"operations": 2000000, "set.operations": 182000},
	})
	foreigntest.Refused(t, f, `{"configuration":{"run_count":3},"BEST RUN RESULTS":{},"AGGREGATED AVERAGE RESULTS (3 runs)":{}}`, "--print-all-runs")
	foreigntest.Refused(t, f, "{\"configuration\":{},\n", "line 1", "truncated")
	foreigntest.Refused(t, f, `{"ALL STATS":{"Totals":{"Count":5,"Ops/sec":-1}}}`, "operations", "negative")
}

// The histogram that memtier prints agrees with the percentiles that it prints, which are the ends of buckets 8 µs wide.
func TestMemtierHistogram(t *testing.T) {
	data, err := os.ReadFile("testdata/memtier-1.4.json")
	if err != nil {
		t.Fatal(err)
	}
	runs, err := parseMemtier(foreign.NewText(strings.NewReader(string(data))))
	if err != nil {
		t.Fatal(err)
	}
	for class, count := range (counts{"": 71924614, "set": 7192475, "get": 64732139}) {
		h := runs[0].Histograms[class]
		if h == nil || h.Count() != count {
			t.Fatalf("the histogram of %q has %v response times, want %d", class, h, count)
		}
		prefix := class
		if class != "" {
			prefix += "."
		}
		for name, q := range (values{"p50": .5, "p99": .99, "p99.9": .999}) {
			got, ok := h.Quantile(q)
			printed := runs[0].Values[prefix+name]
			if !ok || got.Seconds() < printed*.98 || got.Seconds() > printed*1.01 {
				t.Errorf("%s%s is %s in the histogram, %v s as printed", prefix, name, got, printed)
			}
		}
	}
}

func FuzzRedisBenchmark(f *testing.F) { foreigntest.Fuzz(f, RedisBenchmark(), "testdata/redis-*") }
func FuzzMemtier(f *testing.F)        { foreigntest.Fuzz(f, Memtier(), "testdata/memtier-1.2.json") }
