package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"plimsoll/internal/document"
	"plimsoll/internal/report"
	"plimsoll/internal/report/content"
	"plimsoll/internal/report/github"
	"plimsoll/internal/report/junit"
	"plimsoll/internal/report/markdown"
)

// JUnit is the file that --junit names; empty for none.
type JUnit string

// Usage is that of the flag.
func (JUnit) Usage() string {
	return "write limits, headlines and checks as a JUnit test suite to a `file`"
}

// Check is a mistake where the file cannot be written. It is asked before a run.
func (j JUnit) Check() error {
	if j == "" {
		return nil
	}
	if info, err := os.Stat(string(j)); err == nil && info.IsDir() {
		return Mistake(fmt.Errorf("--junit %s is a folder: specify a file", j))
	}
	if _, err := os.Stat(filepath.Dir(string(j))); err != nil {
		return Mistake(fmt.Errorf("--junit %s: %w", j, err))
	}
	return nil
}

// Write replaces the file. trouble is why the run ended early; nil if it did not.
func (j JUnit) Write(in report.Input, trouble error) error {
	if j == "" {
		return nil
	}
	var text bytes.Buffer
	if err := junit.Write(&text, in, trouble); err != nil {
		return err
	}
	if err := os.WriteFile(string(j), text.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write JUnit report: %w", err)
	}
	return nil
}

// mostAnnotations is the number of annotations of a kind that GitHub shows of a step.
const mostAnnotations = 10

// OnGitHub reports whether this is a step of GitHub Actions.
func OnGitHub() bool { return os.Getenv("GITHUB_ACTIONS") == "true" }

// Annotate has GitHub show the first mistakes of an error at their places, and another error as it is.
func Annotate(w io.Writer, err error) {
	mistakes := document.Mistakes(err)
	if len(mistakes) == 0 {
		fmt.Fprintln(w, github.Failure("plimsoll", err.Error()))
	}
	for _, m := range mistakes[:min(len(mistakes), mostAnnotations)] {
		fmt.Fprintln(w, github.Mistake(m))
	}
}

// Summarise has GitHub show a verdict, and adds a report to the summary of the step. What cannot be written changes no result: it is said.
func Summarise(w io.Writer, in report.Input) {
	s := report.New(in)
	word, lead := content.BadgeOf(s).Word+": ", report.Plain(content.LeadSentence(s))
	fmt.Fprintln(w, github.Notice("plimsoll: "+s.Findings.Study, word+strings.TrimPrefix(lead, word)))
	if name := os.Getenv("GITHUB_STEP_SUMMARY"); name != "" {
		if err := appendSummary(name, in); err != nil {
			fmt.Fprintf(w, "plimsoll: step summary: %v\n", err)
		}
	}
}

func appendSummary(name string, in report.Input) error {
	var text bytes.Buffer
	if err := markdown.Write(&text, in); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil {
		_, err = io.WriteString(f, github.Cut(text.String()+"\n", info.Size()))
	}
	return errors.Join(err, f.Close())
}
