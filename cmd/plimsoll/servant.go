package main

import (
	"fmt"
	"io"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/internal/agent/servant"
	"plimsoll/internal/catalog"
	"plimsoll/internal/workload"
)

// serve runs the servant that the arguments start. It answers false where they
// start none.
func serve(args []string, in io.Reader, out, errors io.Writer) (status int, ok bool) {
	kinds := func() []workload.Kind { return catalog.All().Workloads }
	ok, err := servant.Serve(args, kinds, in, out)
	if err != nil {
		fmt.Fprintf(errors, "plimsoll %v\n", err)
		return cli.ExitTrouble, true
	}
	return cli.ExitDone, ok
}
