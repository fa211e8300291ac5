// Package studies holds the built-in studies: one YAML file each, with the
// figures that were published for it.
package studies

import "embed"

// Files holds the built-in studies, NAME.yaml each.
//
//go:embed *.yaml
var Files embed.FS
