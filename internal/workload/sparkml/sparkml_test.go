package sparkml

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/spark"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/workloadtest"
)

// pretender makes an environment whose Python pretends to train. Before each training it does what is planted, which may
// change $quality, $executors and $iterations by the number of the training, $n.
func pretender(t *testing.T, planted string) parameter.Settings {
	t.Helper()
	home := t.TempDir()
	site := filepath.Join(home, "lib/python3.11/site-packages")
	for name, text := range map[string]string{
		site + "/pyspark/jars/spark-core_2.12-3.5.9.jar": "", site + "/numpy/version.py": "",
		home + "/bin/java": "#!/bin/sh\necho 'openjdk version \"17.0.15\" 2025' >&2\n",
		home + "/bin/python": fmt.Sprintf(`#!/bin/sh
say() { printf 'noise \036%%s\n' "$1"; }
now() { date +%%s%%N; }
quality=11.5 executors='"d:1","e:1"' iterations=17 n=0
begin=$(now)
say "{\"ready\":{\"start\":0.5,\"data\":0.25,\"rows\":100000,\"partitions\":4,\"features\":20,\"executors\":[$executors]}}"
while read -r request; do
	case $request in
	train)
		n=$((n + 1)) began=$(now)
		%s
		sleep .04
		took=$(printf '%%010d' $(($(now) - began)))
		say "{\"trained\":{\"train\":${took%%?????????}.${took#${took%%?????????}},\"test\":0,\"quality\":$quality,\"iterations\":$iterations,\"most\":20,\"executors\":[$executors]}}"
		each="$each{\"cpu\":2,\"gc\":0.5,\"shuffle\":1000,\"spill\":$n}," ;;
	stream)
		say '{"streaming":true}'
		(i=0; while [ "$i" -lt "${decisions:-1000}" ]; do i=$((i + 1)); sleep .02; say '{"decided":{"delays":{"500":15,"900":5},"correct":true}}'; done) & ;;
	end)
		[ -z "$decisions" ] || wait
		kill $! 2>/dev/null
		say "{\"end\":{\"trainings\":[${each%%,}],\"cpu\":0.1,\"sent\":${sent:-0}}}" ;;
	esac
done
`, planted),
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return parameter.Settings{"home": home, "java": home + "/bin/java"}
}

// with are settings with more of them.
func with(s parameter.Settings, more ...string) parameter.Settings {
	for i := 0; i < len(more); i += 2 {
		s[more[i]] = more[i+1]
	}
	return s
}

func env(t *testing.T) workload.Env {
	t.Helper()
	p, err := local.Kind().Open(t.Context(), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return workload.Env{Machine: p.Machine(), Dir: filepath.Join(t.TempDir(), "scratch"), Seed: 7}
}

// files are those of the scratch folder.
func files(t *testing.T, env workload.Env) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(env.Dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path == env.Dir {
			return fs.SkipAll
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			all[path] = info.ModTime().String()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestContract(t *testing.T) {
	t.Parallel()
	workloadtest.Run(t, Kind(), workloadtest.Options{
		Settings: []parameter.Settings{pretender(t, ""), with(pretender(t, ""), "algorithm", "sensors")},
		Env:      env, Files: files, Length: loadtest.Short(2 * time.Second),
	})
}

// ran prepares and runs a load, which has enough after so many intervals.
func ran(t *testing.T, s parameter.Settings, intervals int) (*measure.Recorder, workload.Env, error) {
	t.Helper()
	l, err := Kind().New(s)
	if err != nil {
		t.Fatal(err)
	}
	e := env(t)
	if err := l.Prepare(t.Context(), e); err != nil {
		return nil, e, err
	}
	out := measure.NewRecorder(func(r *measure.Recorder) bool { return len(r.Intervals()) >= intervals })
	return out, e, l.Run(t.Context(), e, load.Stage{Length: time.Minute, Interval: time.Second}, out)
}

func check(out *measure.Recorder, name string) (found measure.Check) {
	for _, c := range out.Checks() {
		if c.Name == name {
			found = c
		}
	}
	return found
}

func TestTrainingsAreTimed(t *testing.T) {
	t.Parallel()
	out, _, err := ran(t, with(pretender(t, `[ "$n" -gt 2 ] || sleep .2`), "steady", "50%"), 5)
	if err != nil {
		t.Fatal(err)
	}
	v := out.Values()
	for name, want := range map[string]float64{
		"quality": 11.5, "iterations": 17, "trainings": 5, "executor.cpu": 2, "gc": .5, "shuffle.bytes": 1000,
		"spill.bytes": v["discarded"] + 3, "start.time": .5, "data.time": .25, "rows_iterations": 100_000 * 17 / v["train.time"],
	} {
		if math.Abs(v[name]-want) > 1e-6*want {
			t.Errorf("%s is %g, want %g", name, v[name], want)
		}
	}
	if v["discarded"] < 5 || v["train.time"] < .04 || v["train.max"] < v["train.time"] {
		t.Errorf("got %v", v)
	}
	seen := out.Observed()
	for name, want := range map[string]string{"sparkml.rows": "100000", "sparkml.partitions": "4", "sparkml.features": "20", "sparkml.iterations": "20"} {
		if seen[name] != want {
			t.Errorf("%s is observed as %q, want %q", name, seen[name], want)
		}
	}
	for _, name := range []string{"quality", "executors", "trainings"} {
		if c := check(out, name); c.State != measure.Pass {
			t.Errorf("%+v", c)
		}
	}
}

// The quality must be that of the reference to 1e-9; that of one training of the trial must not differ either.
func TestQualityIsAGate(t *testing.T) {
	t.Parallel()
	for planted, want := range map[string]measure.State{
		`quality=11.5; [ ! -e "$0.once" ] || quality=11.500000001; touch "$0.once"`: measure.Pass,
		`quality=11.5; [ ! -e "$0.once" ] || quality=11.50000012; touch "$0.once"`:  measure.Fail,
		`[ "$n" != 4 ] || quality=11.6`:                                             measure.Fail,
		`[ "$n" != 4 ] || quality=null`:                                             measure.Fail,
	} {
		out, _, err := ran(t, pretender(t, planted), 4)
		if err != nil {
			t.Errorf("%s: %v", planted, err)
			continue
		}
		if c := check(out, "quality"); c.State != want || c.Kind != measure.KindData {
			t.Errorf("%s: %+v", planted, c)
		}
	}
}

// A training that lost an executor ends, and is told.
func TestLostExecutorIsTold(t *testing.T) {
	t.Parallel()
	out, _, err := ran(t, pretender(t, `[ "$n" != 5 ] || { executors='"d:1","f:2"'; sleep .1; }`), 4)
	if err != nil {
		t.Fatal(err)
	}
	if c := check(out, "executors"); c.State != measure.Fail || !strings.Contains(c.Detail, "in or before training 5 of") {
		t.Errorf("%+v", c)
	}
}

func TestFewOrUnsteadyTrainings(t *testing.T) {
	t.Parallel()
	out, _, err := ran(t, pretender(t, ""), 2)
	if c := check(out, "trainings"); err != nil || c.State != measure.Unknown || !strings.Contains(c.Detail, "raise measure.longest") {
		t.Errorf("two trainings: %+v, %v", c, err)
	}
	out, _, err = ran(t, with(pretender(t, ""), "discards", "2"), 3)
	if c := check(out, "trainings"); err != nil || c.State != measure.Unknown || !strings.Contains(c.Detail, "raise sparkml.discards") {
		t.Errorf("two discarded: %+v, %v", c, err)
	}
}

// Each failure is one line that says what can be done.
func TestFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ planted, want string }{
		"full":     {`say '{"error":"org.apache.spark.SparkException: Job aborted: java.io.IOException: No space left on device\nDriver stacktrace:"}'; exit 1`, "the disk with Spark's local folder is full: free space"},
		"driver":   {`echo "Terminating due to java.lang.OutOfMemoryError: Java heap space"; say '{"error":"Py4JNetworkError: Answer from Java side is empty"}'; exit 3`, "the driver is out of memory: raise sparkml.driver_memory, which is 1GiB"},
		"executor": {`say '{"error":"Job aborted: ExecutorLostFailure: java.lang.OutOfMemoryError: Java heap space"}'; exit 1`, "an executor is out of memory: raise spark.memory"},
		"killed":   {`kill -KILL $$`, "the driver of Spark was ended by signal SIGKILL"},
		"silent":   {`echo why it ended >&2; exit 5`, "the driver of Spark ended with status 5: why it ended"},
		"nonsense": {`say '{"streaming":true}'`, "something else than a training"},
		"negative": {`say '{"trained":{"train":-1}}'`, "a training of -1 s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := ran(t, pretender(t, `if [ -e "$0.once" ]; then `+c.planted+`; fi; touch "$0.once"`), 4)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestSensorsAreDecidedOn(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]measure.State{"200": measure.Pass, "220": measure.Fail} {
		out, _, err := ran(t, with(pretender(t, "decisions=10 sent="+sent), "algorithm", "sensors"), 5)
		if err != nil {
			t.Fatal(err)
		}
		v := out.Values()
		if c := check(out, "events"); c.State != want {
			t.Errorf("%s events sent: %+v", sent, c)
		}
		if v["decisions.correct"] != 1 || v["decisions"] <= 0 || v["discarded"] != 1 || v["quality"] != 11.5 || (v["undelivered"] > 0) != (want == measure.Fail) {
			t.Errorf("%s events sent: %v", sent, v)
		}
		sum, err := measure.Summarise(out.Intervals(), measure.Window{End: time.Hour.Seconds()}, "operations")
		if err != nil || sum.Counts["operations"] != 100 || math.Abs(sum.Values["mean"]-.6) > 1e-3 || sum.Counts["scheduled"] == 0 {
			t.Errorf("%v, %v, %v", sum.Values, sum.Counts, err)
		}
	}
}

func TestSettingsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]parameter.Settings{
		"rate is for algorithm sensors":  {"rate": "5/s"},
		"partitions 500 exceed rows 100": {"rows": "100", "partitions": "500"},
		"must be whole MiB":              {"driver_memory": "536870913B"},
		"kmeans, logistic":               {"algorithm": "als"},
	} {
		if _, err := Kind().New(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", s, err, want)
		}
	}
}

func TestMachinesThatDoNotFit(t *testing.T) {
	t.Parallel()
	s := pretender(t, "")
	for want, s := range map[string]parameter.Settings{
		"":                                 s,
		"of the memory left on machine":    with(pretender(t, ""), "driver_memory", "900TiB"),
		"PySpark 3.5.9 is not in /nowhere": {"home": "/nowhere"},
		"java /nowhere is no program":      with(pretender(t, ""), "java", "/nowhere"),
	} {
		l, err := Kind().New(s)
		if err != nil {
			t.Fatal(err)
		}
		needs, err := l.Check(t.Context(), env(t))
		if want == "" && (err != nil || needs.Versions["spark"] != "3.5.9") || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v: %+v, %v, want %q", s, needs, err, want)
		}
	}
}

