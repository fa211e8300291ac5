package libvirt

import (
	"flag"
	"os"
	"testing"
)

// parallel is how many tests run at once, unless the command line says otherwise: they wait for daemons more than they work.
const parallel = "4"

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", parallel); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
