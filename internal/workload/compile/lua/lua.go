// Package lua is what workload compile builds: the release of Lua as its authors
// publish it, with its licence, unchanged. It is a package of its own so that the program
// that only builds it, on other machines, need not carry it.
package lua

import (
	_ "embed" // the release is part of the program
)

// Release is the archive of the release: a compressed tar file.
//
//go:embed lua-5.4.4.tar.gz
var Release []byte
