// Package journal is the write-ahead log of a run. Each change to a machine is on disk before it is made,
// with the value that undoes it, and the way back is logged in the same manner. A trial has ended when its
// entry is in the journal, and not before: a run that was killed resumes with the first trial that did not end.
//
// There are two logs. The journal in the results folder tells how the run went. The undo log in the state
// folder of the user has the entries that matter to put a machine back, and is the only one that is trusted.
//
//	begin                    hash of the study, seed, commands, scratch folder
//	trial, trial ended       a trial runs; its record with this checksum counts
//	trial stopped            it was interrupted and will run again
//	prepare, prepared        files of a load are being made; clean, cleaned: removed
//	serve, served            a service keeps files from now on; they were removed
//	change, changed          a setting is about to change; it was changed and read back
//	restored, left           it is as before; another program has changed it since
//	interrupted, end         how a session ended; after end there is nothing to resume
//
// Where a study has several machines the entries about settings and loads name theirs. What
// was done to machines that end with the run, such as guests, ends with them.
//
// A setting whose present value is neither its former one nor one that plimsoll set or saw was changed by
// another program, and is left alone. Only after an unconfirmed change (a change without its changed) any
// value is put back, since a change that was cut short can read like anything.
package journal
