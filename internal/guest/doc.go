// Package guest has no code: the folders in it start VMs. Its tests are those of
// the folders that have few, each in a file with the name of its folder.
package guest
