package storage

import (
	"testing"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

// server is a machine with an idle disk sdx, an idle file, and nothing else.
func server() *fake {
	return &fake{
		files: map[string]string{
			"/sys/dev/block/8:16/size":                     "2097152\n",
			"/sys/dev/block/8:16/queue/logical_block_size": "512\n",
			"/proc/swaps":          "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n",
			"/proc/self/mountinfo": "22 1 8:2 / / rw,relatime - ext4 /dev/sda2 rw\n",
		},
		commands: map[string]platform.Result{
			"readlink -e -- /dev/sdx":                  prints("/dev/sdx\n"),
			"stat -c %t %T %d:%i %s %F -- /dev/sdx":    prints("8 10 5:77 0 block special file\n"),
			"readlink -e -- /sys/dev/block/8:16":       prints("/sys/devices/a/block/sdx\n"),
			lsDisk:                                     prints("/sys/devices/a/block/sdx:\nholders\nqueue\nsize\nstat\n\n/sys/devices/a/block/sdx/holders:\n"),
			"wipefs --no-act --parsable -- /dev/sdx":   prints("# offset,uuid,label,type\n"),
			"readlink -e -- /srv/data":                 prints("/srv/data\n"),
			"stat -c %t %T %d:%i %s %F -- /srv/data":   prints("0 0 2050:99 8388608 regular file\n"),
			"losetup --associated /srv/data":           prints(""),
			"wipefs --no-act --parsable -- /srv/data":  prints("# offset,uuid,label,type\n"),
			"readlink -e -- /dev/disk/by-id/x":         prints("/dev/sdx\n"),
			"readlink -e -- /srv/again":                prints("/srv/again\n"),
			"stat -c %t %T %d:%i %s %F -- /srv/again":  prints("0 0 2050:99 8388608 regular file\n"),
			"readlink -e -- /dev/zero":                 prints("/dev/zero\n"),
			"stat -c %t %T %d:%i %s %F -- /dev/zero":   prints("1 5 5:4 0 character special file\n"),
			"readlink -e -- /srv/a:b":                  prints("/srv/a:b\n"),
			"stat -c %t %T %d:%i %s %F -- /srv/a:b":    prints("0 0 2050:97 8388608 regular file\n"),
			"readlink -e -- /srv":                      prints("/srv\n"),
			"stat -c %t %T %d:%i %s %F -- /srv":        prints("0 0 2050:2 8388608 directory\n"),
			"readlink -e -- /dev/nothing":              ends(1, ""),
			"readlink -e -- /dev/mknod":                prints("/dev/mknod\n"),
			"stat -c %t %T %d:%i %s %F -- /dev/mknod":  prints("8 10 5:78 0 block special file\n"),
			"readlink -e -- /srv/unseen":               prints("/srv/unseen\n"),
			"stat -c %t %T %d:%i %s %F -- /srv/unseen": ends(1, "stat: permission denied"),
			"readlink -e -- /srv/empty":                prints("/srv/empty\n"),
			"stat -c %t %T %d:%i %s %F -- /srv/empty":  prints("0 0 2050:98 0 regular empty file\n"),
			"losetup --associated /srv/empty":          prints(""),
			"wipefs --no-act --parsable -- /srv/empty": prints("# offset,uuid,label,type\n"),
		},
	}
}

const lsDisk = "ls -1 -- /sys/devices/a/block/sdx /sys/devices/a/block/sdx/holders"

// found is what wipefs prints of a signature, with a label that looks like another.
func found(kind string) platform.Result {
	return prints("# offset,uuid,label,type\n0x438,1-2,gpt,xfs," + kind + "\n")
}

func targets(names ...string) parameter.Settings {
	return parameter.Settings{"targets": parameter.List(names), "destroy": "true", "read": "50%"}
}

func TestIdleTargetsPass(t *testing.T) {
	for _, names := range [][]string{{"/dev/sdx"}, {"/srv/data"}, {"/dev/disk/by-id/x"}, {"/dev/sdx", "/srv/data"}} {
		if err := made(t, targets(names...)).checkTargets(t.Context(), server()); err != nil {
			t.Errorf("%q: %v", names, err)
		}
	}
}

func TestTargetsInUseAreRefused(t *testing.T) {
	const disk, file = "/dev/sdx", "/srv/data"
	for _, c := range []struct {
		name   string
		target string
		change func(f *fake)
		want   string
	}{
		{"mounted", disk, func(f *fake) {
			f.files["/proc/self/mountinfo"] += "30 22 8:16 / /mnt/data rw - xfs /dev/sdx rw\n"
		}, "it is mounted on /mnt/data"},
		{"mounted under a number of its own", disk, func(f *fake) {
			f.files["/proc/self/mountinfo"] += "31 22 0:44 / /mnt/more rw - btrfs /dev/sdx rw\n"
		}, "it is mounted on /mnt/more"},
		{"partitions", disk, func(f *fake) {
			f.commands[lsDisk] = prints("/sys/devices/a/block/sdx:\nholders\nsdx1\nsize\n\n/sys/devices/a/block/sdx/holders:\n")
		}, "it has partitions (sdx1)"},
		{"holders", disk, func(f *fake) {
			f.commands[lsDisk] = prints("/sys/devices/a/block/sdx:\nholders\nsize\n\n/sys/devices/a/block/sdx/holders:\ndm-3\n")
		}, "it is part of dm-3"},
		{"swap device", disk, func(f *fake) {
			f.files["/proc/swaps"] += "/dev/sdx                               partition\t8188\t\t0\t\t-2\n"
		}, "it is swap space in use"},
		{"swap file", file, func(f *fake) { f.files["/proc/swaps"] += "/srv/data file\t8188\t\t0\t\t-2\n" }, "it is swap space in use"},
		{"file system", disk, func(f *fake) {
			f.commands["wipefs --no-act --parsable -- /dev/sdx"] = found("ext4")
		}, "it holds ext4"},
		{"file system in a file", file, func(f *fake) {
			f.commands["wipefs --no-act --parsable -- /srv/data"] = found("xfs")
		}, "it holds xfs"},
		{"LVM", disk, func(f *fake) {
			f.commands["wipefs --no-act --parsable -- /dev/sdx"] = found("LVM2_member")
		}, "it holds LVM2_member"},
		{"RAID", disk, func(f *fake) {
			f.commands["wipefs --no-act --parsable -- /dev/sdx"] = found("linux_raid_member")
		}, "it holds linux_raid_member"},
		{"swap that is not in use", disk, func(f *fake) {
			f.commands["wipefs --no-act --parsable -- /dev/sdx"] = found("swap")
		}, "it holds swap"},
		{"partition table", disk, func(f *fake) {
			f.commands["wipefs --no-act --parsable -- /dev/sdx"] = found("gpt")
		}, "it holds a partition table (gpt)"},
		{"unknown find", disk, func(f *fake) {
			f.commands["wipefs --no-act --parsable -- /dev/sdx"] = found("crypto_LUKS")
		}, "it holds crypto_LUKS"},
		{"not to be read", disk, func(f *fake) {
			f.commands["wipefs --no-act --parsable -- /dev/sdx"] = ends(1, "wipefs: error: probing initialization failed: Permission denied")
		}, "wipefs ended with status 1 wipefs: error"},
		{"no wipefs", disk, func(f *fake) { delete(f.commands, "wipefs --no-act --parsable -- /dev/sdx") }, "wipefs is missing"},
		{"behind a loop device", file, func(f *fake) {
			f.commands["losetup --associated /srv/data"] = prints("/dev/loop7: [2050]:99 (/srv/data)\n")
		}, "it is behind the loop device /dev/loop7"},
		{"no losetup", file, func(f *fake) { delete(f.commands, "losetup --associated /srv/data") }, "whether it is behind a loop device cannot be read"},
		{"no list of mounts", disk, func(f *fake) { delete(f.files, "/proc/self/mountinfo") }, "whether it is mounted cannot be read"},
		{"no list of swap", disk, func(f *fake) { delete(f.files, "/proc/swaps") }, "whether it is swap cannot be read"},
		{"no device folder", disk, func(f *fake) { delete(f.commands, "readlink -e -- /sys/dev/block/8:16") }, "cannot read which devices use it"},
		{"no list of holders", disk, func(f *fake) { f.commands[lsDisk] = ends(2, "ls: cannot access") }, "cannot read which devices use it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := server()
			c.change(f)
			refused(t, made(t, targets(c.target)).checkTargets(t.Context(), f), "target "+c.target+" is not written to", c.want)
			// Permission to destroy is none for what is in use.
			s := targets(c.target)
			delete(s, "destroy")
			refused(t, made(t, s).checkTargets(t.Context(), f), c.want)
		})
	}
}

