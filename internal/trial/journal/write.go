package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Write writes the journal of a results folder that no run made, whole. Entries have their times; a journal that is there
// already is an error.
func Write(dir string, entries []Entry) error {
	file, err := os.OpenFile(filepath.Join(dir, Name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	for i, e := range entries {
		e.Sequence = i + 1
		line, err := encodeEntry(e)
		if err == nil {
			_, err = file.Write(line)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("write journal: %w", err), file.Close())
		}
	}
	return errors.Join(file.Sync(), file.Close(), syncFolder(dir))
}
