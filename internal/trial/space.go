package trial

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"

	"plimsoll/internal/trial/certify"
)

// spaces are the file systems of the workload on the machine and of the results here.
func (s *session) spaces(ctx context.Context) []certify.Space {
	var all []certify.Space
	if left, ok := s.machines.First().Space(ctx); ok {
		all = append(all, certify.Space{What: "scratch folder", Free: float64(left.Free), Total: float64(left.Size)})
	}
	if left, ok := here(s.bench.Dir); ok {
		all = append(all, left)
	}
	return all
}

// here is the file system of the results.
func here(dir string) (certify.Space, bool) {
	var st syscall.Statfs_t
	for ; ; dir = filepath.Dir(dir) {
		err := syscall.Statfs(dir, &st)
		if err == nil && st.Blocks > 0 {
			return certify.Space{What: "results folder", Free: float64(st.Bavail) * float64(st.Bsize), Total: float64(st.Blocks) * float64(st.Bsize)}, true
		}
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return certify.Space{}, false
		}
	}
}
