package replay

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/cluster/snapshot"
)

func TestSuite(t *testing.T) {
	files, _ := filepath.Glob("../../../scenarios/*.yaml")
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		s, err := snapshot.ReadScenario(f, text)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []struct {
			name string
			make func() Policy
		}{{"own", NewOwn}, {"idle", NewIdle}, {"spread", NewSpread}, {"variation", NewVariation}, {"threshold", NewThreshold}, {"descent", NewDescent}} {
			o, err := Run(context.Background(), s, p.make())
			if err != nil {
				t.Fatal(err)
			}
			fmt.Printf("%-16s %-10s short %8d GHz.s %8d GiB.s moves %4d copied %5d GiB flaps %3d viol %6d s drain %6d s over %6d s refused %d aborted %d late %d\n", s.Name, p.name,
				o.Short.CPU/1_000_000, o.Short.Memory/1024/1000, o.Moves, o.Copied>>30, o.Flaps, o.Violated/1000, o.Draining/1000, o.Overload/1000, o.Refused, o.Aborted, o.Late)
		}
	}
}
