// Package schema is the public JSON Schema of findings.json. A test makes it from the types of package finding and their comments.
package schema

import _ "embed"

// Findings is the JSON Schema (2020-12) of findings.json, and of what the commands print with --json.
//
//go:embed findings.schema.json
var Findings string
