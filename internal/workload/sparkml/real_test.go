package sparkml

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"os/exec"
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

// on has a cluster for the load.
func on(t *testing.T, e workload.Env, settings parameter.Settings) workload.Env {
	t.Helper()
	s, err := cluster.Kind().New(settings)
	if err != nil {
		t.Fatal(err)
	}
	dir := reachable(t)
	i, err := s.Start(t.Context(), service.Env{Machine: e.Machine, Dir: dir + "/instance", Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	e.Target = i.Endpoint
	return e
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
	l, err := Kind().New(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Prepare(t.Context(), e); err != nil {
		return nil, err
	}
	out := measure.NewRecorder(func(r *measure.Recorder) bool { return len(r.Intervals()) >= intervals })
	return out, l.Run(t.Context(), e, load.Stage{Length: 10 * time.Minute, Interval: time.Second, Seed: 1}, out)
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
	var sites []workload.Env
	for _, workers := range []string{"1", "2"} {
		sites = append(sites, on(t, e, parameter.Settings{"workers": workers, "memory": "512MiB"}))
	}
	for _, algorithm := range []string{kmeans, logistic, forest, sensors} {
		s := parameter.Settings{"algorithm": algorithm, "rows": "20000", "features": "10", "discards": "0", "driver_memory": "600MiB", "every": "200ms"}
		for i, site := range append(sites, e) {
			out, err := trainedOn(t, site, s, 2)
			if err != nil {
				t.Fatalf("%s on site %d: %v", algorithm, i, err)
			}
			passes(t, out)
			v := out.Values()
			if least := map[string]float64{logistic: .88, forest: .75, sensors: .95}[algorithm]; v["quality"] < least || algorithm == logistic && v["quality"] > .92 {
				t.Errorf("%s on site %d has the quality %g", algorithm, i, v["quality"])
			}
			t.Log(algorithm, i, v)
		}
	}
}

// An executor that is killed is replaced: the training ends, and the trial is marked.
func TestRealLostExecutor(t *testing.T) {
	e := really(t)
	effort.Deep(t, "kill an executor")
	e = on(t, e, parameter.Settings{"workers": "2", "memory": "512MiB"})
	l, err := Kind().New(parameter.Settings{"rows": "50000", "discards": "0", "driver_memory": "600MiB"})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Prepare(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	out := measure.NewRecorder(func(r *measure.Recorder) bool {
		if len(r.Intervals()) == 2 {
			if text, err := exec.Command("sh", "-c", `kill -KILL $(ps -eo pid,args | awk '/[C]oarseGrainedExecutorBackend/ {print $1; exit}')`).CombinedOutput(); err != nil {
				t.Errorf("kill an executor: %s, %v", text, err)
			}
		}
		return len(r.Intervals()) >= 5
	})
	if err := l.Run(t.Context(), e, load.Stage{Length: 10 * time.Minute, Interval: time.Second, Seed: 1}, out); err != nil {
		t.Fatal(err)
	}
	if c := check(out, "executors"); c.State != measure.Fail {
		t.Errorf("%+v", c)
	}
	if c := check(out, "quality"); c.State != measure.Pass {
		t.Errorf("%+v", c)
	}
	t.Log(check(out, "executors").Detail)
}

// A driver without memory, and a local folder without space, tell the cause.
func TestRealFailures(t *testing.T) {
	e := really(t)
	effort.Deep(t, "have the driver run out of memory")
	_, err := trainedOn(t, e, parameter.Settings{"rows": "3000000", "features": "60", "partitions": "2", "algorithm": "logistic", "storage": "memory-disk", "driver_memory": "512MiB"}, 1)
	if err == nil || !strings.Contains(err.Error(), "raise sparkml.driver_memory") {
		t.Errorf("out of memory: %v", err)
	}
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
job = dict(seed="7", rows=20000, features=4, partitions=8, clusters=4, shift=0.6408, cutoff=5.0)
out = {}
for a in ("kmeans", "logistic", "sensors"):
    d = frame(spark, dict(job, algorithm=a), "train", 20000).cache()
    out[a] = d.select("features").distinct().count()
    vs = [row.features.toArray() for row in d.select("features").collect()]
    out[a + " values"] = len({round(float(x), 12) for v in vs for x in v})
    if a != "kmeans":
        out[a + " ones"] = d.agg(f.avg("label")).first()[0]
    else:
        out["sizes"] = [r["count"] for r in d.groupBy("cluster").count().orderBy("cluster").collect()]
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
	for _, share := range []float64{told.Ones, told.Sensors} {
		if math.Abs(share-.5) > 5*.5/math.Sqrt(20000) {
			t.Errorf("the share of labels 1 is %g", share)
		}
	}
}
