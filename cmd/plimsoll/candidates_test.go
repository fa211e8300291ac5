package main

import (
	"strings"
	"testing"

	"plimsoll/internal/catalog"
	"plimsoll/internal/parameter"
	"plimsoll/internal/study"
	"plimsoll/internal/study/file"
)

// Every candidate of the catalog is a setting that a study can have, with levels that it takes.
func TestCandidatesOfTheCatalog(t *testing.T) {
	c := catalog.All()
	parsed := func(workload, service string) *study.Study {
		text := "study: s\nquestion: q?\nplatform: guest\nworkload: " + workload + "\n"
		if service != "" {
			text += "service: " + service + "\n"
		}
		s, err := file.Parse("s.yaml", []byte(text), c, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	check := func(s *study.Study, all []parameter.Candidate) {
		for _, k := range all {
			f, err := file.Candidate(s, c, k.Setting, k.For(4, 16<<30))
			if err != nil || len(f.Levels) == 0 || k.Why == "" {
				t.Errorf("%s: %v, %v", k.Setting, f.Levels, err)
			}
		}
	}
	seen := 0
	for _, k := range c.Workloads {
		if seen += len(k.Candidates); len(k.Candidates) > 0 {
			check(parsed(k.Name, ""), k.Candidates)
		}
	}
	for _, k := range c.Services {
		if seen += len(k.Candidates); len(k.Candidates) > 0 {
			check(parsed(c.Driving(k.Name)[0], k.Name), k.Candidates)
		}
	}
	for _, k := range c.Platforms {
		seen += len(k.Candidates)
		check(parsed("storage", ""), k.Candidates)
	}
	if seen < 40 {
		t.Errorf("only %d candidates", seen)
	}
}

// Every unsafe value of a setting is one that it takes, and its doc says what it risks; so do the factors.
func TestUnsafeLevels(t *testing.T) {
	c, unsafe := catalog.All(), 0
	for _, class := range []string{"workload", "service", "platform"} {
		for _, k := range c.Kinds(class) {
			for _, f := range parameter.Fields(k.Defaults) {
				if f.Unsafe == "" {
					continue
				}
				unsafe++
				for value := range strings.SplitSeq(strings.TrimPrefix(f.Unsafe, "!"), ",") {
					if canonical, err := f.Check(value); err != nil || canonical != value {
						t.Errorf("%s.%s: the unsafe value %q is read as %q, %v", k.Name, f.Name, value, canonical, err)
					}
				}
			}
		}
	}
	if unsafe < 12 {
		t.Errorf("only %d settings have unsafe values", unsafe)
	}
	for _, one := range []struct {
		factor, target, level string
		want                  bool
	}{
		{"guest.cache", "", "unsafe", true}, {"guest.cache", "", "writeback", false},
		{"guest.parameters", "", "quiet mitigations=off", true}, {"guest.parameters", "", "mitigations=auto", false},
		{"host.sysctl", "kernel.randomize_va_space", "0", true}, {"host.sysctl", "vm.dirty_ratio", "10", false}, {"host.scheduler", "sda", "none", false},
	} {
		if got := c.Factor(one.factor).IsUnsafe(one.target, one.level); got != one.want {
			t.Errorf("%s:%s %s: unsafe is %t", one.factor, one.target, one.level, got)
		}
	}
}
