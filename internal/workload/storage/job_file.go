package storage

import (
	"fmt"
	"strings"

	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
)

// jobFile is a load with the given settings as a job file.
func jobFile(settings parameter.Settings, images bool) (*workload.JobFile, error) {
	l, err := Kind().New(settings)
	if err != nil {
		return nil, fmt.Errorf("settings of storage: %w", err)
	}
	p := l.(*disks).pattern
	if images {
		p.cluster = &imagePool{}
	}
	f := &workload.JobFile{
		Disks: p.Disks, Size: p.Size, Read: p.Read, Random: p.Random, WorkingSet: p.WorkingSet, Compress: p.Compress, Dedup: p.Dedup,
		Outstanding: p.Threads * p.Depth, Precondition: p.Precondition, Global: named(append(p.access(), p.pacing()...)),
	}
	if sizes := p.blocks.sizes(); len(sizes) == 2 && sizes[0] == sizes[1] {
		f.Block = sizes[0]
	}
	if len(p.Targets) > 0 {
		f.Size = 0
	}
	for i := range p.Disks {
		f.Jobs = append(f.Jobs, jobOf(&p, i))
	}
	return f, nil
}

// jobOf is the job of a disk.
func jobOf(p *pattern, i int) workload.Job {
	j := workload.Job{Name: fmt.Sprintf("job%d", i), Disk: fmt.Sprintf("disk-%02d", i+1)}
	if i < len(p.Targets) {
		j.Disk = p.Targets[i]
	}
	argv := []string{"--filename=" + escape(j.Disk)}
	if p.cluster != nil {
		argv = []string{"--rbdname=" + j.Disk}
	}
	if len(p.Targets) == 0 {
		argv = append(argv, p.extent(p.Size)...)
	}
	workers, _ := p.workersOfDisk()
	j.Options = named(append(argv, fmt.Sprintf("--numjobs=%d", workers)))
	return j
}

// named turns arguments into NAME=VALUE.
func named(argv []string) []string {
	all := make([]string, len(argv))
	for i, a := range argv {
		all[i] = strings.TrimPrefix(a, "--")
	}
	return all
}
