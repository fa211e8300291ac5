package study

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// credentialNames are header fields and settings whose values are credentials.
var credentialNames = regexp.MustCompile(`(?i)^(proxy-|x-)?(authorization|api-?key|auth(entication)?-?token|access-?token|auth-?key|csrf-?token|amz-security-token|vault-token|gitlab-token|functions-key)$|^(set-)?cookie$|^(private-token|token|secret|passwd|password|passphrase|api_key|apikey|credentials?|session-?(id|token))$`)

// The forms in which a text holds a credential.
var (
	field     = regexp.MustCompile(`^\s*["']?([A-Za-z0-9_-]+)["']?\s*[:=]\s*(.+)$`)
	inURL     = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^/\s:@"']*:([^/\s@"']+)@`)
	inQuery   = regexp.MustCompile(`[?&]([A-Za-z0-9_.-]+)=([^&\s"'#]+)`)
	inCommand = regexp.MustCompile(`(?i)(?:--?|\b)((?:proxy-)?authorization|cookie|x-api-key|password|passwd|pgpassword|mysql_pwd|token|secret|api[-_]?key|user)\s*[:= ]\s*(\S+)`)
	userPair  = regexp.MustCompile(`(?:^|\s)(?:-u|--user)[ =]?["']?[^\s:"']+:([^\s"']+)`)
	reference = regexp.MustCompile(`^["']?(\S+ )?(env:|file:|\$|\{level\})`)
)

// Warnings are what is allowed in a study and probably not meant: credentials that would be
// published with the results.
func (s *Study) Warnings() (warnings []string) {
	warn := func(where, what string) {
		if what == "" {
			return
		}
		text := fmt.Sprintf("%s: %s is published with the results: give a reference instead, such as env:NAME", where, what)
		if !slices.Contains(warnings, text) {
			warnings = append(warnings, text)
		}
	}
	use := func(where string, u *Use) {
		if u == nil {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(u.Settings)) {
			warn(where+u.Kind+"."+name, credential(name, u.Settings[name]))
		}
	}
	use("", &s.Platform)
	use("", &s.Workload)
	use("", s.Service)
	for i := range s.Groups {
		g := &s.Groups[i]
		use("groups."+g.Name+".", g.Workload)
		use("groups."+g.Name+".", &Use{Kind: "settings", Settings: g.Settings})
	}
	for _, f := range s.Factors {
		for _, level := range f.Levels {
			warn("factors."+f.FullName(), credential(f.Parameter, level))
		}
	}
	for _, c := range s.Commands {
		for _, script := range []string{c.Read, c.Apply, c.Restore} {
			warn("commands."+c.Name, inScript(script))
		}
	}
	return warnings
}

// credential says what credential a setting holds, if any.
func credential(name, value string) string {
	if value != "" && credentialNames.MatchString(name) && !reference.MatchString(value) {
		return "the value of " + name
	}
	for _, one := range items(value) {
		if m := field.FindStringSubmatch(one); m != nil && credentialNames.MatchString(m[1]) && !reference.MatchString(m[2]) {
			return "the value of " + m[1]
		}
	}
	return inAddress(value)
}

// items are the texts of a list, or a text alone.
func items(value string) []string {
	value = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(value), "["), "]")
	all := []string{value}
	for _, one := range strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == '\n' || r == '"' }) {
		all = append(all, strings.TrimSpace(one))
	}
	return all
}

// inAddress finds a password or a token in an address.
func inAddress(text string) string {
	if m := inURL.FindStringSubmatch(text); m != nil && !reference.MatchString(m[1]) {
		return "the password in an address"
	}
	for _, m := range inQuery.FindAllStringSubmatch(text, -1) {
		if credentialNames.MatchString(m[1]) && !reference.MatchString(m[2]) {
			return "the parameter " + m[1] + " of an address"
		}
	}
	return ""
}

// inScript finds a credential in a command of the user.
func inScript(text string) string {
	if found := inAddress(text); found != "" {
		return found
	}
	if m := userPair.FindStringSubmatch(text); m != nil && !reference.MatchString(m[1]) {
		return "a password in the command"
	}
	for _, m := range inCommand.FindAllStringSubmatch(text, -1) {
		name := strings.ToLower(m[1])
		if name == "user" || reference.MatchString(m[2]) || strings.HasPrefix(m[2], "-") {
			continue
		}
		return "the value of " + m[1] + " in the command"
	}
	return ""
}
