package boot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// loadModules loads the kernel modules listed in the file "order" of a folder, one file
// name per line, and returns their number. After a failure it continues with the next. A
// module that is already loaded is skipped.
func loadModules(folder string) (loaded int, err error) {
	text, err := os.ReadFile(filepath.Join(folder, "order"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the list of modules: %w", err)
	}
	var failed []error
	for line := range strings.Lines(string(text)) {
		name, parameters, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "" {
			continue
		}
		switch err := loadModule(filepath.Join(folder, name), parameters); {
		case err == nil:
			loaded++
		case !errors.Is(err, unix.EEXIST):
			failed = append(failed, fmt.Errorf("load module %s: %w", name, err))
		}
	}
	return loaded, errors.Join(failed...)
}

func loadModule(name, parameters string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.FinitModule(int(f.Fd()), parameters, 0)
}
