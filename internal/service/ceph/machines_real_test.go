package ceph

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/effort"
	"plimsoll/internal/parameter"
	"plimsoll/internal/service"
	"plimsoll/internal/service/ceph/admin"
	"plimsoll/internal/service/ceph/counter"
)

// The OSDs of a cluster on two machines are in the folders of both, and each copy of an object is on another machine. The death of any ends the cluster.
func TestRealMachines(t *testing.T) {
	effort.Deep(t, "have the OSDs of a cluster on two machines")
	m := here(t)
	settings := parameter.Settings{"osds": "3", "size": "2GiB"}
	s, err := Kind().New(settings)
	if err != nil {
		t.Fatal(err)
	}
	env := service.Env{Machine: m, Dir: filepath.Join(t.TempDir(), "one"), Log: t.Logf}
	env.Peers = []service.Peer{{Machine: m, Dir: filepath.Join(t.TempDir(), "two")}}
	if _, err := s.Check(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	i, err := s.Start(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	settled(t, i)
	for name, dir := range map[string]string{"osd.0": env.Dir, "osd.1": env.Dir, "osd.2": env.Peers[0].Dir} {
		if _, err := os.Stat(socketOf(dir, name)); err != nil {
			t.Error(err)
		}
	}
	observed, err := i.Observed(t.Context())
	if err != nil || observed["osds"] != "3" || observed["network"] != hostNetwork || observed["redundancy"] != "replica:2" {
		t.Errorf("observed %v, %v", observed, err)
	}
	if at, err := i.Endpoint(protocol); err != nil || at.Capacity <= 0 || at.Capacity > 3<<30 || !at.Private {
		t.Errorf("its endpoint is %+v, %v", at, err)
	}
	if all := counted(t, i); all[counter.Up] != 3 || all[counter.CPU] <= 0 {
		t.Errorf("counters %v", all)
	}
	at := &admin.Monitor{Machine: m, Conf: filepath.Join(env.Dir, confFile)}
	pools, err := at.Pools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var questions []string
	for n := range groups {
		questions = append(questions, fmt.Sprintf("pg map %d.%x", pools["plimsoll-r2"], n))
	}
	answers, err := at.Ask(t.Context(), questions...)
	if err != nil {
		t.Fatal(err)
	}
	for _, answer := range answers {
		var g struct{ Up []int }
		if err := json.Unmarshal(answer, &g); err != nil || len(g.Up) != 2 || (g.Up[0] == 2) == (g.Up[1] == 2) {
			t.Errorf("a placement group is on OSDs %v: osd.2 alone is on the second machine, %v", g.Up, err)
		}
	}
	if err := i.(service.Adapter).Adapt(t.Context(), parameter.Settings{"osds": "3", "size": "2GiB", "redundancy": "replica:3"}); err != nil {
		t.Errorf("a pool with more copies than machines: %v", err)
	}
	loseOSD(t, m, i, env.Peers[0].Dir, "osd.2")
	if err := i.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	for _, dir := range []string{env.Dir, env.Peers[0].Dir} {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", dir, err)
		}
	}
}
