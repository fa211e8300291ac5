package libvirt

import (
	"context"
	"fmt"
)

// AbortJob cancels what a domain is busy with, such as its migration.
func (h Host) AbortJob(ctx context.Context, v Domain) error {
	_, err := h.Conn.of(ctx, "cancel the job of", procAbortJob, v)
	return err
}

// MayWrite reports whether this connection may make changes: a daemon's read-only socket
// refuses them all. Nothing is changed: the change that is asked for is the end of a job of
// a domain that does not exist.
func (h Host) MayWrite(ctx context.Context) (bool, error) {
	err := h.AbortJob(ctx, Domain{Name: "plimsoll-asks-for-privileges", ID: -1})
	switch {
	case err == nil || Missing(err):
		return true, nil
	case code(err) == ReadOnly, code(err) == Denied:
		return false, nil
	case code(err) == NoSupport:
		return true, nil // the driver has no jobs at all
	}
	return false, err
}

// Job is the progress of what a domain is busy with.
type Job struct {
	Total, Processed int64 // bytes of memory
	Iteration        int   // passes over the memory
}

// Job asks for the progress of the current job.
func (h Host) Job(ctx context.Context, v Domain) (Job, error) {
	d, err := h.Conn.of(ctx, "ask for the job of", procJobStatistics, v, 0)
	if err != nil {
		return Job{}, err
	}
	j := d.job()
	if err := d.end(); err != nil {
		return Job{}, fmt.Errorf("job of domain %s: %w", v.Name, err)
	}
	return j, nil
}

func (d *decoder) job() Job {
	d.int32() // its type
	s := Statistics{}
	for range d.count(4 + 4 + 4) {
		d.parameter(s)
	}
	return Job{
		Total: bytesOf(s["memory_total"]), Processed: bytesOf(s["memory_processed"]),
		Iteration: int(min(max(s["memory_iteration"], 0), 1<<30)),
	}
}

// bytesOf is an amount within reason.
func bytesOf(x float64) int64 { return int64(min(max(x, 0), 1<<60)) }
