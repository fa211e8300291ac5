// Package hosttest tells tests whether a host is again as it was: it compares complete snapshots of kernel settings,
// block devices, network interfaces, control groups, processes, mounts, namespaces, System V IPC and temporary files.
//
// A test that changes a real host runs contained: in namespaces of its own for mounts, processes, IPC, host name and network, with
// an empty /tmp, /dev/shm, /run, /var/tmp and /var/lib/plimsoll, so that other programs on the host cannot disturb it and nothing that it leaves
// outlives it. Contained tests run beside each other. Kernel settings that no namespace separates (vm.*, /sys/block) are those of the host:
// a test that changes them takes ContainAlone, runs while no other contained test does, and puts them back with t.Cleanup.
//
//	func TestPutsBack(t *testing.T) {
//		if !hosttest.Contain(t) { // runs this test again, contained, and takes over its outcome
//			return
//		}
//		dir := t.TempDir()
//		host := hosttest.Watch(t, dir)
//		... run plimsoll, kill it, run plimsoll restore ...
//		host.Unchanged(t)
//	}
//
// Programs that are no tests use Command, Take and Diff.
package hosttest
