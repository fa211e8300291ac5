package consistency

import (
	"testing"
	"time"

	"plimsoll/internal/engine"
	"plimsoll/internal/engine/enginetest"
	"plimsoll/internal/measure"
)

// What differs, or what one side alone has, is counted; what there is no time for is not
// said to hold; and SQL that a server refuses is an error.
func TestRealLook(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, s *enginetest.Server) {
		c := s.Dial(t, "")
		if err := c.Exec(t.Context(), "CREATE DATABASE sides"); err != nil {
			t.Fatal(err)
		}
		c = s.Dial(t, "sides")
		if err := c.Exec(t.Context(), "CREATE TABLE a (k int, v int); CREATE TABLE b (k int, v int); INSERT INTO a VALUES (1, 7), (2, 8), (3, 9); INSERT INTO b VALUES (1, 7), (2, 9), (4, 1)"); err != nil {
			t.Fatal(err)
		}
		compare := func(where string) Condition {
			return Condition{"both sides agree", Unequal("k", "SELECT k, v AS n FROM a"+where, "SELECT k, -v FROM b"+where)}
		}
		asleep := map[string]string{engine.PostgreSQL: "SELECT pg_sleep(20)", engine.MariaDB: "SELECT sleep(20)"}[s.Protocol]
		for what, tc := range map[string]struct {
			conditions []Condition
			want       measure.Check
			refused    bool
		}{
			"equal":       {[]Condition{compare(" WHERE k < 2")}, measure.Check{State: measure.Pass, Detail: "conditions 1 to 1 hold"}, false},
			"unequal":     {[]Condition{compare(" WHERE k < 2"), compare("")}, measure.Check{State: measure.Fail, Detail: "condition 2, both sides agree, is broken 3 times"}, false},
			"no time":     {[]Condition{compare(" WHERE k < 2"), {"sleep", asleep}}, measure.Check{State: measure.Unknown, Detail: "1 of 2 conditions were looked at in 500ms, and none is broken"}, false},
			"no such SQL": {[]Condition{{"nothing", "SELECT nothing"}}, measure.Check{}, true},
		} {
			within := 20 * time.Second
			if what == "no time" {
				within = 500 * time.Millisecond
			}
			got, err := Look(t.Context(), c, s.Protocol, tc.conditions, within)
			if tc.refused != (err != nil) || err == nil && (got.State != tc.want.State || got.Detail != tc.want.Detail || got.Name != "consistency") {
				t.Errorf("%s: %+v, %v", what, got, err)
			}
		}
	})
}
