package toolbox

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// accounts is the file of user accounts.
const accounts = "/etc/passwd"

// id prints the number of the calling user or of a named one; with -g, that of the primary
// group.
func id(c *Call) error {
	set, names, err := c.options([]string{"-u", "-g"}, nil)
	if err != nil {
		return err
	}
	if len(set) != 1 || len(names) > 1 {
		return refused("usage: id -u NAME")
	}
	user, group := os.Getuid(), os.Getgid()
	if len(names) == 1 {
		if user, group, err = numbersOf(names[0]); err != nil {
			return err
		}
	}
	number := user
	if _, asked := set["-g"]; asked {
		number = group
	}
	_, err = fmt.Fprintln(c.Stdout, number)
	return err
}

// numbersOf returns the UID and GID of a user. Without accounts, root is 0.
func numbersOf(name string) (user, group int, err error) {
	f, err := os.Open(accounts)
	if err == nil {
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			field := strings.Split(lines.Text(), ":")
			if field[0] != name || len(field) < 4 {
				continue
			}
			user, err1 := strconv.Atoi(field[2])
			group, err2 := strconv.Atoi(field[3])
			if err1 == nil && err2 == nil {
				return user, group, nil
			}
		}
	}
	if name == "root" {
		return 0, 0, nil
	}
	return 0, 0, fmt.Errorf("%s: no such user", name)
}

// chown changes the owner of files, by numbers: chown 65534:65534 -- NAME.
func chown(c *Call) error {
	if len(c.Args) < 2 {
		return refused("usage: chown 65534:65534 -- NAME")
	}
	user, group, _ := strings.Cut(c.Args[0], ":")
	uid, err1 := strconv.ParseUint(user, 10, 31)
	gid, err2 := strconv.ParseUint(group, 10, 31)
	if err1 != nil || err2 != nil {
		return refused("usage: chown 65534:65534 -- NAME")
	}
	rest := &Call{Args: c.Args[1:]}
	_, names, err := rest.options(nil, nil)
	if err != nil {
		return err
	}
	return each(names, func(name string) error { return os.Chown(name, int(uid), int(gid)) })
}

// setpriv runs a program as another user, without supplementary groups. A change of the
// user clears the parent-death signal, so it is set again, to SIGKILL as for all programs.
func setpriv(c *Call) error {
	set, argv, err := c.options([]string{"--clear-groups"}, []string{"--reuid", "--regid", "--pdeathsig"})
	if err != nil {
		return err
	}
	uid, err1 := strconv.ParseUint(set["--reuid"], 10, 31)
	gid, err2 := strconv.ParseUint(set["--regid"], 10, 31)
	_, alone := set["--clear-groups"]
	if err1 != nil || err2 != nil || !alone || set["--pdeathsig"] != "keep" || len(argv) == 0 {
		return refused("usage: setpriv --reuid=65534 --regid=65534 --clear-groups --pdeathsig keep -- PROGRAM")
	}
	program, err := exec.LookPath(argv[0])
	if err != nil {
		return fmt.Errorf("%s: %w", argv[0], os.ErrNotExist)
	}
	runtime.LockOSThread() // the signal belongs to the thread that becomes the program
	defer runtime.UnlockOSThread()
	for _, step := range []func() error{
		func() error { return syscall.Setgroups(nil) },
		func() error { return syscall.Setresgid(int(gid), int(gid), int(gid)) },
		func() error { return syscall.Setresuid(int(uid), int(uid), int(uid)) },
		func() error { return unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0) },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("become user %d: %w", uid, err)
		}
	}
	return syscall.Exec(program, argv, os.Environ())
}