// A partition is in use where its disk is.
func TestPartitionsOfDisksInUseAreRefused(t *testing.T) {
	const part, disk, opened = "/dev/sdx1", "its disk /dev/sdx as a whole: ", "find /proc -maxdepth 3 -path /proc/[0-9]*/fd/* -lname /dev/* -exec stat -L -c %t:%T %n %F {} +"
	partition := func() *fake {
		f := server()
		f.files["/sys/dev/block/8:17/size"] = "1048576\n"
		f.files["/sys/dev/block/8:17/../queue/logical_block_size"] = "512\n"
		f.files["/sys/devices/a/block/sdx/sdx1/partition"] = "1\n"
		f.files["/sys/devices/a/block/sdx/dev"] = "8:16\n"
		f.commands["readlink -e -- "+part] = prints(part + "\n")
		f.commands["stat -c %t %T %d:%i %s %F -- "+part] = prints("8 11 5:78 0 block special file\n")
		f.commands["readlink -e -- /sys/dev/block/8:17"] = prints("/sys/devices/a/block/sdx/sdx1\n")
		f.commands["ls -1 -- /sys/devices/a/block/sdx/sdx1 /sys/devices/a/block/sdx/sdx1/holders"] = prints("/sys/devices/a/block/sdx/sdx1:\nholders\npartition\n\n/sys/devices/a/block/sdx/sdx1/holders:\n")
		f.commands["ls -1 -- /sys/devices/a/block/sdx/holders"] = prints("")
		f.commands["wipefs --no-act --parsable -- "+part] = prints("# offset,uuid,label,type\n")
		return f
	}
	if err := made(t, targets(part)).checkTargets(t.Context(), partition()); err != nil {
		t.Errorf("an idle partition: %v", err)
	}
	for _, c := range []struct {
		name   string
		change func(f *fake)
		want   string
	}{
		{"partition mounted", func(f *fake) { f.files["/proc/self/mountinfo"] += "30 22 8:17 / /mnt rw - xfs /dev/sdx1 rw\n" }, "it is mounted on /mnt"},
		{"disk mounted", func(f *fake) { f.files["/proc/self/mountinfo"] += "30 22 8:16 / /mnt rw - xfs /dev/sdx rw\n" }, disk + "it is mounted on /mnt"},
		{"disk is swap", func(f *fake) { f.files["/proc/swaps"] += "/dev/sdx partition 8188 0 -2\n" }, disk + "it is swap space in use"},
		{"disk in RAID", func(f *fake) { f.commands["ls -1 -- /sys/devices/a/block/sdx/holders"] = prints("md0\n") }, disk + "it is part of md0"},
		{"disk open", func(f *fake) { f.commands[opened] = prints("8:10 /proc/77/fd/5 block special file\n") }, disk + "process 77 has it open"},
		{"partition open", func(f *fake) { f.commands[opened] = prints("8:11 /proc/77/fd/5 block special file\n") }, "process 77 has it open"},
		{"disk unknown", func(f *fake) { delete(f.files, "/sys/devices/a/block/sdx/dev") }, "whether its disk is in use cannot be read"},
		{"holders unknown", func(f *fake) { delete(f.commands, "ls -1 -- /sys/devices/a/block/sdx/holders") }, disk},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := partition()
			c.change(f)
			refused(t, made(t, targets(part)).checkTargets(t.Context(), f), "target "+part+" is not written to", c.want)
		})
	}
}

