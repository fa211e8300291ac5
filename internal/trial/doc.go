// Package trial runs the trials of a study. A Bench takes a plan through its trials on a platform: it applies
// the levels of an arm, reads them back, settles, runs the load, samples counters, cuts the warm-up, judges
// whether the trial is valid, and puts everything back at the end.
//
// In goes a study with its plan; out come records (package measure) and a journal (package journal) in the
// results folder. This package has the order of a run; its rooms do the work.
package trial
