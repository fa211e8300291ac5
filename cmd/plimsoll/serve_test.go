package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// The server says where it listens, yields to everything else, and ends without an error when it is stopped.
func TestServesUntilItIsStopped(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		cmd := exec.CommandContext(t.Context(), "plimsoll", "serve", t.TempDir(), "--listen", "127.0.0.1:0", "--json")
		cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir())
		var complaints strings.Builder
		cmd.Stderr = &complaints
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var at struct{ URL string }
		line, err := bufio.NewReader(out).ReadBytes('\n')
		if err != nil || json.Unmarshal(line, &at) != nil || !strings.HasPrefix(at.URL, "http://127.0.0.1:") {
			t.Fatalf("%v: %s %s", err, line, complaints.String())
		}
		answer, err := http.Get(at.URL)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(body), "No runs in") {
			t.Errorf("%v: status %d, %s", err, answer.StatusCode, body)
		}
		if text, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/stat"); err == nil {
			after := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
			const nice = 16 // the field of proc(5) with number 19, from the one after the name
			if after[nice] != "10" {
				t.Errorf("its nice value is %s", after[nice])
			}
		}
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, complaints.String())
		}
		if said := complaints.String(); strings.Contains(said, "putting back") {
			t.Errorf("it says %q", said)
		}
	}
}