func TestOtherTargetsAreRefused(t *testing.T) {
	for _, c := range []struct {
		name    string
		targets []string
		want    string
	}{
		{"absent", []string{"/dev/nothing"}, "target /dev/nothing does not exist"},
		{"character device", []string{"/dev/zero"}, "is a character special file"},
		{"folder", []string{"/srv"}, "is a directory"},
		{"twice", []string{"/dev/sdx", "/dev/sdx"}, "are the same"},
		{"by a link", []string{"/dev/sdx", "/dev/disk/by-id/x"}, "targets /dev/sdx and /dev/disk/by-id/x are the same"},
		{"by another node", []string{"/dev/sdx", "/dev/mknod"}, "targets /dev/sdx and /dev/mknod are the same"},
		{"by a hard link", []string{"/srv/data", "/srv/again"}, "targets /srv/data and /srv/again are the same"},
		{"unseen", []string{"/srv/unseen"}, "permission denied"},
		{"empty", []string{"/srv/empty"}, "target /srv/empty: the working set (100% of 0B) is smaller than one block"},
	} {
		f := server()
		f.commands["wipefs --no-act --parsable -- /dev/mknod"] = prints("")
		t.Run(c.name, func(t *testing.T) {
			refused(t, made(t, targets(c.targets...)).checkTargets(t.Context(), f), c.want)
		})
	}
}

