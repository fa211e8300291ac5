package fabric

import (
	"fmt"
	"os"
	"path/filepath"
)

// StateFolder is the default folder of this user's labs ("lab") and agents ("agent") for
// keys and persistent state.
func StateFolder(part string) (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "plimsoll", part), nil
	}
	if os.Geteuid() == 0 {
		return filepath.Join("/var/lib/plimsoll", part), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find a folder for state: %w", err)
	}
	return filepath.Join(home, ".local", "state", "plimsoll", part), nil
}
