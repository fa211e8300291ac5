package postgresql

import (
	"context"
	"io/fs"
	"strings"
	"testing"

	"plimsoll/internal/platform"
	"plimsoll/internal/service"
)

// segments is a machine with files, and shared memory that ipcrm removes.
type segments struct {
	platform.Machine
	files   map[string]string
	removed []string
}

func (s *segments) ReadFile(_ context.Context, name string) ([]byte, error) {
	if text, ok := s.files[name]; ok {
		return []byte(text), nil
	}
	return nil, fs.ErrNotExist
}

func (s *segments) Run(_ context.Context, c platform.Command) (platform.Result, error) {
	s.removed = append(s.removed, strings.Join(c.Argv, " "))
	return platform.Result{}, nil
}

// A segment noted by a server is removed, also with several servers. A segment of others or in
// use is not.
func TestReleaseSegment(t *testing.T) {
	note := func(pid, segment string) string {
		return pid + "\n/d/data\n1795285004\n28587\n\n127.0.0.1\n " + segment + "\nready   \n"
	}
	const head = "       key      shmid perms                  size  cpid  lpid nattch   uid\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"none":         {map[string]string{}, ""},
		"one":          {map[string]string{"/d/data/postmaster.pid": note("77", "10608663   2195481")}, "ipcrm -m 2195481"},
		"being made":   {map[string]string{"/d/data/postmaster.pid": note("-77", "10608663   2195481")}, "ipcrm -m 2195481"},
		"another's":    {map[string]string{"/d/data/postmaster.pid": note("78", "10608663   2195481")}, ""},
		"another key":  {map[string]string{"/d/data/postmaster.pid": note("77", "10608664   2195481")}, ""},
		"cut short":    {map[string]string{"/d/data/postmaster.pid": "77\n/d/data\n"}, ""},
		"no number":    {map[string]string{"/d/data/postmaster.pid": note("77", "")}, ""},
		"the second":   {map[string]string{"/d/0/.plimsoll-service": "", "/d/1/.plimsoll-service": "", "/d/1/data/postmaster.pid": note("77", "10608663 2195481")}, "ipcrm -m 2195481"},
		"an injection": {map[string]string{"/d/data/postmaster.pid": note("77", "10608663 -a")}, ""},
		"a folder":     {map[string]string{"/d/memory-folder": "/dev/shm/plimsoll-" + strings.Repeat("A2", 13)}, "rm -rf -- /dev/shm/plimsoll-" + strings.Repeat("A2", 13)},
		"not a folder": {map[string]string{"/d/memory-folder": "/dev/shm/plimsoll-" + strings.Repeat("A2", 13) + "/../x"}, ""},
	} {
		m := &segments{files: c.files}
		m.files["/proc/sysvipc/shm"] = head + "  10608663    2195481   600                    56    77    78      0 65534\n"
		if err := service.Release(t.Context(), m, "/d", Kind().Release); err != nil || strings.Join(m.removed, "; ") != c.want {
			t.Errorf("%s: removed %q, %v; want %q", name, m.removed, err, c.want)
		}
	}
}
