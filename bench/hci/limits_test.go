package hci

import (
	"strings"
	"testing"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
	"plimsoll/internal/sentence"
)

// What counts is the first explanation of the cluster; those of the host do not.
func TestRight(t *testing.T) {
	say := func(all ...string) (found []finding.Explanation) {
		for _, line := range all {
			rule, text, _ := strings.Cut(line, ": ")
			found = append(found, finding.Explanation{Rule: rule, Sentence: sentence.Sentence{Text: text}})
		}
		return found
	}
	device, none := limit{named: either(backDevices, "io_throttle", "ceph-osd")}, limit{}
	for _, c := range []struct {
		of    limit
		found []finding.Explanation
		want  bool
	}{
		{device, say("storage_side: The devices limit the cluster"), true},
		{device, say("ready_time: The vCPU of guest a waits", "storage_side: The devices limit the cluster"), true},
		{device, say("io_throttle: ceph-osd is at a limit", "storage_side: The load limits the cluster"), true},
		{device, say("io_throttle: postgres is at a limit"), false},
		{device, say("storage_side: The load limits the cluster", "io_throttle: ceph-osd is at a limit"), false},
		{device, nil, false},
		{none, nil, true},
		{none, say("ready_time: The vCPU of guest a waits"), true},
		{none, say("storage_side: The devices limit the cluster"), false},
	} {
		if got := c.of.right(c.found); got != c.want {
			t.Errorf("%+v: %v", c.found, got)
		}
	}
}

func TestChoose(t *testing.T) {
	if all, err := choose(nil, true); err != nil || len(all) != len(heldOut()) {
		t.Errorf("%d limits, %v", len(all), err)
	}
	if some, err := choose([]string{"slow-osd", "device"}, false); err != nil || len(some) != 2 || some[0].name != "slow-osd" {
		t.Errorf("%+v, %v", some, err)
	}
	if _, err := choose([]string{"slow"}, false); err == nil || err.Error() != `there is no limit "slow"` {
		t.Errorf("%v", err)
	}
}

// Runs that cannot tell are void.
func TestComplete(t *testing.T) {
	for want, counters := range map[string]map[string]float64{
		"":              {"processes.service.run_delay": 1, "processes.others.cpu": .9, "cpu.count": 2},
		"no counters":   {"cpu.count": 2},
		"1.10 of 2 CPU": {"processes.service.run_delay": 1, "processes.others.cpu": 1.1, "cpu.count": 2},
	} {
		err := complete([]measure.Record{{Trial: 1, Counters: counters}, {Trial: 2, Void: "fio died"}})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", counters, err)
		}
	}
}
