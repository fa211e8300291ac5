package serve

import (
	"plimsoll/internal/parameter"
	"plimsoll/internal/plan"
	"plimsoll/internal/study"
	"plimsoll/internal/workload"
	"slices"
	"testing"
)

func TestForeignServicesOfAStudy(t *testing.T) {
	s := &Services{Plan: &plan.Plan{Arms: []plan.Arm{
		{Levels: map[string]string{"shelf.address": "/a"}}, {Levels: map[string]string{"shelf.address": "/b"}}, {Levels: map[string]string{"shelf.address": "/a"}},
	}}, Study: &study.Study{}}
	if all := s.Foreign(); all != nil {
		t.Errorf("a study without a service uses %v", all)
	}
	s.Study.Service = &study.Use{Kind: "shelf"}
	if all := s.Foreign(); len(all) != 0 {
		t.Errorf("a study with a private service uses %v", all)
	}
	s.Study.Factors = []study.Factor{{Name: "shelf.address", Parameter: "address", OfService: true, Levels: []string{"/a", "/b"}}}
	if all := s.Foreign(); len(all) != 2 || all[1].Settings["address"] != "/b" {
		t.Errorf("two addresses are %v", all)
	}
}

// What a load puts into a service that runs already takes no room here, and changes that service.
func TestDataOfAForeignServiceTakesNoRoomHere(t *testing.T) {
	s := &Services{Plan: &plan.Plan{Arms: []plan.Arm{{}}}, Study: &study.Study{Service: &study.Use{Kind: "shelf"}}}
	if n := s.Lent(workload.Needs{Served: 3 << 20}); n.Served != 3<<20 || n.Changes != nil {
		t.Errorf("in a private service: %+v", n)
	}
	*s.Study.Service = study.Use{Kind: "shelf", Settings: parameter.Settings{"address": "10.0.0.1:5432"}}
	if n := s.Lent(workload.Needs{Served: 3 << 20}); n.Served != 0 || !slices.Equal(n.Changes, []string{"writes about 3.00MiB to shelf at 10.0.0.1:5432, and removes it"}) {
		t.Errorf("in one that runs already: %+v", n)
	}
	if n := s.Lent(workload.Needs{}); n.Changes != nil {
		t.Errorf("of a load without data: %+v", n)
	}
}
