package toolbox

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// mount mounts a device on a folder: mount -t KIND [-o ro|dax] DEVICE FOLDER.
func mount(c *Call) error {
	set, names, err := c.options(nil, []string{"-t", "-o"})
	if err != nil {
		return err
	}
	flags, data := uintptr(unix.MS_NOATIME), ""
	switch set["-o"] {
	case "":
	case "ro":
		flags |= unix.MS_RDONLY
	case "dax":
		data = "dax"
	default:
		return refused("unsupported option -o %s", set["-o"])
	}
	if set["-t"] == "" || len(names) != 2 {
		return refused("usage: mount -t ext4 DEVICE FOLDER")
	}
	if err := unix.Mount(names[0], names[1], set["-t"], flags, data); err != nil {
		return fmt.Errorf("%s on %s: %w", names[0], names[1], err)
	}
	return nil
}

func umount(c *Call) error {
	_, names, err := c.options(nil, nil)
	if err != nil {
		return err
	}
	return each(names, func(name string) error {
		if err := unix.Unmount(name, 0); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
}

// sync flushes dirty data to the disks.
func sync(c *Call) error {
	if len(c.Args) > 0 {
		return refused("it takes no arguments")
	}
	unix.Sync()
	return nil
}

// ln creates a symbolic link: ln -s -- TARGET NAME.
func ln(c *Call) error {
	set, names, err := c.options([]string{"-s"}, nil)
	if err != nil {
		return err
	}
	if _, symbolic := set["-s"]; !symbolic || len(names) != 2 {
		return refused("usage: ln -s -- TARGET NAME")
	}
	return plainLink(os.Symlink(names[0], names[1]))
}

func plainLink(err error) error {
	if link, ok := err.(*os.LinkError); ok {
		return fmt.Errorf("%s: %w", link.New, link.Err)
	}
	return err
}
