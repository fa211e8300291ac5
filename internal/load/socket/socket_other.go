//go:build !linux

package socket

import (
	"context"

	"plimsoll/internal/load"
	"plimsoll/internal/load/routine"
	"plimsoll/internal/measure"
)

// Run runs the load on goroutines, which keep instants less well and cost more for
// each operation.
func Run(ctx context.Context, job load.Job, out *measure.Recorder) error {
	return routine.Run(ctx, job, out)
}
