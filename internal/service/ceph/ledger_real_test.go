package ceph

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"testing"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/service"
	"plimsoll/internal/service/ceph/counter"
)

// sequentially writes an image of 128 MiB in blocks of 1 MiB, and returns the bytes that fio counts.
func sequentially(t *testing.T, at load.Endpoint, compress string) float64 {
	t.Helper()
	for _, argv := range [][]string{
		{"rbd", "--pool", at.Database, "create", "--size", "128M", "image"},
		{"fio", "--name=ledger", "--ioengine=rbd", "--direct=1", "--clientname=admin", "--pool=" + at.Database, "--rbdname=image", "--rw=write", "--bs=1m", "--iodepth=4",
			"--size=128m", "--refill_buffers=1", "--buffer_compress_percentage=" + compress, "--output-format=json"},
	} {
		c := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		c.Env = append(os.Environ(), "CEPH_CONF="+at.Address)
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%q: %v: %s", argv, err, out)
		}
		if argv[0] != "fio" {
			continue
		}
		var said struct {
			Jobs []struct {
				Write struct {
					Bytes float64 `json:"io_bytes"`
				}
			}
		}
		if err := json.Unmarshal(out[max(0, bytes.IndexByte(out, '{')):], &said); err != nil || len(said.Jobs) != 1 {
			t.Fatalf("fio printed %q: %v", out, err)
		}
		return said.Jobs[0].Write.Bytes
	}
	return 0
}

// TestRealBackEnd has one cluster for what its counters say.
func TestRealBackEnd(t *testing.T) {
	m := here(t)
	i, dir := started(t, m, nil)
	t.Run("settled", func(t *testing.T) { settles(t, i, &daemons{[]place{{m, dir}}, 3}) })
	t.Run("ledger", func(t *testing.T) { ledger(t, i) })
}

// Bytes of clients are those that OSDs count, and those of devices and of space follow from the redundancy and the compression of the pool, of which a
// cluster has several at once.
func ledger(t *testing.T, i service.Instance) {
	drained := func() map[string]float64 {
		t.Helper()
		settled(t, i)
		return counted(t, i)
	}
	for _, c := range []struct {
		settings parameter.Settings
		compress string
		theory   float64
		within   float64
	}{
		{parameter.Settings{"redundancy": "replica:2", "checksum": "xxhash32"}, "0", 2, .03},
		{parameter.Settings{"redundancy": "replica:3"}, "0", 3, .03},
		{parameter.Settings{"redundancy": "ec:2+1"}, "0", 1.5, .05},
		{parameter.Settings{"redundancy": "replica:2", "compression": "lz4"}, "70", 1, .05},
	} {
		c.settings["osds"], c.settings["size"] = "3", "2GiB" // those of the cluster
		if err := i.(service.Adapter).Adapt(t.Context(), c.settings); err != nil {
			t.Fatal(err)
		}
		at, err := i.Endpoint(protocol)
		if err != nil {
			t.Fatal(err)
		}
		before := drained()
		client := sequentially(t, at, c.compress)
		after := drained()
		of := func(name string) float64 { return after[name] - before[name] }
		near := func(what string, got, want, within float64) {
			t.Helper()
			if math.Abs(got/want-1) > within {
				t.Errorf("%v: %s are %v, want %v within %v %%", c.settings, what, got, want, 100*within)
			}
		}
		near("bytes that OSDs count", of("ceph.write_bytes"), client, .001)
		near("bytes allocated in the pool per byte", after[counter.Allocated]/client, c.theory, .02)
		if of(counter.DeviceWrite) > 0 { // a file system in memory counts none
			near("bytes of devices per byte", of(counter.DeviceWrite)/client, c.theory, c.within)
		}
		if before[counter.Allocated] > client/100 {
			t.Errorf("%v: the new pool begins with %v bytes", c.settings, before[counter.Allocated])
		}
		t.Logf("%v: devices %.4g, space %.4g per byte; OSDs count %.6g of %.6g bytes", c.settings, of(counter.DeviceWrite)/client, after[counter.Allocated]/client, of("ceph.write_bytes"), client)
	}
}