// A link is followed before anything is looked at.
func TestALinkDoesNotHideWhatItLeadsTo(t *testing.T) {
	f := server()
	f.files["/proc/self/mountinfo"] += "30 22 8:16 / /mnt/data rw - xfs /dev/sdx rw\n"
	refused(t, made(t, targets("/dev/disk/by-id/x")).checkTargets(t.Context(), f), "/dev/disk/by-id/x", "it is mounted on /mnt/data")
}

func TestPermissionToDestroy(t *testing.T) {
	for _, c := range []struct {
		name     string
		settings parameter.Settings
		refused  bool
	}{
		{"writes", parameter.Settings{"read": "0%", "precondition": "none"}, true},
		{"fills", parameter.Settings{"read": "100%", "precondition": "random"}, true},
		{"reads only", parameter.Settings{"read": "100%", "precondition": "none"}, false},
		{"has leave", parameter.Settings{"read": "0%", "destroy": "true"}, false},
	} {
		c.settings["targets"] = parameter.List([]string{"/dev/sdx"})
		d := made(t, c.settings)
		switch err := d.checkTargets(t.Context(), server()); {
		case c.refused:
			refused(t, err, "would be overwritten", "destroy: true")
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// A load that only reads may read what is in use.
	f := server()
	f.files["/proc/self/mountinfo"] += "30 22 8:16 / /mnt/data rw - xfs /dev/sdx rw\n"
	d := made(t, parameter.Settings{"read": "100%", "precondition": "none", "targets": "/dev/sdx"})
	if err := d.checkTargets(t.Context(), f); err != nil {
		t.Errorf("a mounted device is not read: %v", err)
	}
	if d.pattern.changes() != nil {
		t.Errorf("a load that reads changes %v", d.pattern.changes())
	}
}

func TestPrepareLooksAtTargetsAgain(t *testing.T) {
	f := server()
	d := made(t, targets("/dev/sdx"))
	if err := d.checkTargets(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	f.files["/proc/self/mountinfo"] += "30 22 8:16 / /mnt/data rw - xfs /dev/sdx rw\n"
	f.asked = nil
	refused(t, d.Prepare(t.Context(), env(f)), "it is mounted on /mnt/data")
	for _, line := range f.asked {
		if line[:3] == "fio" || line[:5] == "mkdir" {
			t.Errorf("ran %q on a machine whose target is mounted", line)
		}
	}
}
