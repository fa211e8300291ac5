package operations

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/workload/operations/management"
)

// share is a kind of operation with its share of all.
type share struct {
	kind management.Kind
	part float64
}

// workflowMix are the operations of the life of a VM.
func workflowMix() []share {
	return []share{{management.Create, .25}, {management.PowerOn, .25}, {management.PowerOff, .25}, {management.Delete, .25}}
}

const mostWeight = 1000

// parseList reads a run list.
func parseList(text string) ([]share, error) {
	weights := map[management.Kind]int{}
	var list []share
	total := 0
	for entry := range strings.SplitSeq(text, ",") {
		fields := strings.Fields(entry)
		if len(fields) == 0 || len(fields) > 2 {
			return nil, fmt.Errorf("run_list: %q is no operation with a weight, such as power-on 2", strings.TrimSpace(entry))
		}
		kind, weight := management.Kind(fields[0]), 1
		if !slices.Contains(management.Kinds(), kind) {
			return nil, fmt.Errorf("run_list: no operation %q; known: %s", kind, known())
		}
		if len(fields) == 2 {
			n, err := strconv.Atoi(fields[1])
			if err != nil || n < 1 || n > mostWeight {
				return nil, fmt.Errorf("run_list: the weight of %s is %q: must be from 1 to %d", kind, fields[1], mostWeight)
			}
			weight = n
		}
		if weights[kind] > 0 {
			return nil, fmt.Errorf("run_list has %s twice", kind)
		}
		weights[kind] = weight
		total += weight
		list = append(list, share{kind, float64(weight)})
	}
	for i := range list {
		list[i].part /= float64(total)
	}
	return list, balanced(weights)
}

func known() string {
	var names []string
	for _, k := range management.Kinds() {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}

// balanced refuses a mix that cannot run indefinitely: VMs would run out, or accumulate.
func balanced(w map[management.Kind]int) error {
	switch {
	case w[management.PowerOn] != w[management.PowerOff]+w[management.Suspend]:
		return errors.New("run_list: the weight of power-on must be that of power-off and suspend together, or no VM is left to power on or off")
	case w[management.Create]+w[management.Clone] != w[management.Delete]:
		return errors.New("run_list: the weight of delete must be that of create and clone together, or the number of VMs drifts")
	case w[management.Snapshot] > 0 && w[management.RemoveSnapshots] == 0:
		return errors.New("run_list: snapshot needs remove-snapshots, or VMs get more snapshots than they may have")
	case w[management.Snapshot] < w[management.RemoveSnapshots]:
		return errors.New("run_list: remove-snapshots needs as many of snapshot at least")
	case w[management.Revert] > 0 && w[management.Snapshot] == 0:
		return errors.New("run_list: revert needs snapshot")
	}
	return nil
}