func TestSite(t *testing.T) {
	t.Parallel()
	worker := func(state string, cores int, memory int64) spark.Worker {
		return spark.Worker{State: state, Cores: cores, Memory: memory}
	}
	at, err := siteOf(spark.Status{URL: "spark://127.0.0.1:7077", Workers: []spark.Worker{worker("ALIVE", 1, 900), worker("ALIVE", 3, 600), worker("DEAD", 4, 500)}})
	if err != nil || at.cores != 4 || at.memory != 600 || !at.loopback {
		t.Errorf("got %+v, %v", at, err)
	}
	p := defaults()
	conf := (&learning{p}).job(at, 1, "/f").Conf
	if conf["spark.executor.memory"] != "600m" || conf["spark.cores.max"] != "4" || conf["spark.driver.host"] != "127.0.0.1" || conf["spark.driver.memory"] != "1024m" {
		t.Errorf("got %v", conf)
	}
	if at, err = siteOf(spark.Status{URL: "spark://lab.example:7077", Workers: []spark.Worker{worker("ALIVE", 1, 900)}}); err != nil || at.loopback {
		t.Errorf("got %+v, %v", at, err)
	}
	for want, s := range map[string]spark.Status{
		"has no worker":              {URL: "spark://h:1", Workers: []spark.Worker{worker("DEAD", 1, 900)}},
		"an executor needs 450":      {URL: "spark://h:1", Workers: []spark.Worker{worker("ALIVE", 1, 400)}},
		"the master has the address": {URL: "spark://h", Workers: []spark.Worker{worker("ALIVE", 1, 900)}},
	} {
		if _, err := siteOf(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", s, err, want)
		}
	}
}

