package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// action is what action.yml says.
type action struct {
	Inputs map[string]struct{ Default string }
	Runs   struct {
		Steps []struct {
			Name, If, Shell, Run, Uses string
			Env                        map[string]string
		}
	}
}

// runner runs the steps of action.yml as a runner of GitHub does, with a release on a server of its own.
type runner struct {
	*testing.T
	action
	dir    string
	server *httptest.Server
	values map[string]string // of expressions
}

func newRunner(t *testing.T, sums string) *runner {
	t.Helper()
	for _, tool := range []string{"bash", "curl", "tar", "sha256sum"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not installed")
		}
	}
	r := &runner{T: t, dir: t.TempDir()}
	text, err := os.ReadFile("../../action.yml")
	if err == nil {
		err = yaml.Unmarshal(text, &r.action)
	}
	if err != nil {
		t.Fatal(err)
	}
	name := "plimsoll-v1-linux-" + runtime.GOARCH
	archive := archived(t, name)
	if sums == "" {
		sums = fmt.Sprintf("%x  %s.tar.gz\n", sha256.Sum256(archive), name)
	}
	files := map[string][]byte{"/o/plimsoll/releases/download/v1/" + name + ".tar.gz": archive, "/o/plimsoll/releases/download/v1/SHA256SUMS": []byte(sums)}
	r.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if files[q.URL.Path] == nil {
			http.NotFound(w, q)
		}
		_, _ = w.Write(files[q.URL.Path])
	}))
	t.Cleanup(r.server.Close)
	r.values = map[string]string{"inputs.version || github.action_ref": "v1", "github.action_repository": "o/plimsoll", "github.server_url": r.server.URL}
	for name, input := range r.Inputs {
		r.values["inputs."+name] = input.Default
	}
	return r
}

// archived is an archive as of a release, whose program is the one that is tested.
func archived(t *testing.T, name string) []byte {
	t.Helper()
	self, err := exec.LookPath("plimsoll")
	if err != nil {
		t.Fatal(err)
	}
	program := fmt.Appendf(nil, "#!/bin/sh\nexec %s \"$@\"\n", self)
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	files := tar.NewWriter(compressed)
	err = files.WriteHeader(&tar.Header{Name: name + "/plimsoll", Mode: 0o755, Size: int64(len(program))})
	if err == nil {
		_, err = files.Write(program)
	}
	for _, c := range []interface{ Close() error }{files, compressed} {
		if err == nil {
			err = c.Close()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

var expression = regexp.MustCompile(`\$\{\{ *(.*?) *\}\}`)

// run runs the steps until one fails. It returns the name of that one, and all output.
func (r *runner) run() (failed, output string) {
	r.Helper()
	var out bytes.Buffer
	path, summary := filepath.Join(r.dir, "path"), filepath.Join(r.dir, "summary.md")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		r.Fatal(err)
	}
	for _, s := range r.Runs.Steps {
		if s.Uses != "" || strings.HasSuffix(s.If, " != ''") && r.values[strings.TrimSuffix(s.If, " != ''")] == "" {
			continue
		}
		added, err := os.ReadFile(path)
		if err != nil {
			r.Fatal(err)
		}
		c := exec.CommandContext(r.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", s.Run)
		c.Dir, c.Stdout, c.Stderr = r.dir, &out, &out
		c.Env = []string{"PATH=" + strings.TrimSpace(string(added)) + ":/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + r.dir, "RUNNER_TEMP=" + r.dir, "GITHUB_PATH=" + path, "GITHUB_STEP_SUMMARY=" + summary, "GITHUB_ACTIONS=true"}
		for name, value := range s.Env {
			c.Env = append(c.Env, name+"="+expression.ReplaceAllStringFunc(value, func(e string) string {
				value, known := r.values[expression.FindStringSubmatch(e)[1]]
				if !known {
					r.Errorf("step %q uses %s, which is no input and nothing of a runner", s.Name, e)
				}
				return value
			}))
		}
		if err := c.Run(); err != nil {
			return s.Name, out.String()
		}
	}
	return "", out.String()
}

const actionStudy = `study: ab
question: Does the knob raise the rate?
platform: {sim: {capacity: 2000/s, effects: ["sim.knob=on: +5%"]}}
workload: {"null": {threads: 4}}
factors: {sim.knob: [off, on]}
measure: {window: 1s, warmup: 250ms, interval: 250ms}
headline: [operations, p99]
`

// The steps of action.yml download a release, run a study, gate on it and write the summary; and compare results.
func TestAction(t *testing.T) {
	t.Parallel()
	r := newRunner(t, "")
	if err := os.WriteFile(filepath.Join(r.dir, "study.yaml"), []byte(actionStudy), 0o600); err != nil {
		t.Fatal(err)
	}
	has := func(name, text string) {
		t.Helper()
		if got, err := os.ReadFile(filepath.Join(r.dir, name)); err != nil || !strings.Contains(string(got), text) {
			t.Errorf("%s has no %q: %v, %.500s", name, text, err, got)
		}
	}
	r.values["inputs.study"], r.values["inputs.gate"], r.values["inputs.arguments"] = "study.yaml", "lenient", "--seed 7 --blocks 6 --quiet"
	if failed, out := r.run(); failed != "" {
		t.Fatalf("%s: %s", failed, out)
	}
	has("summary.md", "### ab: better")
	has("plimsoll-results.xml", `<testsuite name="ab"`)
	r.values["inputs.results"], r.values["inputs.arguments"] = "slow", "--seed 7 --blocks 6 --quiet --set limits.p99.max=1us"
	if failed, out := r.run(); failed != "Run the study" || !strings.Contains(out, "::error") {
		t.Errorf("a missed limit fails at %q: %s", failed, out)
	}
	has("slow.xml", "<failure")
	r.values["inputs.study"], r.values["inputs.compare"], r.values["inputs.arguments"] = "", "plimsoll-results slow", ""
	if failed, out := r.run(); failed != "" {
		t.Errorf("%s: %s", failed, out)
	}
	has("summary.md", "plimsoll-results")
}

// An archive that differs from its sum is not run.
func TestActionOfAForgedRelease(t *testing.T) {
	t.Parallel()
	r := newRunner(t, strings.Repeat("0", 64)+"  plimsoll-v1-linux-"+runtime.GOARCH+".tar.gz\n")
	r.values["inputs.study"] = "study.yaml"
	if failed, out := r.run(); failed != "Download plimsoll" || !strings.Contains(out, "FAILED") {
		t.Errorf("fails at %q: %s", failed, out)
	}
}
