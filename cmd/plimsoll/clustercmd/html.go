package clustercmd

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"

	"plimsoll/internal/cluster/picture"
)

// htmlFile is the new file that --html names, empty for none.
type htmlFile string

func (f *htmlFile) flag(cmd *cobra.Command) {
	cmd.Flags().StringVar((*string)(f), "html", "", "write an HTML page with hosts, moves and reasons to a new `file`")
}

// free is an error where the file is there, or is the other one that the command writes,
// empty for none. It is asked before anything is written.
func (f htmlFile) free(other string) error {
	if f == "" {
		return nil
	}
	if other != "" && filepath.Clean(other) == filepath.Clean(string(f)) {
		return cli.Mistake(fmt.Errorf("--html %s is the file of another option: specify another", f))
	}
	if _, err := os.Lstat(string(f)); err == nil {
		return cli.Mistake(fmt.Errorf("write the page: %s already exists: name a new file", f))
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
	return cli.Create(string(f), "the page", func(w io.Writer) error { _, err := b.WriteTo(w); return err })
}
