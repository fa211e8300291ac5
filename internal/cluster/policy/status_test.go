package policy

import (
	"encoding/json"
	"strings"
	"testing"
)

func small() *Inventory {
	return &Inventory{
		Datastores: []Datastore{
			{Name: "good", Generation: 7, Capabilities: []Capability{{"store.failures", between(0, 2)}}},
			{Name: "bad", Generation: 7, Capabilities: []Capability{{"store.failures", between(0, 1)}}},
			{Name: "mute", Generation: 7, Silent: true},
		},
		Policies: []Policy{
			{Name: "two", Generation: 4, Sets: []RuleSet{{Rules: []Rule{{"store.failures", Equals, exactly(2)}}}}},
			{Name: "nothing", Generation: 1},
		},
	}
}

func TestStatuses(t *testing.T) {
	for _, c := range []struct {
		object Object
		want   Status
		reason string
	}{
		{Object{Datastore: "good", Policy: "two", Applied: 4}, Compliant, ""},
		{Object{Datastore: "bad", Policy: "two", Applied: 4}, NonCompliant, "store.failures must be 2, and bad offers 0 to 1"},
		{Object{Datastore: "mute", Policy: "two", Applied: 4}, Unknown, "mute reported no capabilities"},
		{Object{Policy: "two", Applied: 4}, Unknown, "its datastore is unknown"},
		{Object{Datastore: "good", Policy: "two", Applied: 5}, Unknown,
			"version 5 of the policy was applied, but the newest known version is 4: update the list of policies"},
		{Object{Datastore: "good", Policy: "two", Applied: 3}, OutOfDate,
			"version 3 of the policy was applied, but the current version is 4: apply it again; its datastore satisfies the new version"},
		{Object{Datastore: "bad", Policy: "two"}, OutOfDate,
			"version 0 of the policy was applied, but the current version is 4: apply it again; its datastore does not satisfy the new version; store.failures must be 2, and bad offers 0 to 1"},
		{Object{Datastore: "mute", Policy: "two"}, OutOfDate,
			"version 0 of the policy was applied, but the current version is 4: apply it again; whether its datastore satisfies the new version is unknown; mute reported no capabilities"},
		{Object{Datastore: "bad", Policy: "nothing"}, OutOfDate,
			"version 0 of the policy was applied, but the current version is 1: apply it again; the new version has no requirements"},
		{Object{Datastore: "good"}, NotApplicable, "it has no policy"},
		{Object{}, NotApplicable, "it has no policy"},
		{Object{Datastore: "bad", Policy: "nothing", Applied: 1}, NotApplicable, "its policy has no requirements"},
		{Object{Policy: "nothing", Applied: 1}, NotApplicable, "its policy has no requirements"},
	} {
		inv := small()
		inv.VMs = []VM{{Name: "vm", Home: c.object}}
		k, err := New(inv)
		if err != nil {
			t.Fatal(err)
		}
		v := statusOf(k, "vm")
		if v.Status != c.want || v.Objects[0].Status != c.want || strings.Join(v.Objects[0].Reasons, "; ") != c.reason {
			t.Errorf("%+v: %v %q, want %v %q", c.object, v.Status, v.Objects[0].Reasons, c.want, c.reason)
		}
	}
}

// A VM is as bad as the worst of its objects.
func TestRollUp(t *testing.T) {
	objects := map[Status]Object{
		NotApplicable: {Datastore: "good"},
		Compliant:     {Datastore: "good", Policy: "two", Applied: 4},
		OutOfDate:     {Datastore: "good", Policy: "two", Applied: 1},
		Unknown:       {Datastore: "mute", Policy: "two", Applied: 4},
		NonCompliant:  {Datastore: "bad", Policy: "two", Applied: 4},
	}
	order := []Status{NotApplicable, Compliant, OutOfDate, Unknown, NonCompliant}
	for i, a := range order {
		for k, b := range order {
			inv := small()
			disk := objects[b]
			disk.Name = "d"
			inv.VMs = []VM{{Name: "vm", Home: objects[a], Disks: []Object{disk}}}
			c, err := New(inv)
			if err != nil {
				t.Fatal(err)
			}
			if v := statusOf(c, "vm"); v.Status != order[max(i, k)] {
				t.Errorf("home %v, disk %v: VM %v", a, b, v.Status)
			}
			if vms, all := c.Counts(); vms.All() != 1 || all.All() != 2 {
				t.Errorf("home %v, disk %v: %d VMs and %d objects are counted", a, b, vms.All(), all.All())
			}
		}
	}
}

func TestStatusesHaveNames(t *testing.T) {
	for s := range statuses {
		text, err := json.Marshal(s)
		var back Status
		if err != nil || json.Unmarshal(text, &back) != nil || back != s {
			t.Errorf("%v becomes %s, which becomes %v", s, text, back)
		}
	}
	var s Status
	if err := s.UnmarshalText([]byte("fine")); err == nil || !strings.Contains(err.Error(), `"fine" is not one of`) {
		t.Errorf("an unknown status is read with %v", err)
	}
}
