package operations

import (
	"testing"

	"plimsoll/internal/workload/operations/management"
)

// Migrations need two hosts at once. They get their share also where single operations could keep
// every host busy for ever.
func TestMigrationsAreNotStarved(t *testing.T) {
	l := &operations{Parameters: Parameters{PerHost: 1}, mix: []share{{management.Reconfigure, .8}, {management.Migrate, .2}}}
	survey := management.Survey{Hosts: []string{"h1", "h2"}}
	for i, id := range []string{"a", "b", "c", "d"} {
		survey.VMs = append(survey.VMs, management.VM{ID: id, Host: survey.Hosts[i%2], Power: management.On})
	}
	b := newSchedule(l, survey, 1, "test")
	dealt := map[management.Kind]int{}
	var flying []*assignment
	const operations = 500
	for n := 0; n < operations; {
		for d := b.choose(0); d != nil; d = b.choose(0) {
			flying = append(flying, d)
			dealt[d.Kind]++
			n++
		}
		if len(flying) == 0 {
			t.Fatal("nothing is in flight, and nothing can be chosen")
		}
		// One ends at a time, so that the other host is busy at each choice.
		done := flying[0]
		flying = flying[1:]
		b.settle(done, management.Outcome{}, nil)
	}
	if got := dealt[management.Migrate]; got < operations/5-5 || got > operations/5+5 {
		t.Errorf("%d of %d operations are migrations, want a fifth", got, operations)
	}
}
