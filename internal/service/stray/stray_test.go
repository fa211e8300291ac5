package stray

import (
	"slices"
	"testing"
)

func TestWhoWorksInAFolder(t *testing.T) {
	const listed = `lrwxrwxrwx 1 root   root   0 Nov 21 20:08 /proc/1/cwd -> /
lrwxrwxrwx 1 nobody nogroup 0 Nov 21 20:08 /proc/22/cwd -> /tmp/a b/0
lrwxrwxrwx 1 nobody nogroup 0 Nov 21 20:08 /proc/333/cwd -> /tmp/a b/0/data (deleted)
lrwxrwxrwx 1 nobody nogroup 0 Nov 21 20:08 /proc/4/cwd -> /tmp/a b/01
lrwxrwxrwx 1 nobody nogroup 0 Nov 21 20:08 /proc/5/cwd
`
	if pids := workIn(listed, "/tmp/a b/0"); !slices.Equal(pids, []string{"22", "333"}) {
		t.Errorf("got %q", pids)
	}
}
