// Package misplaced finds the setting of another workload or service that an unknown factor of a study means.
package misplaced

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/parameter"
)

// Setting is a setting of a workload or service as a factor.
type Setting struct {
	Factor string // such as "redis.io_threads"
	Owner  string // such as "redis"
	Class  string // "workload" or "service"
}

// Study is what a study has; a name is empty for none.
type Study struct{ Workload, Service string }

// Find finds the setting that a name means: its whole name misspelled, or its last part alone. Where several have that part, the
// first of the study's workload and service counts, then the first of all.
func (s Study) Find(name string, all []Setting) (Setting, bool) {
	_, last, dotted := strings.Cut(name, ".")
	if !dotted {
		last = name
	}
	var full []string
	var found []Setting
	for _, o := range all {
		full = append(full, o.Factor)
		if strings.TrimPrefix(o.Factor, o.Owner+".") == last {
			found = append(found, o)
		}
	}
	if near := parameter.Nearest(name, full); dotted && near != "" {
		return all[slices.Index(full, near)], true
	}
	for _, o := range found {
		if o.Owner == s.Workload || o.Owner == s.Service {
			return o, true
		}
	}
	if len(found) > 0 {
		return found[0], true
	}
	return Setting{}, false
}

// Remedy is how to change the study to have the setting.
func (s Study) Remedy(o Setting) string {
	switch {
	case o.Class == "service" && s.Service == o.Owner, o.Class == "workload" && s.Workload == o.Owner:
		return "write " + o.Factor
	case o.Class == "service" && s.Service != "":
		return fmt.Sprintf("the service of this study is %s", s.Service)
	case o.Class == "service":
		return fmt.Sprintf("add service: %s", o.Owner)
	case s.Workload != "":
		return fmt.Sprintf("the workload of this study is %s", s.Workload)
	}
	return fmt.Sprintf("add workload: %s", o.Owner)
}
