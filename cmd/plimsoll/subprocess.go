package main

import (
	"fmt"
	"io"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/internal/catalog"
	"plimsoll/internal/catalog/subprocess"
	"plimsoll/internal/workload"
)

// serve runs the subprocess that the arguments name. The answer is false where they name none.
func serve(args []string, in io.Reader, out, errors io.Writer) (status int, ok bool) {
	kinds := func() []workload.Kind { return catalog.All().Workloads }
	ok, err := subprocess.Serve(args, kinds, in, out)
	if err != nil {
		fmt.Fprintf(errors, "plimsoll %v\n", err)
		return cli.ExitTrouble, true
	}
	return cli.ExitDone, ok
}
