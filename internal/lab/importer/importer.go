// Package importer imports results of other tools into results folders, and converts configurations of other tools to
// studies.
package importer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/lab"
	"plimsoll/internal/measure/imported"
)

// Request says what is imported, and where to.
type Request struct {
	imported.Source
	Dir      string
	Headline []string // metrics that decide; nil takes the first that every run has
}

// Imported is what an import wrote: studies, or a results folder.
type Imported struct {
	Studies []string `json:"studies,omitempty"` // a line for each file written
	Results *Folder  `json:"results,omitempty"`
}

// Import imports results of other tools into a results folder, or converts their configurations to studies: access
// specifications of Iometer, and parameter files of HCIBench with its configuration.
func Import(l *lab.Lab, request Request) (*Imported, error) {
	if request.Dir == "" {
		return nil, lab.Mistake(errors.New("specify the output folder with --out"))
	}
	if err := expand(request.Arms); err != nil {
		return nil, lab.Mistake(err)
	}
	if ofResults(&request) {
		folder, err := results(l, request)
		if err != nil {
			return nil, err
		}
		return &Imported{Results: folder}, nil
	}
	lines, err := configurations(l.Catalog, request.Files, request.Dir)
	return &Imported{Studies: lines}, err
}

// expand replaces patterns such as *.json in the files of arms, which no shell has expanded after NAME=.
func expand(arms []imported.Arm) error {
	for i := range arms {
		var files []string
		for _, name := range arms[i].Files {
			if _, err := os.Stat(name); err == nil || !strings.ContainsAny(name, "*?[") {
				files = append(files, name)
				continue
			}
			found, err := filepath.Glob(name)
			if err != nil || len(found) == 0 {
				return fmt.Errorf("arm %s: no file matches %s", arms[i].Name, name)
			}
			files = append(files, found...)
		}
		arms[i].Files = files
	}
	return nil
}

// ofResults reports whether files hold results rather than configurations.
func ofResults(r *Request) bool {
	return r.Arms != nil || r.Format != "" || r.Columns != nil || r.Unit > 0 || r.Headline != nil || slices.ContainsFunc(r.Files, imported.Recognised)
}
