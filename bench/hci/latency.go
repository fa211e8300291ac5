package hci

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"plimsoll/bench/measured"
	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/service"
	"plimsoll/internal/service/ceph"
)

// Latency holds the parts of the latency of clients against their mean, which fio measures.
func Latency() (all []measured.Result, err error) {
	const length = 8 * time.Second
	err = on(nil, func(ctx context.Context, i service.Instance, _ load.Endpoint, _ time.Duration) error {
		for _, c := range []struct {
			redundancy, what string
			load             []string
		}{
			{"replica:2", "4 KiB random writes, depth 16", []string{"--rw=randwrite", "--iodepth=16"}},
			{"replica:2", "4 KiB random writes, depth 1", []string{"--rw=randwrite", "--iodepth=1"}},
			{"replica:2", "4 KiB random, 70 % reads, depth 16", []string{"--rw=randrw", "--rwmixread=70", "--iodepth=16"}},
			{"replica:2", "4 KiB random reads, depth 16", []string{"--rw=randread", "--iodepth=16"}},
			{"ec:2+1", "4 KiB random writes, depth 16", []string{"--rw=randwrite", "--iodepth=16"}},
			{"ec:2+1", "4 KiB random reads, depth 16", []string{"--rw=randread", "--iodepth=16"}},
		} {
			if err := i.(service.Adapter).Adapt(ctx, parameter.Settings{"redundancy": c.redundancy}); err != nil {
				return err
			}
			at, err := i.Endpoint("rbd")
			if err != nil {
				return err
			}
			if i, err := i.Counters(ctx); err != nil || i["ceph.stored"] < written {
				if _, err := write(ctx, at, "0"); err != nil {
					return err
				}
			}
			some, err := latency(ctx, i, c.redundancy+", "+c.what, append(c.load, "--bs=4k", "--time_based=1", fmt.Sprint("--runtime=", length.Seconds())))
			if all = append(all, some...); err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}

// latency runs a load, and divides its mean latency.
func latency(ctx context.Context, i service.Instance, what string, argv []string) ([]measured.Result, error) {
	at, err := i.Endpoint("rbd")
	if err != nil {
		return nil, err
	}
	before, err := drained(ctx, i)
	if err != nil {
		return nil, err
	}
	out, err := fio(ctx, at, argv...)
	if err != nil {
		return nil, err
	}
	after, err := i.Counters(ctx)
	if err != nil {
		return nil, err
	}
	kind := ceph.Kind()
	counters := map[string]float64{}
	for name, v := range after {
		counters[name] = v - before[name]
	}
	service.Divide(kind.Ratios, counters)
	mean := (out.Read.Count*out.Read.Latency.Mean + out.Write.Count*out.Write.Latency.Mean) / (out.Read.Count + out.Write.Count) / 1e9
	kind.Derive(counters, map[string]float64{"mean": mean, "read.mean": out.Read.Latency.Mean / 1e9, "write.mean": out.Write.Latency.Mean / 1e9})
	sum := 0.
	for _, name := range slices.Sorted(maps.Keys(counters)) {
		part, is := strings.CutPrefix(name, "ceph.latency.")
		if !is {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s: %s %.3g ms\n", what, part, 1e3*counters[name])
		if part != "flush" { // of the commit
			sum += counters[name]
		}
	}
	return []measured.Result{
		{What: what + ": sum of the parts of the latency", Got: sum, Against: "fio", Limit: mean, Unit: "s"},
		{What: what + ": operations, as the OSDs count", Got: counters["ceph.reads.count"] + counters["ceph.writes.count"], Against: "fio", Limit: out.Read.Count + out.Write.Count, Unit: ""},
	}, nil
}
