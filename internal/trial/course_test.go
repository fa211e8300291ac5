package trial

import (
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/measure"
)

func TestTimeThatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &session{Bench: &Bench{Study: exampleStudy()}, rest: 3}
		began := time.Now()
		s.records = []measure.Record{{Start: began, End: began.Add(time.Minute)}}
		for _, c := range []struct{ ago, want time.Duration }{{0, 3 * time.Minute}, {20 * time.Second, 160 * time.Second}, {time.Hour, 2 * time.Minute}} {
			s.trialBegan = time.Now().Add(-c.ago)
			if got := s.left(); got != c.want {
				t.Errorf("%s after the trial began %s are left", c.ago, got)
			}
		}
		if s.trialBegan = (time.Time{}); s.left() != 3*time.Minute {
			t.Errorf("between trials %s are left", s.left())
		}
	})
}
