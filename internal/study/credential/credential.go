// Package credential finds credentials in settings and commands, which are published with results.
package credential

import (
	"strings"

	"plimsoll/internal/pattern"
)

// names are header fields and settings whose values are credentials.
var names = pattern.Of(`(?i)^(proxy-|x-)?(authorization|api-?key|auth(entication)?-?token|access-?token|auth-?key|csrf-?token|amz-security-token|vault-token|gitlab-token|functions-key)$|^(set-)?cookie$|^(private-token|token|secret|passwd|password|passphrase|api_key|apikey|credentials?|session-?(id|token))$`)

// The forms in which a text holds a credential.
var (
	field     = pattern.Of(`^\s*["']?([A-Za-z0-9_-]+)["']?\s*[:=]\s*(.+)$`)
	inURL     = pattern.Of(`[A-Za-z][A-Za-z0-9+.-]*://[^/\s:@"']*:([^/\s@"']+)@`)
	inQuery   = pattern.Of(`[?&]([A-Za-z0-9_.-]+)=([^&\s"'#]+)`)
	inCommand = pattern.Of(`(?i)(?:--?|\b)((?:proxy-)?authorization|cookie|x-api-key|password|passwd|pgpassword|mysql_pwd|token|secret|api[-_]?key|user)\s*[:= ]\s*(\S+)`)
	userPair  = pattern.Of(`(?:^|\s)(?:-u|--user)[ =]?["']?[^\s:"']+:([^\s"']+)`)
	reference = pattern.Of(`^["']?(\S+ )?(env:|file:|\$|\{level\})`)
)

// in names the credential that a setting holds; empty for none.
func in(name, value string) string {
	if value != "" && names().MatchString(name) && !reference().MatchString(value) {
		return "the value of " + name
	}
	for _, one := range items(value) {
		if m := field().FindStringSubmatch(one); m != nil && names().MatchString(m[1]) && !reference().MatchString(m[2]) {
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
	if m := inURL().FindStringSubmatch(text); m != nil && !reference().MatchString(m[1]) {
		return "the password in an address"
	}
	for _, m := range inQuery().FindAllStringSubmatch(text, -1) {
		if names().MatchString(m[1]) && !reference().MatchString(m[2]) {
			return "the parameter " + m[1] + " of an address"
		}
	}
	return ""
}

// inScript names the credential that a command of the user holds; empty for none.
func inScript(text string) string {
	if found := inAddress(text); found != "" {
		return found
	}
	if m := userPair().FindStringSubmatch(text); m != nil && !reference().MatchString(m[1]) {
		return "a password in the command"
	}
	for _, m := range inCommand().FindAllStringSubmatch(text, -1) {
		name := strings.ToLower(m[1])
		if name == "user" || reference().MatchString(m[2]) || strings.HasPrefix(m[2], "-") {
			continue
		}
		return "the value of " + m[1] + " in the command"
	}
	return ""
}
