package proxmox

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Refused is an error of the API.
type Refused struct {
	Status int // of HTTP
	Text   string
}

// Error is the message of Proxmox VE.
func (r *Refused) Error() string { return fmt.Sprintf("%s (status %d)", r.Text, r.Status) }

const longestText = 500

// refusal reads an error: the message stands in the body, or in the status line alone.
func refusal(status int, line string, body []byte) *Refused {
	var v struct {
		Message string            `json:"message"`
		Errors  map[string]string `json:"errors"`
	}
	_ = json.Unmarshal(body, &v) // a proxy answers with something else
	text := strings.TrimSpace(v.Message)
	if text == "" {
		_, text, _ = strings.Cut(line, " ")
	}
	for _, name := range slices.Sorted(maps.Keys(v.Errors)) {
		text += "; " + name + ": " + strings.TrimSpace(v.Errors[name])
	}
	text = oneLine(text)
	if text == "" {
		text = http.StatusText(status)
	}
	return &Refused{status, text}
}

// oneLine makes text of a server safe for a message.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	if text = strings.TrimSpace(text); len(text) > longestText {
		text = strings.ToValidUTF8(text[:longestText], "") + "..."
	}
	return text
}
