package sparkml

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/effort"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/service"
	cluster "plimsoll/internal/service/spark"
	"plimsoll/internal/workload"
)

// really is this machine, where it has Spark.
func really(t *testing.T) workload.Env {
	t.Helper()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to train on the real Spark")
	}
	// Processes that live for a minute have nothing of Java's second compiler but its CPU time.
	t.Setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
	e := env(t)
	l, err := Kind().New(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Check(t.Context(), e); err != nil {
		t.Skipf("Spark does not run here: %v", err)
	}
	return e
}

// grid is a cluster for a load.
type grid struct {
	env      workload.Env
	instance service.Instance
	dir      string
}

// on starts a cluster, and stops it at the end of the test.
func on(t *testing.T, e workload.Env, workers string) grid {
	t.Helper()
	s, err := cluster.Kind().New(parameter.Settings{"workers": workers, "memory": "512MiB"})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(reachable(t), "instance")
	i, err := s.Start(t.Context(), service.Env{Machine: e.Machine, Dir: dir, Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	e.Target = i.Endpoint
	return grid{e, i, dir}
}

func reachable(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "plimsoll-spark-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// trainedOn runs a load for so many intervals.
func trainedOn(t *testing.T, e workload.Env, s parameter.Settings, intervals int) (*measure.Recorder, error) {
	t.Helper()
	return meanwhile(t, e, s, func(n int) bool { return n >= intervals })
}

// meanwhile runs a load, and is told of each interval whether it is the last.
func meanwhile(t *testing.T, e workload.Env, s parameter.Settings, last func(interval int) bool) (*measure.Recorder, error) {
	t.Helper()
	l, err := Kind().New(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Prepare(t.Context(), e); err != nil {
		return nil, err
	}
	out := measure.NewRecorder(func(r *measure.Recorder) bool { return last(len(r.Intervals())) })
	return out, l.Run(t.Context(), e, load.Stage{Length: time.Hour, Interval: time.Second, Seed: 1}, out)
}

func passes(t *testing.T, out *measure.Recorder) {
	t.Helper()
	for _, c := range out.Checks() {
		if c.State == measure.Fail {
			t.Errorf("%+v", c)
		}
	}
}

// The real driver trains, and the counters of Spark are read.
func TestRealTraining(t *testing.T) {
	effort.Deep(t, "train on a real Spark")
	out, err := trainedOn(t, really(t), parameter.Settings{"rows": "20000", "features": "10", "clusters": "5", "iterations": "5", "discards": "1", "driver_memory": "600MiB"}, 3)
	if err != nil {
		t.Fatal(err)
	}
	passes(t, out)
	v, seen := out.Values(), out.Observed()
	if v["train.time"] <= 0 || v["executor.cpu"] <= 0 || v["shuffle.bytes"] <= 0 || v["trainings"] != 3 || v["quality"] < 5 || v["quality"] > 15 {
		t.Errorf("got %v", v)
	}
	if seen["sparkml.rows"] != "20000" || seen["sparkml.partitions"] != "4" || seen["sparkml.features"] != "10" {
		t.Errorf("observed %v", seen)
	}
	t.Log(v)
}

// Each algorithm has the same quality in the driver alone, on one worker and on two, and classification is as good as it can be.
func TestRealQualityIsTheSameEverywhere(t *testing.T) {
	e := really(t)
	effort.Deep(t, "train with each algorithm in the driver, on one worker and on two")
	names := []string{"the driver alone", "one worker", "two workers"}
	sites := []workload.Env{e, on(t, e, "1").env, on(t, e, "2").env}
	for algorithm, c := range map[string]struct {
		settings    parameter.Settings
		least, most float64
	}{
		kmeans:   {parameter.Settings{"features": "10", "clusters": "5", "iterations": "5"}, 5, 15},
		logistic: {parameter.Settings{"features": "10", "iterations": "5"}, bayes - .02, bayes + .02},
		forest:   {parameter.Settings{"features": "10", "trees": "5", "depth": "4"}, .75, bayes + .02},
		sensors:  {parameter.Settings{"features": "100", "iterations": "10", "every": "200ms", "rate": "500/s"}, .95, 1},
	} {
		t.Run(algorithm, func(t *testing.T) {
			s := with(c.settings, "algorithm", algorithm, "rows", "5000", "discards", "0", "driver_memory", "600MiB")
			var first float64
			intervals := 2
			if algorithm == sensors {
				intervals = 5 // for the quantile
			}
			for i, site := range sites {
				out, err := trainedOn(t, site, s, intervals)
				if err != nil {
					t.Fatalf("on %s: %v", names[i], err)
				}
				passes(t, out)
				v := out.Values()
				if i == 0 {
					first = v["quality"]
				}
				t.Logf("on %s: %v", names[i], v)
				if v["quality"] < c.least || v["quality"] > c.most {
					t.Errorf("on %s the quality is %g, want %g to %g", names[i], v["quality"], c.least, c.most)
				}
				if math.Abs(v["quality"]-first) > 1e-9*first {
					t.Errorf("on %s the quality is %.12g, and %.12g on %s", names[i], v["quality"], first, names[0])
				}
				if algorithm == sensors {
					delays(t, out, 100*time.Millisecond)
				}
			}
		})
	}
}

// delays checks the delays of decisions: events are decided on at the end of their interval, so that they wait for half of it at least.
func delays(t *testing.T, out *measure.Recorder, least time.Duration) {
	t.Helper()
	if c := check(out, "events"); c.State != measure.Pass {
		t.Errorf("%+v", c)
	}
	sum, err := measure.Summarise(out.Intervals(), measure.Window{End: time.Hour.Seconds()}, "operations")
	if err != nil || sum.Values["mean"] < least.Seconds() || sum.Values["p99"] < sum.Values["p50"] {
		t.Errorf("delays %v of %v, %v", sum.Values, sum.Counts, err)
	}
	t.Logf("delays: mean %.3g s, p50 %.3g s, p99 %.3g s of %d events", sum.Values["mean"], sum.Values["p50"], sum.Values["p99"], sum.Counts["operations"])
}

// Rows differ between partitions, clusters have their sizes, and labels their shares.
func TestRealData(t *testing.T) {
	e := really(t)
	effort.Deep(t, "look at the data that Spark makes")
	l, err := Kind().New(parameter.Settings{"rows": "20000", "features": "4", "partitions": "8", "clusters": "4"})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Prepare(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	look := `import sys, json; sys.argv = ["driver.py", "look"]
source = open("` + folder(e) + `/driver.py").read().rsplit("main()", 1)[0]; exec(source)
from pyspark.sql import SparkSession, functions as f
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
job = dict(seed="7", rows=20000, features=4, partitions=8, clusters=4, shift=0.6408)
out = {}
for a in ("kmeans", "logistic"):
    d = frame(spark, dict(job, algorithm=a), "train", 20000).cache()
    out[a] = d.select("features").distinct().count()
    vs = [row.features.toArray() for row in d.select("features").collect()]
    out[a + " values"] = len({round(float(x), 12) for v in vs for x in v})
    if a != "kmeans":
        out[a + " ones"] = d.agg(f.avg("label")).first()[0]
    else:
        out["sizes"] = [r["count"] for r in d.groupBy("cluster").count().orderBy("cluster").collect()]
d = frame(spark, dict(job, algorithm="sensors", features=100, cutoff=2525.0), "train", 5000)
scores = [(sum((i + 1) * v for i, v in enumerate(row.features.toArray())), row.label) for row in d.collect()]
out["sensors ones"] = sum(label for _, label in scores) / len(scores)
out["deviation"] = (sum((s - 2525) ** 2 for s, _ in scores) / len(scores)) ** .5
out["wrong"] = sum((s > 2525) != bool(label) for s, label in scores)
print("\n@" + json.dumps(out))
`
	i, err := exec.Command("sh", "-c", `exec "${XDG_CACHE_HOME:-$HOME/.cache}/plimsoll/spark-3.5.9/bin/python" -c "$1"`, "sh", look).Output()
	if err != nil {
		t.Fatalf("%v", err)
	}
	var told struct {
		KMeans   int     `json:"kmeans"`
		Values   int     `json:"kmeans values"`
		Logistic int     `json:"logistic"`
		Ones     float64 `json:"logistic ones"`
		Sensors  float64 `json:"sensors ones"`
		Spread   float64 `json:"deviation"`
		Wrong    int     `json:"wrong"`
		Sizes    []int   `json:"sizes"`
	}
	_, text, found := strings.Cut(string(i), "\n@")
	if err := json.Unmarshal([]byte(text), &told); err != nil || !found {
		t.Fatalf("%s: %v", i, err)
	}
	if told.KMeans != 20000 || told.Logistic != 20000 || told.Values < 79_990 {
		t.Errorf("rows or values are repeated: %+v", told)
	}
	for n, size := range told.Sizes {
		p := float64(n+1) / 10
		if want := 20000 * p; math.Abs(float64(size)-want) > 5*math.Sqrt(want*(1-p)) {
			t.Errorf("cluster %d has %d rows, want about %g", n, size, want)
		}
	}
	for rows, share := range map[float64]float64{20000: told.Ones, 5000: told.Sensors} {
		if math.Abs(share-.5) > 5*.5/math.Sqrt(rows) {
			t.Errorf("the share of labels 1 is %g of %g rows", share, rows)
		}
	}
	if told.Wrong != 0 || math.Abs(told.Spread/deviation(100)-1) > .05 {
		t.Errorf("%d labels of sensors are wrong, and the deviation of the score is %g", told.Wrong, told.Spread)
	}
}
