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
		Outstanding: p.Threads * p.Depth, Precondition: p.Precondition, Global: named(p.access()),
	}
	if sizes := p.blocks.sizes(); len(sizes) == 2 && sizes[0] == sizes[1] {
		f.Block = sizes[0]
	}
	if len(p.Targets) > 0 {
		f.Size = 0
	}
	for i := range p.Disks {
		f.Jobs = append(f.Jobs, jobsOf(&p, i, f.Size)...)
	}
	return f, nil
}

// jobsOf are the jobs of a disk.
func jobsOf(p *pattern, i int, size parameter.Bytes) (all []workload.Job) {
	disk := fmt.Sprintf("disk-%02d", i+1)
	if i < len(p.Targets) {
		disk = p.Targets[i]
	}
	where := "--filename=" + escape(disk)
	if p.cluster != nil {
		where = "--rbdname=" + disk
	}
	for k, one := range p.jobsOfDisk(i, size) {
		j := workload.Job{Name: fmt.Sprintf("job%d", i), Disk: disk, Options: named(append([]string{where}, one.options...))}
		if k > 0 {
			j.Name += fmt.Sprintf("-%d", k+1)
		}
		all = append(all, j)
	}
	return all
}

// named turns arguments into NAME=VALUE.
func named(argv []string) []string {
	all := make([]string, len(argv))
	for i, a := range argv {
		all[i] = strings.TrimPrefix(a, "--")
	}
	return all
}
