// Package trial is the only code that changes the world. A Bench takes a plan
// through its trials on a platform: it applies the levels of an arm, reads them
// back, settles, drives the load, samples counters, cuts the warm-up, judges
// whether the trial can be trusted, and puts everything back at the end.
//
// In goes a study with its plan; out come records (package measure) and a
// journal in the results folder. The journal is what makes it safe to end at
// any instant. Each change to a machine is on disk before it is made, with the
// level that undoes it, and the way back is written down in the same manner. A
// trial has ended when its entry is in the journal, and not before. So a run
// that was killed can be resumed with the first trial that did not end, and
// Restore needs the journal alone.
//
//	begin                    hash of the study, seed, commands, scratch folder
//	trial, trial ended       a trial runs; its record with this checksum counts
//	trial stopped            it was interrupted and will run again
//	prepare, prepared        files of a load are being made; clean, cleaned: removed
//	serve, served            a service keeps files from now on; they were removed
//	change, changed          a setting is about to change; it was changed and read back
//	restored, left           it is as before; somebody else has changed it since
//	interrupted, end         how a session ended; after end there is nothing to resume
//
// Where a study has several machines the entries about settings and loads name theirs. What
// was done to machines that end with the run, such as guests, ends with them.
//
// A setting that was changed and whose present level is neither its former one
// nor one that plimsoll set or saw was changed by somebody else, and is left as
// it is. Only in the middle of a change (a change without its changed) whatever
// it reads is put back, since half a change reads like anything.
package trial
