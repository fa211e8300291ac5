package workload

import "plimsoll/internal/parameter"

// JobFile is a load on disks as a job file of fio, for other tools. Paths of files that plimsoll makes are not known outside of a run.
type JobFile struct {
	Disks        int
	Size         parameter.Bytes // of a disk; 0 if it is the size of a target
	Block        parameter.Bytes // 0 if operations have several sizes
	Read, Random parameter.Share
	WorkingSet   parameter.Share
	Compress     parameter.Share
	Dedup        parameter.Share
	Outstanding  int      // operations of a disk; with a rate, at most
	Precondition string   // none, zero, random or steady
	Global       []string // fio's options of all jobs, NAME=VALUE
	Jobs         []Job    // of one disk after another
}

// Job is the job of one disk.
type Job struct {
	Name    string
	Disk    string   // a target, or a name for a file or image that plimsoll makes
	Options []string // NAME=VALUE
}
