package qemu

import (
	"strings"
	"testing"
	"time"
)

// A clock step during a migration voids QEMU's time stamps.
func TestAClockThatIsSetDuringAMigration(t *testing.T) {
	for step, want := range map[time.Duration]string{
		0:                "",
		time.Millisecond: "",
		time.Hour:        "was stepped by +3600.000 s",
		-time.Hour:       "was stepped by -3600.000 s",
		-time.Second / 2: "was stepped by -0.500 s",
	} {
		err := sameClock(3*time.Second+step, 3*time.Second)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", step, err, want)
		}
	}
}
