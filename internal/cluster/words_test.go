package cluster

import "testing"

func TestAmountsOfMemory(t *testing.T) {
	const gib = int64(1) << 30
	for bytes, want := range map[int64]string{0: "0 MiB", 3 << 19: "1 MiB", 10*gib - 1: "10239 MiB", 10 * gib: "10 GiB", 1234567 << 20: "1206 GiB", 9999 * gib: "9999 GiB", 43040 * gib: "42.03 TiB", 1 << 62: "4.194e+06 TiB"} {
		if got := MiB(bytes); got != want {
			t.Errorf("%d bytes: %s, want %s", bytes, got, want)
		}
	}
}

func TestStatesInSentences(t *testing.T) {
	for state, want := range map[HostState]string{Connected: "is connected", Maintenance: "is in maintenance", Quarantined: "is quarantined", Standby: "is on standby", Failed: "has failed"} {
		if got := state.Said(); got != want {
			t.Errorf("%s: %s, want %s", state, got, want)
		}
	}
}
