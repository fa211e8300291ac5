package definition

import (
	"encoding/xml"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/cluster/topology"
)

// change is a list of replacements in a text, in their order.
type change struct {
	text  string
	edits []edit
}

type edit struct {
	begin, end int
	by         string
}

func (c *change) replace(begin, end int, by string) {
	c.edits = append(c.edits, edit{begin, end, by})
}

// remove removes an element, with its line if it is alone there.
func (c *change) remove(e *element) {
	begin := len(strings.TrimRight(c.text[:e.begin], " \t"))
	if begin > 0 && c.text[begin-1] == '\n' {
		begin--
	} else {
		begin = e.begin
	}
	c.replace(begin, e.end, "")
}

// insert adds lines at the end of an element's content.
func (c *change) insert(into *element, lines string) {
	if into.inner == into.end { // <cpu/>
		open := strings.TrimSuffix(c.text[into.begin:into.end], "/>")
		c.replace(into.begin, into.end, open+">\n"+lines+"  </"+into.Name.Local+">")
		return
	}
	at := len(strings.TrimRight(c.text[:into.outer], " \t"))
	if at > 0 && c.text[at-1] == '\n' {
		c.replace(at, at, lines)
		return
	}
	c.replace(into.outer, into.outer, "\n"+lines)
}

func (c *change) apply() string {
	slices.SortStableFunc(c.edits, func(a, b edit) int { return a.begin - b.begin })
	var b strings.Builder
	at := 0
	for _, e := range c.edits {
		b.WriteString(c.text[at:e.begin])
		b.WriteString(e.by)
		at = e.end
	}
	b.WriteString(c.text[at:])
	return b.String()
}

// topology sets another topology in the definition.
func (c *change) topology(d *Domain, s topology.Setting) error {
	cpu := d.root.find("cpu")
	old, numa := cpu.find("topology"), cpu.find("numa")
	lines := ""
	switch {
	case s.CoresPerSocket == 0 && old != nil:
		c.remove(old)
	case s.CoresPerSocket > 0 && old == nil:
		lines += fmt.Sprintf("    <topology sockets='%d' cores='%d' threads='1'/>\n", s.VCPUs/s.CoresPerSocket, s.CoresPerSocket)
	case s.CoresPerSocket > 0:
		by, err := sockets(old, s)
		if err != nil {
			return err
		}
		c.replace(old.begin, old.end, by)
	}
	text, err := d.nodes(s.CoresPerNode)
	switch {
	case err != nil:
		return err
	case text == "" && numa != nil:
		c.remove(numa)
	case numa != nil:
		c.replace(numa.begin, numa.end, text)
	case text != "":
		lines += "    " + text + "\n"
	}
	switch {
	case cpu == nil && lines != "":
		c.insert(d.root, "  <cpu>\n"+lines+"  </cpu>\n")
	case lines != "":
		c.insert(cpu, lines)
	case cpu != nil && cpu.inner < cpu.end && s.CoresPerSocket == 0 && s.CoresPerNode == 0 && bare(cpu):
		c.edits = nil
		if len(cpu.Attr) == 0 {
			c.remove(cpu)
		} else {
			c.replace(cpu.inner-1, cpu.end, "/>")
		}
	}
	return nil
}

// bare is an element with nothing but a topology.
func bare(cpu *element) bool {
	return len(cpu.children) == len(cpu.all("topology"))+len(cpu.all("numa")) && cpu.content() == ""
}

// sockets is the element of a topology with other numbers. Its other attributes stay.
func sockets(old *element, s topology.Setting) (string, error) {
	var b strings.Builder
	b.WriteString("<topology")
	for _, a := range old.Attr {
		value := a.Value
		switch {
		case a.Name.Space != "":
			return "", errors.New("its topology has attributes that libvirt does not know")
		case a.Name.Local == "sockets":
			value = strconv.Itoa(s.VCPUs / s.CoresPerSocket)
		case a.Name.Local == "cores":
			value = strconv.Itoa(s.CoresPerSocket)
		}
		b.WriteString(" " + a.Name.Local + "='")
		if err := xml.EscapeText(&b, []byte(value)); err != nil {
			return "", err
		}
		b.WriteString("'")
	}
	b.WriteString("/>")
	return b.String(), nil
}

// nodes is the element with the NUMA nodes; empty for none.
func (d *Domain) nodes(vcpus int) (string, error) {
	if vcpus == 0 {
		return "", nil
	}
	list, err := d.cells(vcpus)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("<numa>\n")
	for i, c := range list {
		fmt.Fprintf(&b, "      <cell id='%d' cpus='%s' memory='%d' unit='KiB'/>\n", i, c.cpus, c.kib)
	}
	b.WriteString("    </numa>")
	return b.String(), nil
}
