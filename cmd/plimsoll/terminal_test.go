package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// onEighty is what commands print on a terminal of 80 columns.
func onEighty(t *testing.T, environment string, commands ...string) string {
	t.Helper()
	script := "stty cols 80 || exit 9\n" + strings.Join(commands, " || exit\n")
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+t.TempDir(), "TERM=xterm", "NO_COLOR=", environment)
	p := openPTY(t, cmd)
	err := cmd.Wait()
	<-p.over
	if err != nil {
		t.Fatalf("%v: %s", err, p.text())
	}
	return strings.ReplaceAll(p.text(), "\r\n", "\n")
}

// A terminal is kept to its width, and gets colours unless it or its user cannot bear them;
// what is in colour is not spelt out.
func TestTerminalOfEightyColumns(t *testing.T) {
	t.Parallel()
	study := "plimsoll run tutorial-ab --seed 7 --out a --quiet --set measure.window=1s --set measure.warmup=250ms --set measure.interval=250ms --set platform.sim.capacity=2000/s"
	commands := []string{study, "plimsoll compare a", "plimsoll plan tutorial-ab", "plimsoll manual storage", "plimsoll manual",
		"echo 'The rate rose from 470/s to 510/s, which is 8.5 % more than the rate that was there before the change.' | plimsoll audit -",
		"plimsoll cluster generate --hosts 4 --out lab.yaml", "plimsoll cluster doctor lab.yaml"}
	text := onEighty(t, "", commands...)
	colour := regexp.MustCompile("\x1b\\[[0-9;]*m")
	if !colour.MatchString(text) || strings.Contains(text, `\u001b`) {
		t.Errorf("no colours, or colours that are spelt out: %q", text)
	}
	for line := range strings.Lines(colour.ReplaceAllString(text, "")) {
		if words := strings.Fields(line); utf8.RuneCountInString(strings.TrimRight(line, "\n")) > 80 && len(words) > 1 {
			t.Errorf("wider than 80 columns: %s", line)
		}
	}
	for _, environment := range []string{"NO_COLOR=1", "TERM=dumb"} {
		if text := onEighty(t, environment, study+" --blocks 3", commands[1]); strings.Contains(text, "\x1b") || strings.Contains(text, `\u001b`) {
			t.Errorf("with %s: %q", environment, text)
		}
	}
}
