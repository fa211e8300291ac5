package effort

import (
	"os"
	"syscall"
)

const (
	memory = "/dev/shm"
	tmpfs  = 0x01021994 // the kernel's number of the file system
	space  = 1 << 30    // bytes that temporary folders may need
)

// InMemory has the temporary folders of fast tests lie in memory, where there is space. Call it before
// other tests of the package run.
func InMemory() {
	var fs syscall.Statfs_t
	if !fast() || os.Getenv("TMPDIR") != "" || syscall.Statfs(memory, &fs) != nil || fs.Type != tmpfs || fs.Bavail*uint64(fs.Bsize) < space {
		return
	}
	_ = os.Setenv("TMPDIR", memory) // without it they lie on disk
}
