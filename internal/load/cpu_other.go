//go:build !unix

package load

import "time"

// ProcessCPU is not known here.
func ProcessCPU() time.Duration { return 0 }
