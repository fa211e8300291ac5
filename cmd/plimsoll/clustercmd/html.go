package clustercmd

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"

	"plimsoll/internal/cluster/picture"
)

// htmlFile is the new file that --html names, empty for none.
type htmlFile string

func (f *htmlFile) flag(cmd *cobra.Command) {
	cmd.Flags().StringVar((*string)(f), "html", "", "write a page with hosts, moves and reasons to a new file")
}

// free is an error where the file is there, or is the other one that the command writes,
// empty for none. It is asked before anything is written.
func (f htmlFile) free(other string) error {
	if f == "" {
		return nil
	}
	if other != "" && filepath.Clean(other) == filepath.Clean(string(f)) {
		return cli.Mistake(fmt.Errorf("--html names %s, which is to hold something else: name another file", f))
	}
	if _, err := os.Lstat(string(f)); err == nil {
		return cli.Mistake(fmt.Errorf("write the page: %s is there already: name a new file", f))
	}
	return nil
}

// write makes the page, where one is asked for.
func (f htmlFile) write(in picture.Input) error {
	if f == "" {
		return nil
	}
	var b bytes.Buffer
	if err := picture.HTML(&b, in); err != nil {
		return err
	}
	file, err := os.OpenFile(string(f), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return cli.Mistake(fmt.Errorf("write the page: %w", err))
	}
	if _, err := file.Write(b.Bytes()); err != nil {
		_ = file.Close()
		return fmt.Errorf("write the page %s: %w", f, err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("write the page %s: %w", f, err)
	}
	return nil
}
