package health

import (
	"reflect"
	"testing"
)

func TestStatesWithoutCopies(t *testing.T) {
	for state, want := range map[string][2]bool{
		"active+clean":                             {false, false},
		"active+remapped+backfilling":              {false, true},
		"active+undersized+degraded":               {true, false},
		"active+recovery_wait+undersized+degraded": {true, true},
		"down":                        {true, false},
		"peering":                     {false, true},
		"active+clean+scrubbing+deep": {false, false},
		"stale+active+clean":          {true, false},
		"active+undersized+degraded+remapped+backfilling": {true, true},
	} {
		if got := [2]bool{LacksCopies(state), moving(state)}; got != want {
			t.Errorf("%s: %v, want %v", state, got, want)
		}
	}
}

func TestCondition(t *testing.T) {
	const dump = `{"epoch": 30, "osds": [{"osd": 0, "up": 1, "in": 1, "up_from": 5}, {"osd": 1, "up": 0, "in": 1, "up_from": 6},
		{"osd": 2, "up": 0, "in": 0, "up_from": 7}, {"osd": 3, "up": 1, "in": 1, "up_from": 28}]}`
	const status = `{"pgmap": {"num_pgs": 40, "pgs_by_state": [{"state_name": "active+clean", "count": 30},
		{"state_name": "active+undersized+degraded", "count": 8}, {"state_name": "active+remapped+backfilling", "count": 2}]}}`
	for since, down := range map[int]float64{0: 1, 27: 2, 29: 1} {
		got, err := Of([]byte(dump), []byte(status), since)
		want := Condition{Epoch: 30, Down: down, Groups: 8, Known: true, Moving: []string{"2 placement groups are active+remapped+backfilling"}}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("since map %d: %+v, %v; want %+v", since, got, err, want)
		}
	}
	if got, err := Of([]byte(dump), []byte(`{"pgmap": {}}`), 0); err != nil || got.Known {
		t.Errorf("without a manager: %+v, %v", got, err)
	}
}
