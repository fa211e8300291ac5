package service

import (
	"context"
	"path"
	"strings"

	"plimsoll/internal/platform"
)

// account is the user account of a daemon.
type account struct {
	prefix []string // of its command line; nil: the user of plimsoll
	root   bool     // the daemon will run as root
}

// ordinary finds an unprivileged account for daemons that plimsoll starts, and gives it the
// folder. A user other than root uses its own account. If the account cannot reach the folder,
// as below /root, the daemon runs as root.
func ordinary(ctx context.Context, env Env) (account, error) {
	uid, err := output(ctx, env.Machine, "id", "-u")
	if err != nil {
		return account{}, err
	}
	if strings.TrimSpace(uid) != "0" {
		return account{}, nil
	}
	user, err1 := output(ctx, env.Machine, "id", "-u", "nobody")
	group, err2 := output(ctx, env.Machine, "id", "-g", "nobody")
	if err1 != nil || err2 != nil {
		return account{root: true}, ctx.Err()
	}
	user, group = strings.TrimSpace(user), strings.TrimSpace(group)
	// A change of the user clears the parent-death signal, so it is set again.
	prefix := []string{"setpriv", "--reuid=" + user, "--regid=" + group, "--clear-groups", "--pdeathsig", "keep", "--"}
	if _, err := output(ctx, env.Machine, "chown", user+":"+group, "--", env.Dir); err != nil {
		return account{root: true}, ctx.Err()
	}
	if r, err := env.Machine.Run(ctx, platform.Command{Argv: append(prefix[:len(prefix):len(prefix)], "test", "-w", env.Dir)}); err != nil || r.Exit != 0 {
		if env.Log != nil {
			env.Log("the service runs as root, because nobody cannot reach %s", path.Dir(env.Dir))
		}
		return account{root: true}, ctx.Err()
	}
	return account{prefix: prefix}, nil
}
