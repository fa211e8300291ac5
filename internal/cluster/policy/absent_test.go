package policy

import (
	"strings"
	"testing"
)

// An object that cannot be judged is unknown, with its reason and the nearest name, and does
// not affect others.
func TestUnlistedNamesAreUnknown(t *testing.T) {
	inv, err := Read(strings.NewReader(`{
		"datastores": [{"name": "vsan-01", "capabilities": [{"name": "a.b", "text": "x"}]}],
		"policies": [{"name": "gold", "sets": [{"rules": [{"capability": "a.b", "is": "equals", "text": "x"}]}]},
			{"name": "odd", "sets": [{"rules": [{"capability": "a.c", "is": "equals", "text": "x"}]}]},
			{"name": "free", "sets": [{"rules": [{"capability": "a.c", "is": "not", "text": "x"}]}]}],
		"vms": [
			{"name": "fine", "home": {"datastore": "vsan-01", "policy": "gold"}},
			{"name": "store", "home": {"datastore": "vsan-1", "policy": "gold"}, "disks": [{"name": "d", "datastore": "vsan-01", "policy": "gold"}]},
			{"name": "policy", "home": {"datastore": "vsan-01", "policy": "glod", "applied": 4}},
			{"name": "capability", "home": {"datastore": "vsan-01", "policy": "odd"}},
			{"name": "without", "home": {"datastore": "vsan-01", "policy": "free"}},
			{"name": "none", "home": {"datastore": "nfs"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(inv)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		vm     string
		status Status
		reason string
	}{
		{"fine", Compliant, ""}, {"store", Unknown, `the inventory lists no datastore "vsan-1": is it "vsan-01"?`},
		{"policy", Unknown, `the inventory lists no policy "glod": is it "gold"?`}, {"capability", Unknown, "a.c"}, {"without", Compliant, ""}, {"none", NotApplicable, "no policy"},
	} {
		v := statusOf(c, want.vm)
		if reasons := strings.Join(v.Objects[0].Reasons, "; "); v.Status != want.status || !strings.Contains(reasons, want.reason) {
			t.Errorf("%s: %v, %q; want %v, %q", want.vm, v.Status, reasons, want.status, want.reason)
		}
	}
	if v := statusOf(c, "store"); v.Objects[1].Status != Compliant {
		t.Errorf("the disk beside: %+v", v.Objects[1])
	}
	var b strings.Builder
	if err := c.Report().Text(&b); err != nil || !strings.Contains(b.String(), "policy glod, not listed") || !strings.Contains(b.String(), "no datastore offers a.c, so the rule") {
		t.Errorf("%v\n%s", err, b.String())
	}
}
