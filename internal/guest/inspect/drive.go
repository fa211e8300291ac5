package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Drive is a guest's disk as QEMU and the host's kernel report it.
type Drive struct {
	Driver   string // block driver: raw for a file, nbd, rbd, null-co
	Source   string // path or URI of the blocks, in QEMU's notation
	Direct   bool   // bypasses the host's page cache
	Volatile bool   // the guest sees a write cache
	NoFlush  bool   // flushes of the guest are dropped
	IOThread bool   // a dedicated thread handles its requests
	Image    string // pool/name of an image of a Ceph cluster; empty for anything else
}

// Drive queries QEMU about a disk, by name.
func (p Process) Drive(ctx context.Context, name string) (d Drive, err error) {
	i := slices.Index(p.Disks, name)
	if i < 0 {
		return d, fmt.Errorf("guest %s has no disk named %s", p.Name, name)
	}
	var blocks []struct {
		Inserted struct {
			Node  string `json:"node-name"`
			Drv   string `json:"drv"`
			File  string `json:"file"`
			Cache struct {
				Direct    bool `json:"direct"`
				Writeback bool `json:"writeback"`
				NoFlush   bool `json:"no-flush"`
			} `json:"cache"`
		} `json:"inserted"`
	}
	if err := p.Monitor.Execute(ctx, "query-block", nil, &blocks); err != nil {
		return d, fmt.Errorf("disk %s of guest %s: %w", name, p.Name, err)
	}
	found := false
	for _, b := range blocks {
		if in := b.Inserted; in.Node == fmt.Sprintf("disk%d", i) {
			d = Drive{Driver: in.Drv, Source: in.File, Direct: in.Cache.Direct, Volatile: in.Cache.Writeback, NoFlush: in.Cache.NoFlush, Image: imageOf(in.Drv, in.File)}
			found = true
		}
	}
	if !found {
		return d, fmt.Errorf("disk %s of guest %s: QEMU does not list it", name, p.Name)
	}
	d.IOThread, err = p.hasThread(ctx, i)
	return d, err
}

// imageOf finds the image in QEMU's notation of a node: json: and the options of the driver, where these are more than a URI can have.
func imageOf(driver, source string) string {
	var at struct{ Pool, Image string }
	text, ok := strings.CutPrefix(source, "json:")
	if driver != "rbd" || ok && json.Unmarshal([]byte(text), &at) != nil {
		return ""
	}
	if !ok {
		rest, _ := strings.CutPrefix(source, "rbd:")
		return strings.SplitN(rest, ":", 2)[0]
	}
	return at.Pool + "/" + at.Image
}

// hasThread reports whether a running IOThread serves the disk.
func (p Process) hasThread(ctx context.Context, i int) (bool, error) {
	var threads []struct {
		ID     string `json:"id"`
		Thread int    `json:"thread-id"`
	}
	if err := p.Monitor.Execute(ctx, "query-iothreads", nil, &threads); err != nil {
		return false, fmt.Errorf("threads for I/O of guest %s: %w", p.Name, err)
	}
	id := fmt.Sprintf("io%d", i)
	for _, t := range threads {
		if t.ID != id {
			continue
		}
		if _, err := os.Stat(fmt.Sprintf("/proc/%d/task/%d", p.PID, t.Thread)); err != nil {
			return false, nil
		}
		return p.linked(ctx, i, id), nil
	}
	return false, nil
}

// linked reports whether the device of a disk, or its controller, uses a thread.
func (p Process) linked(ctx context.Context, i int, id string) bool {
	for _, device := range []string{"disk%d-dev", "scsi%d"} {
		var link string
		at := map[string]string{"path": "/machine/peripheral/" + fmt.Sprintf(device, i), "property": "iothread"}
		if p.Monitor.Execute(ctx, "qom-get", at, &link) == nil && strings.HasSuffix(link, "/"+id) {
			return true
		}
	}
	return false
}

// AIO is the AIO mode of QEMU's files, found by the process's resources: native with a Linux
// AIO context, io_uring with a ring, else threads.
func (p Process) AIO() (string, error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", p.PID))
	if err != nil {
		return "", fmt.Errorf("query the I/O of guest %s: %w", p.Name, err)
	}
	if strings.Contains(string(maps), "/[aio]") {
		return "native", nil
	}
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.PID))
	for _, f := range files {
		to, failed := os.Readlink(f)
		if failed != nil && !errors.Is(failed, os.ErrNotExist) {
			err = failed
		}
		if strings.Contains(to, "[io_uring]") {
			return "io_uring", nil
		}
	}
	if err != nil {
		return "", fmt.Errorf("query the I/O of guest %s: %w", p.Name, err)
	}
	return "threads", nil
}
