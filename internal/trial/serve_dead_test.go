package trial

import (
	"errors"
	"testing"

	"plimsoll/internal/service"
)

// mortal is an instance that may have died.
type mortal struct {
	service.Instance
	of error
}

func (m mortal) Died() error { return m.of }

// A service that is known to have died is not taken for one that runs.
func TestAServiceThatDied(t *testing.T) {
	for want, i := range map[bool]service.Instance{true: mortal{}, false: mortal{of: errors.New("its machine is gone")}} {
		if got := (&served{instance: i}).lives(); got != want {
			t.Errorf("%+v lives: %v", i, got)
		}
	}
	if !(&served{}).lives() {
		t.Error("one that does not tell counts as dead")
	}
	if (&served{instance: mortal{}, mute: true}).answers() || !(&served{instance: mortal{}}).answers() {
		t.Error("one that stands still is taken for one that serves, or one that serves is not")
	}
}
