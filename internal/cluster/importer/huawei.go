package importer

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"

	"plimsoll/internal/cluster/table"
	"plimsoll/internal/cluster/trace"
)

// huawei is a trace of VMs that are created and deleted (Huawei-East-1, published
// with Sheng et al., "VMAgent: Scheduling Simulator for Reinforcement Learning", 2021):
// rows vmid, cpu (cores), memory (GB, taken as GiB), time (seconds) and type (0 creates,
// 1 deletes).
type huawei struct {
	vms    []vm
	alive  map[int64]int32 // VMs by id
	lives  map[int64]int32 // of reused ids
	begins int64
	older  int // VMs that existed before the trace
	twice  int // rows that delete a deleted VM
	open   bool
}

var huaweiColumns = []string{"vmid", "cpu", "memory", "time", "type"}

func openHuawei(_ context.Context, files []string, _ Options) (source, error) {
	if len(files) != 1 {
		return nil, fmt.Errorf("huawei: %d files; expected one", len(files))
	}
	f, err := os.Open(files[0])
	if err != nil {
		return nil, fmt.Errorf("read the trace: %w", err)
	}
	defer f.Close()
	return readHuawei(files[0], f)
}

func readHuawei(file string, r io.Reader) (*huawei, error) {
	h := &huawei{alive: map[int64]int32{}, lives: map[int64]int32{}, begins: forever}
	t := table.NewReader(file, r, ",", huaweiColumns...)
	for first := true; ; first = false {
		fields, err := t.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if first && fields[0] == huaweiColumns[0] {
			if err := names(t, fields, huaweiColumns); err != nil {
				return nil, err
			}
			continue
		}
		if err := h.row(t); err != nil {
			return nil, err
		}
		h.open = t.Open()
	}
	for i := range h.vms {
		m := &h.vms[i]
		m.from = max(0, m.from-h.begins)
		if m.to != forever {
			m.to -= h.begins
		}
	}
	h.alive, h.lives = nil, nil
	return h, nil
}

// names checks the first row of a table.
func names(t *table.Reader, got, want []string) error {
	for i, name := range want {
		if got[i] != name {
			return t.Errorf("column %d is %q; expected %q", i+1, got[i], name)
		}
	}
	return nil
}

func (h *huawei) row(t *table.Reader) error {
	id, err := t.Whole(0, 1<<62)
	if err != nil {
		return err
	}
	cores, err := t.Whole(1, mostVCPUs)
	if err != nil {
		return err
	}
	memory, err := t.Number(2, mostMemory>>30)
	if err != nil {
		return err
	}
	at, err := t.Number(3, trace.MostSeconds)
	if err != nil {
		return err
	}
	kind, err := t.Whole(4, 1)
	if err != nil {
		return err
	}
	h.begins = min(h.begins, int64(at))
	i, alive := h.alive[id]
	switch {
	case !alive && h.lives[id] > 0 && kind == 1:
		h.twice++
	case kind == 0 && alive:
		return t.Errorf("VM %d is created twice", id)
	case !alive && (cores == 0 || memory*(1<<20) < 1):
		return t.Errorf("VM %d has no cores or no memory", id)
	case !alive:
		h.create(id, vm{vcpus: int(cores), memory: int64(memory*(1<<20)) << 10, from: int64(at), to: forever})
		if kind == 1 {
			h.older++
			last := &h.vms[len(h.vms)-1]
			last.from, last.to = 0, int64(at)
			delete(h.alive, id)
		}
	case int64(at) < h.vms[i].from:
		return t.Errorf("VM %d is deleted at %d s, before its creation at %d s", id, int64(at), h.vms[i].from)
	default:
		h.vms[i].to = int64(at)
		delete(h.alive, id)
	}
	return nil
}

func (h *huawei) create(id int64, m vm) {
	m.name = "vm-" + strconv.FormatInt(id, 10)
	if again := h.lives[id]; again > 0 {
		m.name += "-" + strconv.Itoa(int(again)+1)
	}
	h.lives[id]++
	h.alive[id] = int32(len(h.vms))
	h.vms = append(h.vms, m)
}

func (h *huawei) each(ctx context.Context, take func(*vm) error) error {
	for i := range h.vms {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := take(&h.vms[i]); err != nil {
			return err
		}
	}
	return nil
}

func (h *huawei) sketch(ctx context.Context, take func(*vm) error) error {
	return h.each(ctx, take)
}

func (h *huawei) warnings() (list []string) {
	if h.older > 0 {
		list = append(list, fmt.Sprintf("VMs deleted but never created, kept as present from the beginning: %d", h.older))
	}
	if h.twice > 0 {
		list = append(list, fmt.Sprintf("skipped rows that delete a VM again: %d", h.twice))
	}
	if h.open {
		list = append(list, "the last line has no newline: the file may be truncated")
	}
	return list
}
