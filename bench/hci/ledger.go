// Package hci measures the storage cluster of the service ceph: how soon it runs, what it takes, and whether its ledger of bytes adds up.
package hci

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"plimsoll/bench/measured"
	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/service"
	"plimsoll/internal/service/ceph"
)

// written is how much a ledger is taken of, in bytes.
const written = 512 << 20

// Ledger writes large blocks through pools of several kinds of one cluster, and holds the bytes of clients, OSDs and devices against theory.
// What is written after the OSDs say that they are settled is held against nothing.
func Ledger() (all []measured.Result, err error) {
	err = on(nil, func(ctx context.Context, i service.Instance, _ load.Endpoint, _ time.Duration) error {
		for _, c := range []struct {
			settings parameter.Settings
			compress string  // share of what is written that compresses away
			theory   float64 // bytes of devices per byte of clients
		}{
			{parameter.Settings{"redundancy": "replica:2"}, "0", 2},
			{parameter.Settings{"redundancy": "replica:3"}, "0", 3},
			{parameter.Settings{"redundancy": "ec:2+1"}, "0", 1.5},
			{parameter.Settings{"redundancy": "ec:3+1"}, "0", 4. / 3},
			{parameter.Settings{"redundancy": "replica:2", "compression": "lz4"}, "70", 1}, // blobs of 8 KiB become at most 4 KiB, which is the unit of allocation
		} {
			if err := i.(service.Adapter).Adapt(ctx, c.settings); err != nil {
				return err
			}
			what := c.settings["redundancy"]
			if c.settings["compression"] != "" {
				what += " with " + c.settings["compression"] + ", data of 10:3"
			}
			some, err := sequential(ctx, i, what, c.compress, c.theory)
			if all = append(all, some...); err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}

// sequential writes large blocks into the present pool.
func sequential(ctx context.Context, i service.Instance, what, compress string, theory float64) ([]measured.Result, error) {
	at, err := i.Endpoint("rbd")
	if err != nil {
		return nil, err
	}
	before, err := quiet(ctx, i)
	if err != nil {
		return nil, err
	}
	client, err := write(ctx, at, compress)
	if err != nil {
		return nil, err
	}
	ended := time.Now()
	settled, err := drained(ctx, i)
	if err != nil {
		return nil, err
	}
	took := time.Since(ended).Seconds()
	after, err := quiet(ctx, i)
	if err != nil {
		return nil, err
	}
	of := func(name string) float64 { return after[name] - before[name] }
	return []measured.Result{
		{What: what + ", 1 MiB sequential: device bytes per client byte", Got: of("ceph.device_write_bytes") / client, Against: "theory", Limit: theory, Unit: "bytes"},
		{What: what + ": bytes written, as the OSDs count", Got: of("ceph.write_bytes"), Against: "fio", Limit: client, Unit: "bytes"},
		{What: what + ": space allocated in the pool, per client byte", Got: after["ceph.allocated"] / client, Against: "theory", Limit: theory, Unit: "bytes"},
		{What: what + ": settled after the load", Got: took, Against: "allowed", Limit: 10, Unit: "s"},
		{What: what + ": bytes written to devices until then", Got: settled["ceph.device_write_bytes"] - before["ceph.device_write_bytes"], Against: "until they are quiet", Limit: of("ceph.device_write_bytes"), Unit: "bytes"},
	}, nil
}

// Starting measures the start of a cluster of 4 OSDs and its memory when it is idle.
func Starting() (all []measured.Result, err error) {
	const turns = 5
	var took, resident []float64
	for range turns {
		err := on(parameter.Settings{"osds": "4"}, func(ctx context.Context, i service.Instance, _ load.Endpoint, start time.Duration) error {
			counters, err := i.Counters(ctx)
			took, resident = append(took, start.Seconds()), append(resident, counters["ceph.resident"])
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return []measured.Result{
		{What: "4 OSDs: from nothing to clean placement groups", Got: measured.Middle(took), Against: "allowed", Limit: 10, Unit: "s"},
		{What: "4 OSDs: memory when idle", Got: measured.Middle(resident) / (1 << 20), Against: "allowed", Limit: 300, Unit: "MiB"},
	}, nil
}

// on runs a cluster for as long as a function takes.
func on(settings parameter.Settings, do func(ctx context.Context, i service.Instance, at load.Endpoint, start time.Duration) error) (err error) {
	ctx := context.Background()
	p, err := local.Kind().Open(ctx, nil, 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	built, err := ceph.Kind().New(settings)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "plimsoll-bench-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // the daemons run as an ordinary user
		return err
	}
	env := service.Env{Machine: p.Machine(), Dir: filepath.Join(dir, "cluster"), Log: func(string, ...any) {}}
	begun := time.Now()
	i, err := built.Start(ctx, env)
	if err != nil {
		return err
	}
	start := time.Since(begun)
	defer func() { err = errors.Join(err, i.Stop(ctx)) }()
	at, err := i.Endpoint("rbd")
	if err != nil {
		return err
	}
	return do(ctx, i, at, start)
}

// drained reads the counters when the cluster says that it is settled.
func drained(ctx context.Context, i service.Instance) (map[string]float64, error) {
	const most = time.Minute
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		busy, _, err := i.(service.Settling).Unsettled(ctx)
		switch {
		case err != nil:
			return nil, err
		case busy == "":
			return i.Counters(ctx)
		case time.Since(began) > most:
			return nil, fmt.Errorf("the cluster is not settled after %s: %s", most, busy)
		}
	}
}

// quiet reads the counters when the devices are not written any more.
func quiet(ctx context.Context, i service.Instance) (map[string]float64, error) {
	const quiet, most = 2 * time.Second, time.Minute
	var last map[string]float64
	for began, since := time.Now(), time.Now(); ; time.Sleep(100 * time.Millisecond) {
		now, err := i.Counters(ctx)
		if err != nil {
			return nil, err
		}
		if last == nil || now["ceph.device_write_bytes"] > last["ceph.device_write_bytes"]+64<<10 {
			last, since = now, time.Now()
		}
		switch {
		case time.Since(since) > quiet:
			return now, nil
		case time.Since(began) > most:
			return nil, fmt.Errorf("the OSDs still write to their devices after %s", most)
		}
	}
}

// write writes an image once from end to end, and returns the bytes that fio counts.
func write(ctx context.Context, at load.Endpoint, compress string) (float64, error) {
	if err := makeImage(ctx, at); err != nil {
		return 0, err
	}
	out, err := fio(ctx, at, "--rw=write", "--bs=1m", "--iodepth=8", fmt.Sprint("--size=", written), "--refill_buffers=1", "--buffer_compress_percentage="+compress)
	if err == nil && out.Write.Bytes <= 0 {
		err = errors.New("fio wrote nothing")
	}
	return out.Write.Bytes, err
}

func makeImage(ctx context.Context, at load.Endpoint) error {
	made := exec.CommandContext(ctx, "rbd", "--conf", at.Address, "--pool", at.Database, "create", "--size", strconv.Itoa(written)+"B", "ledger")
	if out, err := made.CombinedOutput(); err != nil {
		return fmt.Errorf("create an image: %w: %s", err, out)
	}
	return nil
}

// job is what fio says of a load.
type job struct{ Read, Write direction }

type direction struct {
	Bytes   float64 `json:"io_bytes"`
	Count   float64 `json:"total_ios"`
	Latency struct {
		Mean float64 `json:"mean"` // ns
	} `json:"lat_ns"`
}

// fio runs a load on the image.
func fio(ctx context.Context, at load.Endpoint, more ...string) (job, error) {
	argv := append([]string{"--name=ledger", "--ioengine=rbd", "--direct=1", "--clientname=admin", "--pool=" + at.Database, "--rbdname=ledger", "--output-format=json"}, more...)
	run := exec.CommandContext(ctx, "fio", argv...)
	run.Env = append(os.Environ(), "CEPH_CONF="+at.Address)
	out, err := run.Output()
	if err != nil {
		return job{}, fmt.Errorf("fio: %w", err)
	}
	var said struct{ Jobs []job }
	if err := json.Unmarshal(out[max(0, bytes.IndexByte(out, '{')):], &said); err != nil || len(said.Jobs) != 1 {
		return job{}, fmt.Errorf("fio printed no result: %w", err)
	}
	return said.Jobs[0], nil
}
