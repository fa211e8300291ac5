// Package lab runs a study from its file to its report: it calls the stages for one results
// folder.
//
// # A results folder holds
//
// study.yaml the study as written
// study.json the study as parsed, with overrides
// plan.json the seed, arms and looks
// testbed.json the machine and its software
// journal.jsonl the events, one per line
// trials/NNNN/ the records (see package measure)
// findings.json the analysis
// report.html the report
// live.jsonl the events of a run that goes on (see package events)
package lab

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"plimsoll/internal/document"
	"plimsoll/internal/events"
	"plimsoll/internal/parameter"
	"plimsoll/internal/study"
	"plimsoll/internal/study/file"
	"plimsoll/internal/trial"
	"plimsoll/internal/trial/fault"
	"plimsoll/studies"
)

// Lab runs studies.
type Lab struct {
	Catalog  *study.Catalog
	Version  string            // of plimsoll, for the records
	Progress func(trial.Event) // called with the progress of a run; nil for none
	Events   *events.Stream    // takes the events of a run as lines, beside its live.jsonl; nil for none

	running atomic.Pointer[string] // results folder of the run in progress
}

// mistake is an error in the input, found before anything was touched.
type mistake struct{ Err error }

// Error says what was wrong.
func (m *mistake) Error() string { return m.Err.Error() }

// Unwrap returns what was wrong.
func (m *mistake) Unwrap() error { return m.Err }

// IsMistake distinguishes a mistake in the input from trouble on a machine.
func IsMistake(err error) bool {
	var asked *mistake
	var written *document.Mistake
	var refused *fault.Refusal
	return errors.As(err, &asked) || errors.As(err, &written) || errors.As(err, &refused)
}

// Source is a study with the text it was read from.
type Source struct {
	Study *study.Study
	Text  []byte
}

// Read reads a study from a file, from standard input ("-"), or from the built-in ones by
// name, with overrides such as "measure.window=5s". Its errors are mistakes.
func (l *Lab) Read(name string, sets []string) (*Source, error) {
	text, from, err := text(name)
	if err != nil {
		return nil, &mistake{err}
	}
	s, err := file.Parse(from, text, l.Catalog, sets)
	if err != nil {
		return nil, &mistake{err}
	}
	return &Source{Study: s, Text: text}, nil
}

// text returns the text of a study and the name to use in complaints.
func text(name string) ([]byte, string, error) {
	if name == "-" {
		text, err := io.ReadAll(os.Stdin)
		if err != nil {
			return nil, "", fmt.Errorf("read the study from standard input: %w", err)
		}
		return text, "standard input", nil
	}
	if text, err := studies.Files.ReadFile(name + ".yaml"); err == nil {
		return text, name + ".yaml", nil
	}
	text, err := os.ReadFile(name)
	switch {
	case err == nil:
		return text, name, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, "", fmt.Errorf("read study: %w", err)
	case strings.ContainsAny(name, "./"):
		return nil, "", fmt.Errorf("read study: no file %s", name)
	}
	known := Names()
	if near := parameter.Nearest(name, known); near != "" {
		return nil, "", fmt.Errorf("no built-in study or file named %q; did you mean %q?", name, near)
	}
	return nil, "", fmt.Errorf("no built-in study or file named %q; built-in: %s", name, strings.Join(known, ", "))
}

// Names lists the built-in studies.
func Names() []string {
	files, err := fs.Glob(studies.Files, "*.yaml")
	if err != nil {
		panic(err) // the pattern is a valid constant
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = strings.TrimSuffix(path.Base(f), ".yaml")
	}
	slices.Sort(names)
	return names
}
