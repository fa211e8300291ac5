package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/cluster/policy"
	"plimsoll/internal/live"
)

// withPolicies is the cluster in memory as one that has storage policies.
func (l memoryLab) withPolicies(read func(context.Context) (*policy.Inventory, error)) live.Kind {
	kind := l.live.Kind()
	kind.Open = func(context.Context, live.Address) (live.Connection, error) {
		c := l.live.Connection()
		c.Policies = read
		return c, nil
	}
	return kind
}

// failing has one VM of three that does not comply.
func failing(context.Context) (*policy.Inventory, error) {
	gold := policy.Policy{Name: "gold", Sets: []policy.RuleSet{{Rules: []policy.Rule{{Capability: "tag.tier", Is: policy.Equals, Value: policy.Value{Text: "gold"}}}}}}
	return &policy.Inventory{
		Datastores: []policy.Datastore{{Name: "good", Tags: map[string][]string{"tier": {"gold"}}}, {Name: "bad"}}, Policies: []policy.Policy{gold},
		VMs: []policy.VM{
			{Name: "a-1", Home: policy.Object{Datastore: "good", Policy: "gold"}}, {Name: "a-2", Home: policy.Object{Datastore: "bad", Policy: "gold"}}, {Name: "a-3", Home: policy.Object{Datastore: "bad"}},
		},
	}, nil
}

func TestComplyOfALiveCluster(t *testing.T) {
	l := newLab(t, clustertest.Lopsided())
	kind := l.withPolicies(failing)
	kept := filepath.Join(t.TempDir(), "storage.json")
	out, complaints := l.runKind(kind, 1, "comply", at, "--out", kept)
	wants(t, out, "nonCompliant: policy gold on bad, 1 object", "objects: a-2 home")
	wants(t, complaints, "1 of 3 VMs do not comply")
	out, _ = l.runKind(kind, 1, "comply", at, "--json")
	var r policy.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || r.VMs.NonCompliant != 1 || r.VMs.Compliant != 1 {
		t.Errorf("%v\n%s", err, out)
	}
	out, _ = l.runKind(kind, 1, "comply", kept)
	wants(t, out, "objects: a-2 home")
	_, complaints = l.runKind(kind, 2, "comply", at, "--out", kept)
	wants(t, complaints, "already exists")
	snapshot := filepath.Join(t.TempDir(), "lab.yaml")
	l.runKind(kind, 0, "show", at, "--out", snapshot)
	if text, err := os.ReadFile(snapshot); err != nil {
		t.Error(err)
	} else {
		wants(t, string(text), "policy: gold")
	}
}

func TestComplyThatIsNotPossible(t *testing.T) {
	l := newLab(t, clustertest.Lopsided())
	_, complaints := l.run(2, "comply", at)
	wants(t, complaints, "a memory cluster has no storage policies")
	broken := l.withPolicies(func(context.Context) (*policy.Inventory, error) { return nil, errors.New("read the policies: gone") })
	_, complaints = l.runKind(broken, 3, "comply", at)
	wants(t, complaints, "memory://lab/: read the policies: gone")
	snapshot := filepath.Join(t.TempDir(), "lab.yaml")
	_, complaints = l.runKind(broken, 0, "show", at, "--out", snapshot)
	wants(t, complaints, "note: the snapshot has no storage policies: memory://lab/: read the policies: gone")
	l.live.Deny(live.Comply, "StorageProfile.View on the vCenter")
	_, complaints = l.runKind(l.withPolicies(failing), 2, "comply", at)
	wants(t, complaints, "the account lacks privileges to read storage policies", "StorageProfile.View on the vCenter")
}