// The key of data is that of what the quality depends on, and of nothing else.
func TestKeyOfData(t *testing.T) {
	t.Parallel()
	p := defaults()
	was := (&learning{p}).data(1).key()
	p.Storage, p.Local, p.DriverMemory = "disk", 4, 2<<30
	if (&learning{p}).data(1).key() != was {
		t.Error("the key depends on where the data is")
	}
	if (&learning{p}).data(2).key() == was {
		t.Error("the key does not depend on the seed")
	}
	p.Partitions++
	if (&learning{p}).data(1).key() == was {
		t.Error("the key does not depend on the partitions")
	}
}

func TestCalm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		times []float64
		want  bool
	}{
		{nil, false}, {[]float64{1, 1}, false}, {[]float64{1, 1, 1}, true}, {[]float64{9, 1, 1.05, 1.09}, true}, {[]float64{1, 1, 1.2}, false},
	} {
		if got := calm(c.times, .1); got != c.want {
			t.Errorf("%v: %v", c.times, got)
		}
	}
}

// Whatever the driver prints, it is an answer or noise.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte("noise\n\x1e{\"trained\":{\"train\":1}}\n\x1e{\"decided\":{\"delays\":{\"5\":1}}}\n"))
	f.Add([]byte("\x1e{\"decided\":{\"delays\":{\"-5\":1,\"x\":2,\"7\":-1}}}\n"))
	f.Fuzz(func(t *testing.T, said []byte) {
		d := &driver{answers: make(chan answer, len(said)+1), gone: make(chan struct{})}
		if n, err := d.Write(said); n != len(said) || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
		close(d.answers)
		for a := range d.answers {
			if a.Decided == nil {
				continue
			}
			if s, err := sampleOf(a.Decided); err == nil && (s.Operations < 0 || s.Total < 0) {
				t.Errorf("%+v", s)
			}
		}
	})
}
